"""Planning: how long tasks can be, what a plan's numbers mean, what it says, and how it goes on."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, expit
from scipy.stats import beta, binom, norm

import holmes_fit
from holmes_fit._support.errors import InputError
from holmes_fit.cli import main
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.planning.advice import ENOUGH_POWER, recommendation, weakest
from holmes_fit.studies.planning.groups import group_mean_sd, information
from holmes_fit.studies.planning.lengths import possible_trials, sized, with_trials
from holmes_fit.studies.planning.measures import ALL, MOST, TABLE, power_by_length, prior_width
from holmes_fit.studies.planning.study import StudyPlan, ask, plan, read_plan
from holmes_fit.studies.recovery.power import GROUPS
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol
from tests.commands import Shell
from tests.toy_lattices import gaussian_lattices, log_axis

SEED = 1
# Two models without filters and with one free parameter each: a fit takes a fraction of a second.
PRESET = """
base = "quick"

[search]
evaluations = 6
starts = 1

[posterior]
draws = 20

[parameters.beta]
fixed = 5.0

[parameters.lapse]
fixed = 0.05

[parameters.learning_rate]
nodes = 15

[parameters.choice_probability]
nodes = 25
"""


# --- how long tasks can be
@pytest.mark.parametrize("name", protocol_names())
def test_a_protocol_has_as_many_trials_as_it_is_given(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.generator is not None
    now = len(generate_trials(protocol, np.random.default_rng(SEED)))
    assert with_trials(protocol, now) == protocol
    lengths = possible_trials(protocol, now)
    assert now in lengths
    for length in lengths:
        resized = with_trials(protocol, length)
        assert resized is not None
        assert len(generate_trials(resized, np.random.default_rng(SEED))) == length


def test_lengths_rise_and_what_lies_between_two_is_impossible() -> None:
    protocol = load_protocol("shape_color")
    assert protocol.generator is not None
    lengths = [length for length, _ in zip(sized(protocol.generator), range(4), strict=False)]
    assert [length for length, _ in lengths] == [20, 36, 52, 68]  # 16 pairs in training, 4 in the test
    assert with_trials(protocol, 50) is None
    assert with_trials(protocol, 19) is None


def test_reversals_go_on_with_the_blocks_of_the_protocol() -> None:
    protocol = load_protocol("reversal")
    longer = with_trials(protocol, 240)
    assert longer is not None
    assert longer.generator is not None
    assert getattr(longer.generator, "block_trials") == (40,) * 6  # noqa: B009
    assert with_trials(protocol, 100) is None


# --- what the numbers mean
def test_power_is_that_of_counting_where_everyone_is_recognised() -> None:
    """With overwhelming evidence, a group is k people who follow the model, and the posterior a beta distribution.

    Chance is allowed for: with the omnibus risk, both models are equally probable.
    """
    sure = {
        "flat": pd.DataFrame({"flat": [0.0] * 4, "holmes": [-60.0] * 4}),
        "holmes": pd.DataFrame({"flat": [-60.0] * 4, "holmes": [0.0] * 4}),
    }
    found = power_by_length({80: sure}, [6, 12], SEED)
    assert set(zip(found["model"], found["against"], strict=True)) == {("flat", "holmes"), ("holmes", "flat")}
    for row in found.itertuples():
        followers = np.arange(row.group_size + 1)
        risk = expit(row.group_size * np.log(0.5) - betaln(followers + 1, row.group_size - followers + 1))
        exceedance = beta.sf(0.5, followers + 1, row.group_size - followers + 1)
        is_found = (1 - risk) * exceedance + risk / 2 > 0.95
        expected = float(binom.pmf(followers, row.group_size, row.frequency)[is_found].sum())
        error = np.sqrt(expected * (1 - expected) / GROUPS)
        assert row.power == pytest.approx(expected, abs=4 * error + 1e-12)


def test_power_does_not_depend_on_which_model_is_named_holmes() -> None:
    rng = np.random.default_rng(SEED)
    own, others = (pd.DataFrame({"a": rng.normal(at, 1, 5), "b": rng.normal(0, 1, 5)}) for at in (1.0, -1.0))
    one = power_by_length({80: {"a": own, "b": others}}, [6], SEED)
    names = {"a": "holmes", "b": "flat"}
    renamed = {"holmes": own.rename(columns=names), "flat": others.rename(columns=names)}
    other = power_by_length({80: renamed}, [6], SEED)
    assert one["power"].tolist() == other["power"].tolist()
    assert other["model"].tolist() == [names[model] for model in one["model"]]


def normal_people(n: int, error: np.ndarray, rng: np.random.Generator) -> Lattices:
    """People from a normal prior of SD 1, whose values are measured with normal errors."""
    axes = [log_axis(name) for name in ("alpha", "omega")[: len(error)]]
    measured = rng.multivariate_normal(np.zeros(len(error)), np.eye(len(error)) + error, size=n)
    return gaussian_lattices(measured, error, axes)


def test_what_a_person_says_about_means_is_what_normal_distributions_say() -> None:
    """Two parameters that are measured with correlated errors, between which the choices cannot tell well."""
    error = np.array([[0.5, -0.45], [-0.45, 0.6]])
    found = information(normal_people(2, error, np.random.default_rng(SEED)))
    expected = np.linalg.inv(np.eye(2) + error)  # one over the variance of what is measured
    assert found[:, :2, :2] == pytest.approx(np.stack([expected] * 2), abs=0.01)  # the prior is cut off at 4 SDs


def test_what_people_say_is_how_their_likelihood_bends() -> None:
    """Held against second differences of the log-likelihood of a group's mean and log spread, at the truth."""
    rng = np.random.default_rng(SEED)
    lattices = normal_people(400, np.array([[0.5]]), rng)
    step = 0.05
    at = np.array([[0, 0], [step, 0], [-step, 0], [0, step], [0, -step], [step, step], [-step, -step]])
    people = People(lattices, GroupDraws(at[:, :1], np.exp(at[:, 1:]))).log_likelihood()
    middle, right, left, up, down, both, neither = people
    of_mean, of_spread = (2 * middle - right - left) / step**2, (2 * middle - up - down) / step**2
    together = (right + left + up + down - both - neither - 2 * middle) / (2 * step**2)
    found = information(lattices)
    for bent, said in ((of_mean, found[:, 0, 0]), (of_spread, found[:, 1, 1]), (together, found[:, 0, 1])):
        difference = bent - said  # of a person they may differ, as the one is what is expected of the other
        assert difference.mean() == pytest.approx(0.0, abs=4 * difference.std() / np.sqrt(len(difference)) + 0.01)


def test_the_sd_of_a_group_mean_is_that_of_a_group_whose_spread_is_not_known() -> None:
    """The posterior of the mean by quadrature over both, with a prior of the spread such as pooling has."""
    rng = np.random.default_rng(SEED)
    lattices = normal_people(150, np.array([[0.6]]), rng)
    mean, spread = np.linspace(-1, 1, 61), np.exp(np.linspace(np.log(0.4), np.log(2.5), 31))
    pairs = np.stack([part.ravel() for part in np.meshgrid(mean, spread, indexing="ij")])
    likelihood = People(lattices, GroupDraws(pairs[0][:, None], pairs[1][:, None])).log_likelihood().sum(axis=1)
    log_posterior = likelihood + norm.logpdf(pairs[0]) + norm.logpdf(np.log(pairs[1]), np.log(0.5), 0.6)
    of_mean = np.exp(log_posterior - log_posterior.max()).reshape(len(mean), -1).sum(axis=1)
    of_mean /= of_mean.sum()
    exact = np.sqrt(of_mean @ (mean - of_mean @ mean) ** 2)
    (found,) = group_mean_sd(information(lattices), [1.0], GroupPrior(), len(lattices.subjects), rng)
    # The group as it was drawn has another spread than that from which it was drawn, by 1 / sqrt(2 n).
    assert found.value == pytest.approx(exact, rel=3 / np.sqrt(2 * len(lattices.subjects)))


def test_choices_that_say_nothing_leave_the_mean_of_a_group_as_uncertain_as_before() -> None:
    rng = np.random.default_rng(SEED)
    nothing = information(normal_people(4, np.diag([1e12, 1e12]), rng))
    assert [found.value for found in group_mean_sd(nothing, [0.7, 2.0], GroupPrior(), 100, rng)] == pytest.approx(
        [0.7, 2.0], rel=1e-3
    )


def test_parameters_that_cannot_be_told_apart_are_known_less_well_than_their_own_posteriors_suggest() -> None:
    rng = np.random.default_rng(SEED)
    error = np.array([[1.0, -0.95], [-0.95, 1.0]])
    found = [
        each.value
        for each in group_mean_sd(information(normal_people(200, error, rng)), [1.0, 1.0], GroupPrior(), 40, rng)
    ]
    exact = np.sqrt(np.diag(np.linalg.inv(40 * np.linalg.inv(np.eye(2) + error) + np.eye(2))))
    assert found == pytest.approx(exact, rel=0.03)
    posterior = np.linalg.inv(np.eye(2) + np.linalg.inv(error))
    each_by_itself = 1 / np.sqrt(40 * (1 - np.diag(posterior)) + 1)
    assert (found > 1.1 * each_by_itself).all()


def test_the_interval_of_a_prior_is_that_of_its_distribution() -> None:
    axis = load_preset("default").space(holmes_fit.MODELS["rescorla_wagner"]).free[0]
    ends = axis.parameter.to_scale(np.quantile(axis.draw(np.random.default_rng(SEED), 40_000), [0.025, 0.975]))
    # The density of a normal at its 2.5% point is .058, so that the SE of each end is .156 / (.058 sqrt(n)) SDs.
    assert prior_width(axis) == pytest.approx(ends[1] - ends[0], abs=3 * 1.5 * 0.156 / 0.058 / 200 * np.sqrt(2))


# --- what it says
def made_up(power: dict[tuple[int, int], float], share: float = 0.9) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A plan for two models with this power by trials and people, and this much left of a prior's interval."""
    rows = [
        (trials, *pair, size, frequency, "", min(1.0, value + (frequency == ALL) * 0.2), value - 0.1, value + 0.1)
        for (trials, size), value in power.items()
        for pair in (("flat", "holmes"), ("holmes", "flat"))
        for frequency in (MOST, ALL)
    ]
    columns = ["trials", "model", "against", "group_size", "frequency", "rule", "power", "lower", "upper"]
    table = pd.DataFrame(
        [(trials, size, model, "alpha", 24) for trials, size in power for model in ("flat", "holmes")],
        columns=["trials", "subjects", "model", "parameter", "people"],
    )
    table = table.assign(interval_share=share, interval_share_lower=share - 0.02, interval_share_upper=share + 0.02)
    return table.reindex(columns=list(TABLE)), pd.DataFrame(rows, columns=columns)


def test_the_recommendation_is_the_cheapest_combination_with_enough_power() -> None:
    power = {(80, 20): 0.5, (80, 80): 0.81, (160, 20): 0.7, (160, 40): 0.9, (320, 20): 0.82}
    said = recommendation(*made_up(power))
    assert said.startswith("To tell flat and holmes apart with power 0.8 where three in four people follow the same")
    # 80 x 80, 160 x 40 and 320 x 20 trials are equally many: short tasks are the easier ones.
    assert "take at least 80 trials and 80 people (power 0.81, 95% interval 0.71 to 0.91)" in said
    assert "one person's alpha stays uncertain even after 320 trials" in said
    assert said.endswith("so report group means.")
    del power[80, 80], power[320, 20]
    said = recommendation(*made_up(power, share=0.5))
    assert (
        "take at least 160 trials and 40 people (power 0.90, 95% interval 0.80 to >0.99; 20 people if everyone" in said
    )
    assert "after 160 trials, one person's 95% interval keeps 50% (48% to 52%; alpha in flat)" in said


def test_a_plan_that_reaches_no_combination_says_what_to_do() -> None:
    said = recommendation(*made_up({(80, 20): 0.3, (160, 20): 0.4, (80, 40): 0.5, (160, 40): 0.6}))
    assert "None of these combinations tells flat and holmes apart with power 0.8" in said
    assert "(the best, 160 trials and 40 people, has 0.60, 95% interval 0.50 to 0.70)" in said
    assert "look at more than 40 people, tasks of more than 160 trials, or another design" in said
    said = recommendation(*made_up({(80, 20): 0.3, (80, 40): 0.3}))
    assert "more people alone do not help, so look at tasks of more than 80 trials" in said


def test_the_weaker_direction_counts() -> None:
    _, power = made_up({(80, 20): 0.9})
    power.loc[(power["model"] == "flat") & (power["frequency"] == MOST), "power"] = ENOUGH_POWER - 0.1
    assert weakest(power, MOST)["power"].tolist() == [pytest.approx(ENOUGH_POWER - 0.1)]


# --- a plan from beginning to end
class Asked:
    """A small plan, as a command."""

    def __init__(self, folder: Path):
        self.preset, self.out = folder / "small.toml", folder / "plan"
        self.preset.write_text(PRESET)

    def command(self, trials: str = "8,32", subjects: str = "3,5") -> list[str]:
        numbers = ["--trials", trials, "--subjects", subjects, "--people", "3", "--workers", "1", "--seed", str(SEED)]
        which = ["--protocol", "conditioning", "--models", "bias,rescorla_wagner", "--preset", str(self.preset)]
        return ["plan", *which, *numbers, "--out", str(self.out)]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    made = Asked(tmp_path_factory.mktemp("planning"))
    with pytest.raises(SystemExit, match=r"^0$"):
        main([*made.command(), "-q"])
    return made


@pytest.fixture(scope="module")
def planned(asked: Asked) -> StudyPlan:
    return read_plan(asked.out)


def test_a_plan_has_a_row_for_each_combination_and_parameter(planned: StudyPlan) -> None:
    table = planned.table
    assert list(table.columns) == list(TABLE)
    assert len(table) == 2 * 2 * 2  # lengths, sizes, and models with one parameter
    assert set(zip(table["trials"], table["subjects"], strict=True)) == {(8, 3), (8, 5), (32, 3), (32, 5)}
    for name in ("interval_width", "coverage", "group_mean_sd"):
        assert (table[f"{name}_lower"] <= table[name] + 1e-9).all()
        assert (table[name] <= table[f"{name}_upper"] + 1e-9).all()
    assert planned.recommendation.endswith(".")
    assert planned.recommendation == planned.summary.splitlines()[0]


def test_measures_of_one_person_are_means_over_those_simulated(planned: StudyPlan) -> None:
    people, table = planned.people, planned.table
    own = people[(people["model"] == "bias") & (people["trials"] == 32)]
    assert len(own) == 3
    width = np.subtract(*(np.log(own[end] / (1 - own[end])) for end in ("upper", "lower")))
    rows = table[(table["model"] == "bias") & (table["trials"] == 32)]
    assert rows["interval_width"].to_numpy() == pytest.approx(float(np.mean(width)))
    assert (rows["interval_share"] * rows["prior_width"]).to_numpy() == pytest.approx(float(np.mean(width)))
    assert rows["group_mean_sd"].is_monotonic_decreasing  # from 3 people to 5


def test_longer_tasks_say_more_about_the_same_people(planned: StudyPlan) -> None:
    truths = planned.people.groupby(["trials", "parameter"])["truth"].apply(list)
    assert truths[8]["choice_probability"] == truths[32]["choice_probability"]
    left = planned.table.query("model == 'bias' and subjects == 3").set_index("trials")["interval_share"]
    # Four times as many answers of the same kind halve an interval, but for what the prior says.
    assert left[32] < 0.8 * left[8]


def test_the_figure_is_there_for_people_and_journals(planned: StudyPlan) -> None:
    written = sorted(path.name for path in (planned.folder / "figures").iterdir())
    assert written == ["plan.png", "plan.svg"]
    axes = planned.figure().axes
    assert [ax.get_title(loc="left") for ax in axes[:2]] == [
        "One person who follows bias",
        "Three in four follow bias, one Rescorla–Wagner",
    ]


def test_the_same_command_makes_the_same_files_and_other_sizes_cost_no_fits(
    asked: Asked, planned: StudyPlan, shell: Shell
) -> None:
    before = {name: (asked.out / name).read_bytes() for name in ("plan.csv", "plan_summary.txt", "figures/plan.svg")}
    records = {path: path.stat().st_mtime_ns for path in asked.out.glob("trials_*/from_*/records/**/*.npz")}
    assert records
    out, err = shell(*asked.command(trials="8", subjects="4"))
    assert "12 of 12 are done already." in err
    assert set(planned.table["subjects"]) == {4}
    assert out.splitlines()[0] == planned.recommendation
    out, err = shell(*asked.command(), "-q", "--json")
    assert err == ""
    said = json.loads(out)
    assert (said["command"], said["words"]) == ("plan", read_plan(asked.out).recommendation)
    assert len(said["plan"]) == 8
    out, _ = shell("status", str(asked.out))
    assert [line.split() for line in out.splitlines() if line.startswith("done")] == [
        ["done", "1", "of", "1"],
        *[["done", "6", "of", "6"]] * 4,
    ]
    assert {name: (asked.out / name).read_bytes() for name in before} == before
    after = {path: path.stat().st_mtime_ns for path in asked.out.glob("trials_*/from_*/records/**/*.npz")}
    assert after == records


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path, shell: Shell) -> None:
    what = ["--protocol", "weather_prediction", "--trials", "200,80,x", "--subjects", "1,10,10", "--people", "2"]
    how = ["--models", "flat,homles", "--preset", "quik", "--workers", "0", "--out", str(tmp_path / "plan")]
    said = shell.refuses("plan", *what, *how).splitlines()
    assert [line.split(":")[0] for line in said] == [
        "option --trials",
        "option --subjects",
        "option --subjects",
        "option --people",
        "option --models",
        "preset",
        "option --workers",
        "option --trials",
    ]
    assert (
        "saw 80; allowed: a number of trials that the protocol weather_prediction can have, such as 200, 400"
        in said[-1]
    )
    assert said[-1].endswith(
        "One step is a repetition of all its patterns; with other patterns in a protocol of your own, others."
    )
    assert not (tmp_path / "plan").exists()


def test_a_protocol_without_a_generator_cannot_be_planned() -> None:
    protocol = Protocol.model_validate({"name": "mine", "features": {"cue": "binary"}})
    with pytest.raises(InputError, match=r"protocol mine: saw no generator; allowed: a protocol with a \[generator\]"):
        ask(protocol, [80])


def test_a_folder_of_other_people_is_refused(asked: Asked, planned: StudyPlan) -> None:
    with pytest.raises(InputError, match=r"saw people = 3; allowed: people = 4, as asked for now"):
        plan(
            "conditioning",
            [8],
            models=["bias", "rescorla_wagner"],
            people=4,
            preset=asked.preset,
            seed=SEED,
            out=asked.out,
        )
    with pytest.raises(InputError, match="a run of something else; allowed: a folder of holmes-fit plan"):
        read_plan(planned.folder / "trials_8" / "from_bias")


# --- designs side by side
def test_designs_are_set_side_by_side_by_the_trial_and_by_the_minute(
    tmp_path: Path, asked: Asked, shell: Shell
) -> None:
    how = ["--models", "bias,rescorla_wagner", "--preset", str(asked.preset), "--people", "6", "--workers", "1"]
    arguments = [
        "plan",
        "--protocols",
        "conditioning,compositional_2",
        "--seconds",
        "3,6",
        *how,
        "--out",
        str(tmp_path),
    ]
    out, _ = shell(*arguments, "--json")
    said = json.loads(out)
    table = pd.read_csv(tmp_path / "designs.csv")
    assert table.to_dict("records") == [pytest.approx(row) for row in said["designs"]]
    assert list(table["trials"]) == [40, 40, 80, 80]
    assert list(table["minutes"]) == [2, 2, 8, 8]
    for ends in ("", "_lower", "_upper"):
        np.testing.assert_allclose(table[f"per_trial{ends}"] * table["trials"], table[f"evidence{ends}"])
        np.testing.assert_allclose(table[f"per_minute{ends}"] * table["minutes"], table[f"evidence{ends}"])
    for row in table.itertuples():
        folder = tmp_path / str(row.protocol) / f"trials_{row.trials}" / f"from_{row.model}"
        evidence = holmes_fit.read_fits(folder).models.pivot(index="subject", columns="model", values="log_evidence")
        ahead = evidence[row.model] - evidence[row.against]
        assert (row.people, row.evidence, row.right) == (6, pytest.approx(ahead.mean()), (ahead > 0).mean())
    worse = table.groupby("protocol")["per_minute"].min()  # the design whose worse direction is best comes first
    assert said["words"].startswith(f"To tell bias and rescorla_wagner apart, {worse.idxmax()} says most")
    assert said["words"].endswith(f"then {worse.idxmin()} {worse.min():.3f}.")


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ([], "option --protocol; option --trials: saw nothing"),
        (["--protocols", "reversal", "--trials", "20"], "either --protocol and --trials, or --protocols"),
        (["--protocols", "reversal,reversal"], "designs with different names"),
        (["--protocols", "reversal,shepard", "--seconds", "3,4,5"], "a number above 0, or one for each of 2 designs"),
        (["--protocols", "nowhere,reversal", "--seconds", "soon"], "saw 'nowhere'"),
        (["--protocols", "nowhere,reversal", "--seconds", "soon"], "option --seconds: saw 'soon'"),
    ],
)
def test_designs_that_cannot_be_compared_are_refused(what: list[str], seen: str, tmp_path: Path, shell: Shell) -> None:
    assert seen in shell.refuses("plan", *what, "--out", tmp_path / "designs")
    assert not list(tmp_path.iterdir())
