# Needs make and Python 3.11 or newer, nothing else. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
# Passed on to the resolver: `make lock LOCK_FLAGS=--upgrade` takes the newest versions that pyproject.toml allows.
LOCK_FLAGS ?=
# What `make faults`, `make bench`, `make fuzz` and `make chaos` are given.
FAULTS ?=
AGAINST ?=
FUZZ ?= 30
FUZZ_SEED ?= 2026
CHAOS ?= 60

BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
LOCK_VENV = build/lock

.DEFAULT_GOAL := help
.PHONY: help env test check format demo bench examples replicate coverage calibration recovery lock clean
.PHONY: faults soak fuzz chaos audit wheel lines times

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' Makefile

env: $(STAMP) ## Create the environment in .venv from requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "holmes_fit needs Python 3.11 or newer, but '$(PYTHON)' is: $$("$(PYTHON)" --version 2>&1)" >&2; \
		echo "Name a newer one, for example: make env PYTHON=python3.12" >&2; \
		exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"
	"$(BIN)/python" -m pip install --disable-pip-version-check --quiet \
		--require-hashes --only-binary :all: -r requirements.lock
	"$(BIN)/python" -m pip install --disable-pip-version-check --quiet \
		--no-deps --no-build-isolation --editable .
	@touch "$(STAMP)"

test: check ## Run the checks, then the tests
	"$(BIN)/python" -m pytest -n 2

# Python 3.11 has PyMC 5 and ArviZ 0.23, newer ones PyMC 6 and ArviZ 1: requirements.lock is forked there.
# `make matrix TESTS=tests/test_pooling.py` runs some of the tests.
TESTS ?=
MINORS = 11 12 13 14
.PHONY: matrix
matrix: ## Run the tests with every Python that is found, pyenv's included
	@for minor in $(MINORS); do \
		python=$$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.$$minor.*/bin/python 2>/dev/null | sort -V | tail -n 1); \
		python=$${python:-$$(command -v python3.$$minor)}; venv=build/matrix/3.$$minor; \
		if [ -z "$$python" ]; then echo "Python 3.$$minor is not here."; continue; fi; \
		echo "Python 3.$$minor: $$python"; \
		$(MAKE) env VENV=$$venv PYTHON="$$python" && $$venv/bin/python -m pytest -n 2 $(TESTS) \
			|| failed="$$failed 3.$$minor"; \
	done; [ -z "$$failed" ] || { echo "The tests fail with Python$$failed." >&2; exit 1; }

# Examples are run; a dead link, a warning or an example that fails ends it.
.PHONY: docs
docs: env ## Build the documentation site in build/site
	NO_MKDOCS_2_WARNING=1 "$(BIN)/python" -m mkdocs build --strict

# import-linter runs without its cache, which misses that a module imported earlier has been added since.
check: env ## Lint, check the format, the types and the direction of imports
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports" --no-cache

format: env ## Format the code and apply the safe fixes
	"$(BIN)/ruff" format .
	"$(BIN)/ruff" check --fix .

# What is done stays in runs/demo, and is not done again. Results with warnings, exit code 3, are reported all the same:
# the report shows the warnings. The group is one whose people flat and HOLMES explain differently: few causes are opened,
# and they learn from each other (small alpha, large Omega).
demo: env ## Simulate twelve people, fit, compare and report them, and show the truth beside what was found
	mkdir -p runs && "$(BIN)/holmes-fit" simulate --protocol weather_prediction --subjects 12 --model holmes \
		--alpha lognormal:0.25,0.4 --omega lognormal:2,0.4 --beta lognormal:3,0.3 --lapse logitnormal:0.02,0.5 \
		--missed 0.02 --seed 1 --force --out runs/demo.csv
	"$(BIN)/holmes-fit" check runs/demo.csv --protocol weather_prediction
	"$(BIN)/holmes-fit" fit runs/demo.csv --protocol weather_prediction --models flat,holmes --out runs/demo
	"$(BIN)/holmes-fit" pool runs/demo || test $$? -eq 3
	"$(BIN)/holmes-fit" compare runs/demo || test $$? -eq 3
	"$(BIN)/holmes-fit" recover --from runs/demo --quick || test $$? -eq 3
	"$(BIN)/holmes-fit" report runs/demo --force --out runs/demo.pdf
	"$(BIN)/python" -m benchmarks.demo runs/demo runs/demo.truth.csv holmes alpha=0.25 omega=2 beta=3 lapse=0.02

# `make bench AGAINST=REVISION` sets the filter beside that of another revision.
bench: env ## Time the particle filter, models without one, fits of a cohort, pooling, and the checking of large files
	"$(BIN)/python" -m benchmarks.kernel $(if $(AGAINST),--against $(AGAINST))
	"$(BIN)/python" -m benchmarks.checking
	"$(BIN)/python" -m benchmarks.whole_way runs/bench --people 24 --preset default
	"$(BIN)/python" -m benchmarks.exact
	"$(BIN)/python" -m benchmarks.pooling --keep runs/bench

# Nothing else should be running.
times: env ## Time the whole way from CSV to PDF, by step and number of people
	"$(BIN)/python" -m benchmarks.whole_way reports/times

# Takes about an hour on one core. Nothing else should be running.
.PHONY: scale
scale: env ## See how time and memory grow with people: 5,000 of a simple model, 500 of flat
	"$(BIN)/python" -m benchmarks.scale reports/scale

examples: env ## Simulate the example cohorts in data/ again
	"$(BIN)/holmes-fit" simulate --protocol compositional_3 --subjects 24 --mix flat=0.4,holmes=0.6 \
		--alpha lognormal:0.8,0.5 --omega lognormal:0.3,0.5 --beta lognormal:3,0.3 --lapse logitnormal:0.02,0.5 \
		--missed 0.02 --seed 1 --force --out data/compositional_3.csv
	"$(BIN)/holmes-fit" simulate --protocol weather_prediction --groups control=10,patient=10 --model holmes \
		--alpha lognormal:0.8,0.5 --omega lognormal:0.3,0.4 --param patient.omega=lognormal:1.5,0.4 \
		--beta lognormal:2,0.3 --lapse logitnormal:0.03,0.5 \
		--missed 0.02 --seed 2 --force --out data/weather_prediction.csv

# Takes about half an hour on two cores; stopped, it goes on where it was.
.PHONY: sample
sample: env ## Fit an example cohort, and write the sample report from it
	"$(BIN)/holmes-fit" fit data/weather_prediction.csv --protocol weather_prediction \
		--models flat,holmes,bias,rescorla_wagner --out runs/sample
	"$(BIN)/holmes-fit" pool runs/sample || test $$? -eq 3
	"$(BIN)/holmes-fit" compare runs/sample --preset careful
	"$(BIN)/holmes-fit" recover --from runs/sample --models flat,holmes --subjects 12
	"$(BIN)/holmes-fit" report runs/sample --out reports/sample_cohort.pdf --force

# Needs pdftoppm, which is part of Poppler.
.PHONY: dictionary
dictionary: env ## Write the dictionary of results from its schema
	"$(BIN)/python" -m tests.documents

.PHONY: picture
picture: ## Draw the picture in the README from the first page of the sample report
	pdftoppm -r 80 -f 1 -singlefile -png reports/sample_cohort.pdf reports/report_page

# Takes half an hour on two cores; stopped, it goes on where it was. The tables are kept in reports/replication.
replicate: env ## Reproduce the paper, as written and as published
	"$(BIN)/python" -m paper --as-published --out runs/replication --keep reports/replication

# Takes some hours on two cores; stopped, it goes on where it was. The tables are kept in reports/fitting/coverage.
# `make coverage TASKS="compositional_3 weather_prediction"` does some of the tasks.
TASKS ?=
coverage: env ## See whether people's posteriors and evidences mean what they say
	"$(BIN)/python" -m benchmarks.coverage runs/coverage $(TASKS)

# Takes some four hours on two cores; what is done is kept in reports/pooling/calibration, and the same command goes on.
# `make calibration TASKS=compositional_3` does one of the tasks.
calibration: env ## Simulate groups and mixtures, and see whether pooling tells the truth about them
	"$(BIN)/python" -m benchmarks.group_calibration $(TASKS)

# Real people are left out unless their file is given: `make likelihoods WEATHER=people.csv`.
WEATHER ?=
.PHONY: likelihoods
likelihoods: env ## Score estimators of the choice likelihood against the references
	"$(BIN)/python" -m benchmarks.likelihood $(if $(WEATHER),--weather "$(WEATHER)")

# What was asked once and is answered is asked again with the code, the packages and the targets of its time, in a copy
# of that revision, whose runs/ and reports/ have what comes of it. Each takes an hour or more; stopped, it goes on.
ANSWERED = e0fce49
.PHONY: decision references searches
decision: ## Let ways of making a likelihood from few filters compete
references: ## Make references of the bench of the likelihood that are missing
searches: ## Set the optimisers beside a dense grid
decision references searches: build/$(ANSWERED)
	$(MAKE) -C build/$(ANSWERED) $@

build/$(ANSWERED):
	git clone --quiet --shared . $@
	git -C $@ checkout --quiet --detach $(ANSWERED)

# Takes hours on two cores; stopped, it goes on where it was. The table is kept in reports/designs.
.PHONY: designs
DESIGNS = $(wildcard protocols/*.toml benchmarks/designs/*.toml)
comma := ,
designs: env ## Set all shipped tasks, and some others, side by side by what they say of flat and HOLMES
	"$(BIN)/holmes-fit" plan --protocols "$(subst $() ,$(comma),$(DESIGNS))" --people 40 --out runs/designs
	cp runs/designs/designs.csv reports/designs/

# Some ten minutes on two cores. `make faults FAULTS=--compiled` compiles the kernel anew for every fault in it: an hour.
faults: env ## Show that the tests notice deliberate faults
	"$(BIN)/python" -m benchmarks.faults $(FAULTS)

soak: env ## Show that a thousand fits leave memory as it is
	"$(BIN)/python" -m benchmarks.soak

# FUZZ times as many spoilt files as `make test` reads; another FUZZ_SEED spoils them in other ways.
fuzz: env ## Spoil the files of every reader, for a long time
	HOLMES_FIT_FUZZ=$(FUZZ) HOLMES_FIT_FUZZ_SEED=$(FUZZ_SEED) \
		"$(BIN)/python" -m pytest -n 2 --timeout 7200 tests/test_fuzz_readers.py tests/test_fuzz_runs.py \
		tests/test_importing_bad_input.py tests/test_importing_draft.py tests/test_frames.py

# CHAOS minutes; the moments are others each time.
chaos: env ## Kill commands at random moments, and see that nothing is lost or left behind
	"$(BIN)/python" -m benchmarks.chaos --minutes $(CHAOS)

audit: env ## Check versions and licences of all dependencies
	"$(BIN)/python" -m benchmarks.audit

wheel: env ## Build the wheel, and try it with no repository around
	"$(BIN)/python" -m benchmarks.wheel

# The tools of releases have an environment of their own. `dist` then holds what a release consists of.
RELEASE = build/release
.PHONY: dist
dist: env ## Build wheel and sdist, and check them, the workflows and the citation file
	rm -rf dist
	"$(BIN)/python" -m hatchling build -d dist
	"$(PYTHON)" -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --disable-pip-version-check --quiet \
		$$("$(BIN)/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["release"])')
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/check-wheel-contents dist/*.whl
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms $$(grep -L blank_issues .github/ISSUE_TEMPLATE/*)
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Compiled code is not traced. So the tests of the kernel run once more, uncompiled, and count as well.
lines: env ## Measure line coverage, the kernel with compilation off
	"$(BIN)/coverage" erase
	NUMBA_DISABLE_JIT=1 "$(BIN)/coverage" run -m pytest -n 0 tests/test_likelihood.py tests/test_twin.py \
		-k "(likelihood and not slope) or default_switches or choices4 or choices18 or many_causes or odd_sizes"
	"$(BIN)/coverage" run -m pytest -n 2
	"$(BIN)/coverage" combine --quiet
	"$(BIN)/coverage" report --skip-covered --fail-under=90

# Takes about two hours on two cores; stopped, it goes on where it was. The tables are kept in reports/recovery.
recovery: env ## Recover the parameters and the models of two of the paper's tasks
	"$(BIN)/holmes-fit" recover --protocol compositional_3 --seed 7 --out runs/recovery/3 || test $$? -eq 3
	"$(BIN)/holmes-fit" recover --protocol compositional_4 --subjects 40 --seed 7 --out runs/recovery/4 || test $$? -eq 3
	for table in confusion model_recovery power recovery sbc_summary; do for levels in 3 4; do \
		cp runs/recovery/$$levels/$$table.csv reports/recovery/$${table}_$$levels.csv; done; done

# The plan and the tables are in reports/recovery/competitors, row by row as they come, so that the same command goes on.
# Twenty people a truth and task take an hour or one and a half on one core.
.PHONY: competitors people
competitors: env ## Recover all models against each other
	"$(BIN)/python" -m benchmarks.competitors recovery

# Real people's choices are not part of the project: `make people WEATHER=people.csv SHEPARD=others.csv`.
SHEPARD ?=
people: env ## Compare all models on files of real people
	$(if $(WEATHER),"$(BIN)/python" -m benchmarks.competitors people "$(WEATHER)" weather_prediction)
	$(if $(SHEPARD),"$(BIN)/python" -m benchmarks.competitors people "$(SHEPARD)" shepard)

lock: ## Resolve pyproject.toml into requirements.lock
	"$(PYTHON)" -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python -m pip install --disable-pip-version-check --quiet "uv>=0.9,<1"
	$(LOCK_VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--fork-strategy requires-python --extra cluster --extra dev --extra docs --extra tables --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
		$(LOCK_FLAGS) pyproject.toml --output-file requirements.lock

clean: ## Remove the environment, caches and build products
	rm -rf "$(VENV)" build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
