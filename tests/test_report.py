"""The cohort report: what is printed is what the run says, the same every time, and readable."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pypdf import PdfReader

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit._support.notebooks import MOST, InNotebook
from holmes_fit.reporting.registry import PAGES, figures_of
from holmes_fit.reporting.run_data import read_data
from holmes_fit.reporting.sections.appendix import without_folders
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.schema import of
from tests.report_text import by_section, placed, text_by_section
from tests.sample_run import Sample, make_run
from tests.small_fits import OBSERVER, people, small_preset

SEED = 20
LABEL = "a first look: few replicates. Do not report these numbers"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six people in two groups, with every kind of result, and a warning of every kind."""
    return make_run(tmp_path_factory.mktemp("report") / "run", Sample(6, 24, label=LABEL))


@pytest.fixture(scope="module")
def written(run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return hf.report(run, tmp_path_factory.mktemp("written") / "cohort.pdf")


@pytest.fixture(scope="module")
def texts(written: list[Path]) -> list[str]:
    return [page.extract_text() for page in PdfReader(written[0]).pages]


@pytest.fixture(scope="module")
def pages(texts: list[str]) -> dict[str, str]:
    return by_section(texts)


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(run / name, dtype={"subject": str}, keep_default_na=False, na_values=[""])


# --- The invented runs are like real ones
def test_invented_runs_have_the_columns_of_real_ones(run: Path) -> None:
    for name in ("fits.csv", "models.csv", "trials_fitted.csv", "failures.csv"):
        columns = of(name).columns
        assert tuple(table(run, name).columns) == columns
    assert tuple(table(run, "trees.csv").columns)[: len(of("trees.csv").columns)] == of("trees.csv").columns


# --- Numbers: each one that is printed, as the tables of the run have it
LABELS = {"holmes": "HOLMES", "rescorla_wagner": "Rescorla–Wagner"}
SYMBOLS = {"alpha": "α", "omega": "Ω", "beta": "β"}


def percent(value: float) -> str:
    return "<1%" if 0 < value < 0.005 else ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


def places(value: float, n: int, sign: str = "") -> str:
    if pd.isna(value):
        return "–"
    return f"{value:{sign},.{n}f}".replace("-", "−") if round(value, n) else f"{0:.{n}f}"


def probability(value: float) -> str:
    return "<.001" if value < 0.001 else ">.999" if value > 0.999 else f"{value:.3f}".lstrip("0")


def significant(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def test_the_answer_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    frequencies = table(run, "frequencies.csv")
    row = frequencies[(frequencies["group"] == "everyone") & (frequencies["model"] == "holmes")].iloc[0]
    answer = (
        f"HOLMES describes an estimated {percent(row['mean'])} of people (95% interval {percent(row['lower'])} to "
        f"{percent(row['upper'])}) among flat, Rescorla–Wagner, bias and HOLMES."
    )
    every = table(run, "comparison.csv").set_index("model")
    comparison = every.loc["holmes"]
    wide = table(run, "model_probabilities.csv").pivot(index="subject", columns="model")
    probabilities = wide["probability"]
    best, by_evidence = ((wide[name].idxmax(axis=1) == "holmes").sum() for name in ("probability", "log_evidence"))
    n = len(wide)
    flat = every.loc["flat"]  # it comes next in evidence
    assert flat["log_evidence"] > comparison["log_evidence"] - comparison["over_rescorla_wagner"]
    ahead = comparison["log_evidence"] - flat["log_evidence"]
    error = math.hypot(comparison["log_evidence_error"], flat["log_evidence_error"])
    doubt = "" if ahead >= 3 else ", so that flat explains the choices about as well, or better"
    words = (
        f"It is the most frequent of them with probability {probability(comparison['exceedance'])}, and "
        f"{probability(comparison['protected_exceedance'])} once chance is allowed for (protected exceedance). By "
        f"posterior probability in the mixture, which knows the group, it is the likeliest model of {best} of {n} "
        f"people; for {(probabilities.max(axis=1) > 0.95).sum()} one model or another is above 0.95. By their own "
        f"evidence alone, it is that of {by_evidence}. Against the best of the others and the baselines, its "
        f"log evidence summed over people is {places(ahead, 1, '+')} ± {places(error, 1)} nats over flat, "
        f"{places(comparison['over_rescorla_wagner'], 1, '+')} ± 1.1 nats over Rescorla–Wagner and "
        f"{places(comparison['over_bias'], 1, '+')} ± 1.1 nats over bias{doubt}."
    )
    for section in ("Summary", "Flat or HOLMES"):
        assert answer in pages[section]
        assert words in pages[section]
    other_priors = table(run, "prior_sensitivity.csv").query("model == 'holmes'").set_index("prior_width")["frequency"]
    narrow, own, wide_prior = (percent(other_priors[width]) for width in (0.5, 1.0, 2.0))
    assert (
        "With priors half and twice as wide, the most frequent by people's own evidences is "
        f"HOLMES ({narrow}) and HOLMES ({wide_prior}), with those of the fit HOLMES ({own})."
    ) in pages["Flat or HOLMES"]


def test_frequencies_are_those_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    text = pages["Flat or HOLMES"]
    frequencies = table(run, "frequencies.csv")
    shown = (frequencies["group"] == "everyone") | frequencies["model"].isin(["flat", "holmes"])  # not baselines
    for _, row in frequencies[shown].iterrows():
        label = f" {LABELS.get(row['model'], row['model'])}" if row["group"] == "everyone" else ""
        assert f" {percent(row['mean'])}{label} " in text
    [(_, row)] = table(run, "frequency_differences.csv").query("model == 'holmes'").iterrows()
    shown, low, high = (places(100 * row[name], 0, "+") for name in ("mean", "lower", "upper"))
    assert (
        f"Share of HOLMES, {row['above']} minus {row['below']}: {shown} points (95% interval {low} to {high}; above 0 "
        f"with P = {probability(row['probability_above_0'])})."
    ) in text
    mixture = table(run, "mixture.csv").set_index("quantity")["value"].drop("warning").astype(float)
    assert (
        f"Mixture: {mixture['divergences']:.0f} divergences, R-hat {mixture['r_hat']:.3f}, effective draws "
        f"{mixture['ess_bulk']:,.0f} (bulk) and {mixture['ess_tail']:,.0f} (tail); Bayesian omnibus risk "
        f"{probability(mixture['omnibus_risk'])}."
    ) in text


def test_the_table_of_models_is_the_comparison(run: Path, pages: dict[str, str]) -> None:
    for _, row in table(run, "comparison.csv").iterrows():
        cells = [LABELS.get(row["model"], row["model"]), places(row["n_subjects"], 0), percent(row["frequency"])]
        cells += [places(row["likeliest_for"], 0), places(row["most_evidence_for"], 0)]
        cells += [f"{places(row['log_evidence'], 1)} ± {places(row['log_evidence_error'], 1)}"]
        for name in ("bias", "rescorla_wagner"):
            cells += [f"{places(row[f'over_{name}'], 1, '+')} ± 1.1" if row["model"] != name else "0.0"]
        cells += [places(row["hit_rate"], 3)]
        assert " ".join([*cells, places(row["loso_k_high"], 0)]) in pages["Flat or HOLMES"]
        assert row["model"] == "holmes" or f" {places(row['loso_difference'], 1)} " in pages["Flat or HOLMES"]


def test_answers_are_counted_as_in_the_trials(run: Path, pages: dict[str, str]) -> None:
    fitted = table(run, "trials_fitted.csv")
    trials = fitted[fitted["model"] == "flat"].merge(table(run, "subjects.csv"), on="subject")
    n_answers = int(trials["choice"].notna().sum())
    assert f"{trials['subject'].nunique()} people gave {n_answers:,} answers" in pages["Data"]
    trials["hit"] = (trials["choice"] == trials["outcome"]).where(trials["choice"].notna()).astype(float)
    for group in ("everyone", "control", "patient"):
        own = trials if group == "everyone" else trials[trials["group"] == group]
        means = own.groupby("subject")[["hit", "choice"]].mean().mean()
        answered = own["choice"].notna()
        counts = [own["subject"].nunique(), len(own), answered.sum(), (~answered).sum(), 0]
        row = [group, *(f"{count:,}" for count in counts), f"{means['hit']:.3f}", f"{means['choice']:.3f}"]
        assert " ".join(row) in pages["Data"]


def test_every_estimate_in_the_appendix_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    text = pages["Appendix"]
    shown = re.findall(r"([\d.,−e]+) \(([\d.,−e]+)–([\d.,−e]+)\)", text)
    tables = table(run, "fits.csv"), table(run, "pooled.csv")
    models = dict.fromkeys(tables[0]["model"])
    expected = pd.concat([each[each["model"] == model] for model in models for each in tables])
    assert len(shown) == len(expected)
    wanted = expected[["median", "lower", "upper"]].to_numpy().tolist()
    for numbers, others in zip(shown, wanted, strict=True):
        assert [significant(number) for number in numbers] == pytest.approx(others, rel=0.006)  # three digits


def test_every_diagnostic_in_the_appendix_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    for _, row in table(run, "models.csv").iterrows():
        evidence = f"{places(row['log_evidence'], 2)} ± {places(row['log_evidence_error'], 2)}"
        cells = [row["subject"], places(row["n_trials"], 0), places(row["n_answered"], 0)]
        maximum = f"{places(row['log_likelihood'], 2)} ± {places(row['log_likelihood_error'], 2)}"
        cells += [maximum, evidence, places(row["pseudo_r2"], 2)]
        cells += [percent(row["hit_rate"]), places(row["replicates"], 0), places(row["effective_replicates"], 1)]
        assert " ".join([*cells, places(row["batch_sd"], 2)]) in pages["Appendix"]


def test_parameters_are_those_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    text, group = pages["Parameters"], table(run, "group.csv").fillna({"name": ""})
    for (model, parameter), own in group[group["model"].isin(["flat", "holmes"])].groupby(["model", "parameter"]):
        middle, spread = (own[own["quantity"] == name].iloc[0] for name in ("median", "spread"))
        wanted = [row[name] for row in (middle, spread) for name in ("median", "lower", "upper")]
        start = f"{LABELS.get(str(model), model)} {SYMBOLS.get(str(parameter), parameter)}"
        number = r"(−?[\d.,]+)"
        [found] = re.findall(rf" {start} {number} {number} to {number} {number} {number} to {number} {number}", text)
        assert [significant(each) for each in found[:3]] == pytest.approx(wanted[:3], rel=0.006)
        assert list(found[3:6]) == [places(each, 2) for each in wanted[3:]]
        assert found[6] == places(own["r_hat"].max(), 3)
    for _, row in group[group["quantity"].isin(["contrast", "effect"])].iterrows():
        if row["model"] in ("flat", "holmes"):
            assert f"{row['median']:.3f}, above 0 with P = {probability(row['probability_above_0'])}" in text
    for _, row in table(run, "pooling.csv").iterrows():
        assert (
            f"{LABELS.get(row['model'], row['model'])} {row['divergences']} divergences, R-hat {row['r_hat']:.3f}, "
            f"effective draws {min(row['ess_bulk'], row['ess_tail']):,.0f}"
        ) in text
    row = table(run, "behaviour.csv").iloc[1]
    numbers = f"{row['n_subjects']} {row['n_answers']:,} 0.350 0.200 −0.0500 to 0.750 {probability(row['p'])}"
    assert numbers in text
    assert "0.800" not in text.partition("without a model")[2].partition("Rank")[0]  # the intercept is no effect


def test_what_a_study_can_tell_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    text, confusion = pages["Can this study tell?"], table(run / "recovery", "confusion.csv")
    for _, row in confusion.iterrows():
        assert f"{percent(row['share'])} {row['count']} of {row['n']}" in text
        if (row["criterion"], row["truth"]) == ("pooled", row["chosen"]):
            assert f"{percent(row['share'])} of {LABELS.get(row['truth'], row['truth'])} people" in text
    scores = table(run / "recovery", "recovery.csv").query("estimator == 'pooled'")
    for _, own in scores.groupby(["model", "parameter"]):
        value = own.set_index("measure")["value"]
        assert f"r = {value['correlation']:.2f} {percent(value['coverage'])} covered" in text
    for _, row in table(run / "recovery", "sbc_summary.csv").iterrows():
        cells = [row["level"], LABELS.get(row["model"], row["model"]), SYMBOLS.get(row["parameter"], row["parameter"])]
        cells += [str(row["n"]), probability(row["chi2_p"]), probability(row["ecdf_p"]), row["verdict"]]
        assert " ".join(cells) in text
    fits = table(run, "fits.csv").query("model == 'holmes'")
    for _, ratio in (fits["sd_on_scale"] / fits["prior_sd_on_scale"]).groupby(fits["parameter"]):
        assert f" {percent(ratio.median())} " in text


def test_behaviour_people_and_trees_are_those_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    summary = table(run, "predictive_summary.csv")
    for _, row in summary[(summary["group"] == "everyone") | (summary["measure"] == "correct")].iterrows():
        assert f"{row['rmse']:.3f} ({percent(row['share_inside'])})" in pages["Models against behaviour"]
    probabilities = table(run, "model_probabilities.csv")
    likeliest = probabilities.loc[probabilities.groupby("subject")["probability"].idxmax()]
    for _, row in likeliest.iterrows():
        label = LABELS.get(row["model"], row["model"])
        assert f"{row['subject']} ■ {label} {percent(row['probability'])}" in pages["People"]
    fits = table(run, "models.csv").query("model == 'holmes'").sort_values("pseudo_r2")
    for place, rank in ((-1, "Best"), ((len(fits) - 1) // 2, "Median"), (0, "Worst")):
        row = fits.iloc[place]
        assert f"{rank} fit: {row['subject']}, pseudo-R² {places(row['pseudo_r2'], 2)}" in pages["Inside the model"]


# --- Warnings
@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("Data", "could not be fitted with flat, HOLMES, Rescorla–Wagner and bias: all answers are missed (s06)"),
        ("Data", "so few answers that their estimates are mostly the prior (s02)"),
        ("Models against behaviour", "Noisy likelihood: HOLMES for 1 of 5 people (s01)"),
        ("Flat or HOLMES", "Noisy likelihood: HOLMES for 1 of 5 people (s01)"),
        ("Flat or HOLMES", "Mixture of models: R-hat 1.03: the chains do not agree yet."),
        ("Flat or HOLMES", "all answers are missed (s06)"),
        ("Parameters", "Group model of HOLMES: 3 divergences; R-hat 1.08: the chains do not agree."),
        ("Summary", "Group model of HOLMES: 3 divergences"),
        ("Parameters", "Noisy likelihood: HOLMES for 1 of 5 people (s01)"),
        ("Parameters", "all answers are missed (s06)"),
        ("Models against behaviour", "all answers are missed (s06)"),
        ("Can this study tell?", "HOLMES for 1 of 5 people (s01)"),
        ("Can this study tell?", "Recovery study: a first look"),
        ("Summary", "Mixture of models: R-hat 1.03: the chains do not agree yet."),
        ("Summary", "3 more warnings: see the appendix of the whole report."),
        ("Appendix", "all answers are missed (s06)"),
        ("Appendix", "Noisy likelihood: HOLMES for 1 of 5 people (s01)"),
        ("Appendix", "Recovery study: a first look"),
        ("People", "⚠ noisy likelihood"),
        ("People", "No fit: all answers are missed."),
        ("Appendix", "s06 flat all answers are missed"),
        ("Appendix", "noisy likelihood: the log evidence is"),
    ],
)
def test_warnings_stand_on_the_pages_that_use_the_results(pages: dict[str, str], section: str, text: str) -> None:
    assert text in pages[section]


def test_every_page_says_that_it_is_a_first_look(texts: list[str]) -> None:
    assert len(texts) > len(PAGES)
    for text in texts:
        assert "A first look: few replicates. Do not report these numbers." in text


def test_every_page_says_what_made_it(texts: list[str]) -> None:
    for text in texts:
        assert "Made by holmes_fit 0.1.0 from run" in text


# --- The file
def test_the_same_run_gives_the_same_bytes(run: Path, written: list[Path], tmp_path: Path) -> None:
    again = hf.report(read_run(run), tmp_path / "again.pdf")
    assert again[0].read_bytes() == written[0].read_bytes()


def test_the_file_carries_the_date_and_the_digest_of_the_run(run: Path, written: list[Path]) -> None:
    from holmes_fit.reporting.run_data import CohortData

    metadata = PdfReader(written[0]).metadata
    assert metadata is not None
    assert metadata.creation_date == read_run(run).manifest.begun
    assert metadata.modification_date == metadata.creation_date
    assert metadata.subject == f"Cohort report of run {CohortData(read_run(run)).digest}"
    assert metadata.title == "Weather prediction"


def test_no_folder_of_a_machine_is_printed(run: Path, texts: list[str], pages: dict[str, str]) -> None:
    assert "holmes-fit fit data.csv --out RUN" in pages["Appendix"]
    for text in texts:
        assert "/home" not in text
        assert str(run.parent) not in text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("holmes-fit fit data/a.csv ../b.csv --fix lapse=0.02", "holmes-fit fit data/a.csv ../b.csv --fix lapse=0.02"),
        ("holmes-fit fit '/home/my data/a b.csv' --out=/tmp/x/run ~/c.csv", "holmes-fit fit 'a b.csv' --out=run c.csv"),
        (r"holmes-fit fit 'C:\Users\me\a.csv' --out runs/x", "holmes-fit fit a.csv --out runs/x"),
        ("it's /home/me/odd", "'it'\"'\"'s' odd"),
    ],
)
def test_commands_are_shown_without_the_folders_of_a_machine(command: str, shown: str) -> None:
    assert without_folders(command) == shown


def test_another_table_gives_another_digest(tmp_path: Path) -> None:
    from holmes_fit.reporting.run_data import CohortData

    folder = make_run(tmp_path / "run", Sample(3, 6, compared=False, recovered=False, pooled=False, records=False))
    before = CohortData(read_run(folder)).digest
    (folder / "fits.csv").write_text((folder / "fits.csv").read_text() + "\n")
    assert CohortData(read_run(folder)).digest != before


def test_letters_are_large_enough_and_fonts_are_embedded(written: list[Path]) -> None:
    sizes: list[float] = []
    for page in PdfReader(written[0]).pages:
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx((595, 842), abs=1)
        sizes += [line.size for line in placed(page)]
        for font in page["/Resources"]["/Font"].values():
            inside = font.get_object().get("/DescendantFonts", [font])[0].get_object()
            assert "/FontFile2" in inside["/FontDescriptor"]
    assert min(sizes) >= 6.99


def test_figures_are_written_with_what_they_show(run: Path, tmp_path: Path) -> None:
    pages = ["behaviour", "comparison"]
    pdf, *written = hf.report(run, tmp_path / "some.pdf", pages=pages, figures=tmp_path / "figures")
    names = {suffix: {path.stem for path in written if path.suffix == suffix} for suffix in (".png", ".svg", ".csv")}
    assert names[".png"] == names[".svg"] == names[".csv"]
    expected = {"comparison_people", "comparison_frequencies", "comparison_evidence", "comparison_exceedance"}
    assert expected | {"behaviour_correct", "behaviour_choice", "comparison_leave_one_out"} <= names[".png"]
    assert all(path.stat().st_size > 20 for path in (pdf, *written))
    shown = next(path for path in written if path.name == "comparison_people.csv")
    assert shown.read_bytes() == (run / "model_probabilities.csv").read_bytes()
    svg = next(path for path in written if path.name == "comparison_people.svg").read_text()
    assert "HOLMES</text>" in svg  # letters are letters
    hf.report(run, tmp_path / "some.pdf", pages=["comparison"], figures=tmp_path / "again", force=True)
    for name in ("comparison_people.svg", "comparison_people.png"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "figures" / name).read_bytes()


def test_every_figure_that_is_written_can_be_drawn(run: Path, tmp_path: Path) -> None:
    of_many = {"behaviour_correct", "people_1", "recovery_holmes"}
    pages = ["behaviour", "people", "recovery"]
    _, *written = hf.report(run, tmp_path / "some.pdf", pages=pages, figures=tmp_path / "figures")
    for name in of_many:
        ax = Figure().subplots()
        assert hf.draw(run, name, ax) is ax
        assert len(ax.child_axes) > 1
    with pytest.raises(InputError, match="saw 'nothing'") as refused:
        hf.draw(run, "nothing")
    names = {path.stem for path in written if path.suffix == ".png"}
    assert of_many <= names <= set(refused.value.problems[0].allowed.split(", "))


# --- Runs
def test_a_report_for_each_group(run: Path, tmp_path: Path) -> None:
    paths = hf.report(run, tmp_path / "cohort.pdf", by="group", pages=["comparison", "appendix"])
    assert [path.name for path in paths] == ["cohort_control.pdf", "cohort_patient.pdf"]
    frequencies = table(run, "frequencies.csv")
    models = table(run, "models.csv")
    subjects = table(run, "subjects.csv").set_index("subject")["group"]
    for path, group in zip(paths, ("control", "patient"), strict=True):
        sections = text_by_section(path)
        row = frequencies[(frequencies["group"] == group) & (frequencies["model"] == "holmes")].iloc[0]
        answer = f"HOLMES describes an estimated {percent(row['mean'])} of people in the group {group}"
        assert answer in sections["Flat or HOLMES"]
        own = [name for name in models["subject"].unique() if subjects[name] == group]
        others = [name for name in models["subject"].unique() if subjects[name] != group]
        assert all(f" {name} " in sections["Appendix"] for name in own)
        assert not any(f" {name} " in sections["Appendix"] for name in others)


def test_a_real_run_makes_a_report_with_every_page_it_can(tmp_path: Path) -> None:
    cohort = people(3)
    fits = hf.fit(
        cohort, ["flat", "holmes"], tmp_path / "run", preset=small_preset(tmp_path), observer=OBSERVER, workers=1
    )
    [path] = hf.report(fits, tmp_path / "real.pdf")
    sections = text_by_section(path)
    assert {"Summary", "Data", "Parameters", "People", "Methods", "Appendix"} <= set(sections)
    answered = int(fits.models.drop_duplicates("subject")["n_answered"].sum())
    assert f"3 people gave {answered} answers" in sections["Data"]
    assert "20 particles and systematic resampling" in sections["Methods"]
    assert str(fits.run.manifest.about["code"]) in sections["Appendix"]


# --- Notebooks
def test_help_names_every_figure(run: Path) -> None:
    said = re.findall(r"``([a-z]+_\w+)``", str(hf.draw.__doc__).partition("Parameters")[0])
    forms = [re.compile(re.sub("[A-Z]+", ".+", name)) for name in said]
    data = read_data(run)
    names = [*figures_of(data), *figures_of(replace(data, tables={"comparison": pd.DataFrame()}))]
    assert len(set(names)) > 35
    for name in names:
        assert any(form.fullmatch(name) for form in forms), f"{name} is not in the docstring of draw"


def test_results_are_tables_in_a_notebook(tmp_path: Path) -> None:
    simulated = hf.simulate("conditioning", "holmes", subjects=15, seed=1)
    assert simulated.cohort._repr_html_().startswith("<p><b>Cohort</b>, its table <code>subjects</code>: 15 rows</p>")
    fits = hf.fit(
        people(3), ["rescorla_wagner"], tmp_path / "run", preset=small_preset(tmp_path), observer=OBSERVER, workers=1
    )
    html = fits._repr_html_()
    assert re.findall(r"<th>(\w+)</th>", html) == list(fits.main_table[1:])
    assert [f"{value:.4g}" in html for value in fits.models["log_evidence"]] == [True] * 3
    assert f"<p>⚠ {fits.label}</p>" in html
    many = InNotebook()
    many.main_table, many.rows = ("rows",), pd.DataFrame({"x": ["<b>"] * 40})  # type: ignore[misc, attr-defined]
    assert many._repr_html_().count("&lt;b&gt;") == MOST
    assert "<b>" not in many._repr_html_().partition("</p>")[2]


# --- Sharing
NAMES = ("anna.b", "Otto Ö", "1234", "p-7")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A run whose tables speak of people by name, and its report without names."""
    root = tmp_path_factory.mktemp("shared")
    folder = make_run(root / "run", Sample(8, 12, names=NAMES, label=LABEL))
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace("data.csv", "anna.b.csv"))
    out = pd.read_csv(folder / "exclusions.csv")
    out.assign(seen="anna.b was late; '1234' was not, nor was x99").to_csv(folder / "exclusions.csv", index=False)
    (folder / "recovery" / "truth.csv").write_text(
        "subject,model,parameter,value,on_scale,like\nr1,flat,a,1,1,anna.b\n"
    )
    return folder, hf.report(folder, root / "shared.pdf", figures=root / "figures", anonymous=True)


def test_a_shared_report_names_nobody(shared: tuple[Path, list[Path]]) -> None:
    _, written = shared
    names = [*NAMES, *(f"s{place:02d}" for place in range(5, 9)), "x99"]
    pdf, key, *others = written
    assert key.name == "shared_key.csv"
    reader = PdfReader(pdf)
    outline = " ".join(str(entry) for entry in reader.outline)
    texts = {"pdf": " ".join(page.extract_text() for page in reader.pages), "about": f"{reader.metadata} {outline}"}
    texts |= {path.name: path.read_text() for path in others if path.suffix in (".csv", ".svg")}
    texts |= {f"name of {path.name}": path.name for path in written}
    assert len([name for name in texts if name.endswith(".svg")]) > 20
    for where, text in texts.items():
        numbers = re.findall(r"[\d.,]*1234[\d.,]*", text)  # a name that is a number may be a part of another one
        assert [name for name in names if name != "1234" and name in text] == [], where
        assert "1234" not in {found.strip(".,") for found in numbers}, where
    assert "could not be fitted with flat" in texts["pdf"]
    table = pd.read_csv(key, dtype=str)
    assert sorted(table["subject"]) == sorted(names)
    assert table["number"].tolist() == [str(place) for place in range(1, 10)]
    assert table["subject"].tolist() != sorted(names)  # whose order would tell who is who


def test_numbers_stand_for_the_people_of_the_key(shared: tuple[Path, list[Path]]) -> None:
    folder, (_, key, *_) = shared
    name_of = pd.read_csv(key, dtype=str).set_index("number")["subject"]
    data = read_data(folder, anonymous=True)
    for name in ("fits", "models", "trials_fitted", "model_probabilities", "trees"):
        own, original = data[name], read_data(folder)[name]
        assert own["subject"].is_monotonic_increasing
        back = own.assign(subject=own["subject"].map(name_of))
        columns = [each for each in ("subject", "model", "parameter", "trial", "node") if each in back]
        both = [each.sort_values(columns, ignore_index=True) for each in (back, original)]
        pd.testing.assert_frame_equal(*both, check_dtype=False)
    record, number = read_run(folder).load_record(("holmes", "p-7")), name_of[name_of == "p-7"].index[0]
    assert record is not None
    found = data.record("holmes", number)
    assert found is not None
    assert found.key == record.key
    assert data["exclusions"]["seen"].tolist() == [
        "{} was late; {} was not, nor was {}".format(
            *(name_of[name_of == name].index[0] for name in ("anna.b", "1234", "x99"))
        )
    ]


def test_a_shared_report_has_the_same_bytes_again_and_keeps_an_old_key(
    shared: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    folder, written = shared
    again = hf.report(folder, tmp_path / "shared.pdf", anonymous=True)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written[:2]]
    again[0].unlink()
    with pytest.raises(InputError, match="a file that exists"):
        hf.report(folder, tmp_path / "shared.pdf", anonymous=True)


def test_real_data_are_shared_without_names(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    hf.fit(people(3), ["rescorla_wagner"], folder, preset=small_preset(tmp_path), observer=OBSERVER, workers=1)
    data = read_data(folder, anonymous=True)
    assert data.cohort is not None
    assert {*data.cohort.trials["subject"]} == {each.subject for each in data.cohort.learners} == {"1", "2", "3"}
    plain = hf.report(folder, tmp_path / "plain.pdf", pages=["data"], figures=tmp_path / "plain")
    shared = hf.report(folder, tmp_path / "shared.pdf", pages=["data"], figures=tmp_path / "shared", anonymous=True)
    curves = [
        [path.read_bytes() for path in each if path.name == "data_learning_curves.csv"] for each in (plain, shared)
    ]
    assert curves[0] == curves[1] != []
