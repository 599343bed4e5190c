"""What is probably wrong with data that can be read: each notice by a rule that honest data seldom break.

The rules suppose the least of people: on the first trial of a task nobody knows anything; whoever learns is right more
often than a coin, or follows what was shown before; everyone slips now and then. ``ALPHA`` and ``COIN`` are how often
data of such people would give one of the notices, at the most.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from holmes_fit._support.errors import Problem, Quoted, plain
from holmes_fit.trials.cohorts import Notice
from holmes_fit.trials.sequences import UNKNOWN, Sequences

ALPHA = 0.001
COIN = 0.01  # for all people together, to be told that one of them who learns answers like a coin
SURE = 0.05  # a person who answers like a coin seems to follow something so often, and is then not named
FAR = 0.1  # above or below chance; less is nothing to speak of
LEARNS = 0.65  # how often someone who learns is right, or follows what was shown, by at least one of the measures
LITTLE = 0.55  # the same for everyone together
MASTERS = 0.9  # how often people are right, in the end, where one cue tells every outcome
SLIPS = 0.02  # answers against any rule that a person may follow
RARE = 0.1  # of the rarer outcome, at least
REPEATS = 0.5  # of the values of a cue, at least, were seen before
MANY_LEVELS = 6
ENOUGH = 10  # of each answer
ENOUGH_TRIALS = 50
NAMED = 3  # people
NEEDS = (
    "The models see cues, then one of two answers, then an outcome that does not depend on the answer. Tasks in which "
    "only the option that was chosen is followed by something, such as bandits, are not among them."
)


def notices_of(seen: Sequences) -> tuple[Notice, ...]:
    """Return everything that is probably wrong."""
    found = [*_constant_outcomes(seen), *_unrepeated_cues(seen), *_unused_levels(seen)]
    if all(notice.kind != "outcome" for notice in found):  # then nothing can be said of answers
        # People who do the contrary and those who do not are like coins together; where outcomes follow answers, all
        # know them from the start.
        decided, turned = list(_decided_by_answers(seen)), list(_turned_people(seen))
        found += [*_telling_cues(seen), *(decided or _first_trials(seen)), *(turned or _coins(seen))]
    return tuple(found)


# --- What the learner sees


def _constant_outcomes(seen: Sequences) -> Iterator[Notice]:
    """Find outcomes that are always the same; with 10% of the other one at least, seldomer than ``ALPHA``."""
    known = seen.outcome != UNKNOWN
    if (1 - RARE) ** known.sum() < ALPHA and seen.outcome[known].sum() in (0, known.sum()):
        text = (
            f"The outcome is {int(seen.outcome[known][0])} on all {known.sum():,} trials, so that there is nothing to "
            "learn. Is the right column named under outcome, and does its coding tell two outcomes apart?"
        )
        yield Notice("outcome", text)
        return
    who = np.flatnonzero(_constant_people(seen))
    if len(who):
        text = f"{_people(seen, who)}: the outcome is the same on all trials. Is the file complete?"
        yield Notice("outcome_of_people", text)


def _constant_people(seen: Sequences) -> NDArray[np.bool_]:
    """Return whose outcomes are all the same, though those of everyone are not, and they have too many for chance."""
    known = seen.outcome != UNKNOWN
    counts = np.bincount(seen.person[known], minlength=len(seen.people))
    ones = np.bincount(seen.person[known], seen.outcome[known], len(seen.people))
    share = ones.sum() / max(1, known.sum())
    chance = np.maximum(share, 1 - share) ** counts
    found: NDArray[np.bool_] = ((ones == 0) | (ones == counts)) & (chance < ALPHA / len(seen.people))
    return found


def _unrepeated_cues(seen: Sequences) -> Iterator[Notice]:
    """Find cues that come once or twice: nothing can be learned of them. There is no chance in this.

    A few trials, as to try out a protocol, say nothing yet.
    """
    if len(seen.rows) < ENOUGH_TRIALS:
        return
    shares = {
        name: 1 - len(np.unique(seen.learner * (codes.max() + 1) + codes)) / len(codes)
        for name, codes in seen.codes.items()
    }
    rare = [name for name, share in shares.items() if share < REPEATS]
    if rare:
        text = (
            f"{_cues(rare)}: on only {max(shares[name] for name in rare):.0%} of a learner's trials was its value "
            f"seen before (learners have {np.median(seen.length):,.0f} trials), so that little can be learned of it. "
            "Does it name the trial instead of what was shown? Or does a restart come too often?"
        )
        yield Notice("unrepeated_cues", text)


def _unused_levels(seen: Sequences) -> Iterator[Notice]:
    """Find cues of many levels of which a learner sees few, or each in one stretch of the trials alone."""
    for name, codes in seen.codes.items():
        levels = seen.cohort.protocol.features[name].levels
        if levels is None or len(levels) < MANY_LEVELS:
            continue
        pair = seen.learner * (codes.max() + 1) + codes
        each, count = np.unique(pair, return_counts=True)
        of_learner = np.bincount(each // (codes.max() + 1))
        long = seen.length >= 2 * MANY_LEVELS
        if long.any() and of_learner[long].mean() <= len(levels) / 2:
            text = (
                f"Cue {plain(name)}: a learner sees {of_learner[long].mean():.3g} of its {len(levels)} levels, and "
                "each of the others counts as a cue that is never there, which drowns those that are. Number the "
                'levels anew within each problem, as in { levels = [1, 2, 3], anew = "problem" }.'
            )
            yield Notice("unused_levels", text)
        elif _in_stretches(seen, pair, count):
            text = (
                f"Cue {plain(name)}: each of its levels comes in one stretch of the trials, and never again. Does the "
                "person begin anew there, with new cues? Then name the column of these stretches under restart."
            )
            yield Notice("stretches", text)


def _in_stretches(seen: Sequences, pair: NDArray[np.int64], count: NDArray[np.int64]) -> bool:
    """Return whether values that come four times or more lie within a third of their learner's trials.

    In random order that happens to one in nine of them, so that it seldom happens to most.
    """
    order = np.argsort(pair, kind="stable")
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    first, last = order[starts], order[starts + count - 1]
    span = (seen.position[last] - seen.position[first])[count >= 4]
    narrow = int((span <= (seen.length[seen.learner[first]][count >= 4] - 1) / 3).sum())
    return narrow > len(span) / 2 and bool(bdtrc(narrow - 1, len(span), 1 / 9) < ALPHA)


def _telling_cues(seen: Sequences) -> Iterator[Notice]:
    """Find cues whose value tells every answer, whether it was right, or every outcome."""
    known, answered = seen.outcome != UNKNOWN, seen.choice >= 0
    late = seen.scored & (2 * seen.position >= seen.length[seen.learner])
    masters = bdtr(seen.hit[late].sum(), late.sum(), MASTERS) >= ALPHA
    for name, codes in seen.codes.items():
        for where, what, meaning in (
            (answered, seen.choice, "the answer on each trial"),
            (seen.scored, seen.hit, "whether the answer was right, on each trial"),
        ):
            if _tells(codes[where], what[where]) and _chance_to_tell(seen, codes, where) < ALPHA:
                text = (
                    f"Cue {plain(name)} tells {meaning}, even on first trials and where people slip. A cue must be "
                    "what was shown before the answer: take the column out of [features]."
                )
                yield Notice("answer_in_cue", text)
                break
        else:
            if not masters and _tells(codes[known], seen.outcome[known]) and _others_tell(seen, name):
                text = (
                    f"Cue {plain(name)} alone tells every outcome, and the others tell some of them, yet in the second "
                    f"half people are right on only {seen.hit[late].sum() / late.sum():.0%}. Was it shown before the "
                    "answer? If it holds the solution, take the column out of [features]."
                )
                yield Notice("outcome_in_cue", text)


def _tells(codes: NDArray[np.int64], what: NDArray[np.generic]) -> bool:
    """Return whether each value goes with one answer alone, and there is more than one answer."""
    ones = np.bincount(codes, what.astype(np.float64))
    counts = np.bincount(codes, minlength=len(ones))
    varies = 0 < ones.sum() < counts.sum()
    return bool(varies and ((ones == 0) | (ones == counts)).all() and len(codes) > 2 * (counts > 0).sum())


def _others_tell(seen: Sequences, name: str) -> bool:
    """Return whether the outcome can be told from the other cues, by what they came with most often before.

    Where one cue is all that matters, as in many honest tasks, the others tell nothing.
    """
    most = seen.earlier(seen.pattern_of([other for other in seen.codes if other != name]))[1]
    known = (seen.outcome != UNKNOWN) & (most != 0)
    n, told = int(known.sum()), int((most[known] == 2 * seen.outcome[known].astype(np.int64) - 1).sum())
    ones = int(seen.outcome[known].sum())
    guess = max(ones, n - ones) / max(1, n)
    return n > 0 and told / n >= guess + FAR and bool(bdtrc(told - 1, n, guess) < ALPHA)


def _chance_to_tell(seen: Sequences, codes: NDArray[np.int64], where: NDArray[np.bool_]) -> float:
    """Return how probable it is that a cue fits all answers of people who guess first, and later slip now and then."""
    first = codes[where & (seen.position == 0)]
    guesses = len(first) - len(np.unique(first))
    others = int(where.sum()) - len(first) - len(np.unique(codes))
    return float(0.5**guesses * (1 - SLIPS) ** max(0, others))


def refused(seen: Sequences) -> Iterator[Problem]:
    """Refuse feedback that depends on the answer: it comes with one answer, and does not with the other one.

    With ten of each answer and no more than one exception, that happens by chance once in 4,000 people, and seldomer to
    most of several.
    """
    n = len(seen.people)
    answered = seen.choice >= 0
    shown, given = np.zeros((2, n)), np.zeros((2, n))
    for option in (0, 1):
        where = answered & (seen.choice == option)
        given[option] = np.bincount(seen.person[where], minlength=n)
        shown[option] = np.bincount(seen.person[where & seen.feedback], minlength=n)
    enough = (given >= ENOUGH).all(axis=0)
    apart = np.abs(shown[1] / np.maximum(1, given[1]) - shown[0] / np.maximum(1, given[0])) >= 1 - FAR
    who = np.flatnonzero(enough & apart)
    if len(who) > enough.sum() / 2:
        columns = seen.cohort.protocol.columns
        name = columns.feedback or columns.outcome or columns.correct or ""
        what = Quoted(f"feedback that depends on the answer, for {_people(seen, who)}")
        allowed = "trials on which the outcome is shown, or not, whatever was answered"
        yield Problem(f"data, column {plain(name)}", what, allowed, NEEDS)


# --- What people do


def _decided_by_answers(seen: Sequences) -> Iterator[Notice]:
    """Find outcomes that follow answers: right even where they are against all that was shown with the same cues.

    Whatever comes with a cue, an answer against both the last and the most frequent of it is not right more often than
    wrong, unless the outcome depends on it.
    """
    last, most = seen.earlier(seen.pattern_of(seen.codes))
    against = seen.scored & (last == most) & (most == np.where(seen.choice == 1, -1, 1))
    n, hits = int(against.sum()), int(seen.hit[against].sum())
    if n and hits / n >= 0.5 + FAR and bdtrc(hits - 1, n, 0.5) < ALPHA:
        text = (
            f"Answers are right on {hits / n:.0%} of {n:,} trials on which they are against all that was shown with "
            f"the same cues before. Does the outcome depend on the answer, as a reward does? {NEEDS}"
        )
        yield Notice("decided_by_answers", text)


def _first_trials(seen: Sequences) -> Iterator[Notice]:
    """Find people who know answers when nobody can: on their very first trial, or on the first after a restart."""
    first = seen.scored & (seen.position == 0)
    beginners = np.unique(seen.person[first], return_index=True)[1]
    is_beginning = np.isin(seen.learner, seen.learner[first][beginners])
    if is_known := _above_guessing(seen, first & is_beginning):
        text = (
            f"{is_known}, before anything was shown. Does the outcome depend on the answer, as a reward does? The "
            "models need outcomes that come whatever was answered. Or are the first trials missing?"
        )
        yield Notice("known_from_the_start", text)
    elif is_known := _above_guessing(seen, first & ~is_beginning):
        names = _listed([plain(name) for name in seen.cohort.protocol.columns.restart])
        text = (
            f"{is_known} after a restart ({names}), as if they remembered. Does the person begin anew there, with new "
            "cues or new contingencies? If numbers merely start again, learning goes on: leave it out of restart, and "
            'give the order of trials by several columns, as in trial = ["block", "trial"], or set order = "file".'
        )
        yield Notice("remembered", text)


def _above_guessing(seen: Sequences, where: NDArray[np.bool_]) -> str:
    """Say how far people are above the best guess, always the more frequent outcome; nothing if they are not."""
    n, hits, ones = int(where.sum()), int(seen.hit[where].sum()), int(seen.outcome[where].sum())
    guess = max(ones, n - ones) / max(1, n)
    if not n or hits / n < guess + FAR or bdtrc(hits - 1, n, guess) >= ALPHA:
        return ""
    return f"People are right on {hits / n:.0%} of {n:,} first trials (guessing: {guess:.0%})"


def _turned_people(seen: Sequences) -> Iterator[Notice]:
    """Find people who do the contrary of what they are shown."""
    measures = _measures(seen, seen.person, len(seen.people))
    (hits, n), (followed, shown) = measures["hits"], measures["most"]
    level = ALPHA / len(seen.people)
    turned = (bdtr(hits, n, 0.5) < level) & (hits < (0.5 - FAR) * n)
    who = np.flatnonzero(turned & (bdtr(followed, shown, 0.5) < level))
    if len(who):
        everyone = len(who) > len(seen.people) / 2
        advice = "the codings of choice and outcome" if everyone else "their keys (see [choice.by])"
        text = (
            f"{_people(seen, who)}: right on {hits[who].sum() / n[who].sum():.0%}, far less often than a coin. Are "
            f"{advice} turned round? Or does the outcome depend on the answer, as a reward does? Then the models "
            "cannot be used."
        )
        yield Notice("turned_round", text)


def _coins(seen: Sequences) -> Iterator[Notice]:
    """Find a cohort, or people, whose answers follow neither outcomes nor what the same cues came with before."""
    together = _measures(seen, np.zeros(len(seen.person), dtype=np.int64), 1)
    if _like_coins(together, LITTLE, ALPHA).all():
        hits, n = together["hits"]
        text = (
            f"Choices do not follow outcomes: {hits[0] / n[0]:.1%} of {n[0]:,.0f} are right, and no more follow what "
            "was shown with the same cues before. Are choice and outcome the right columns, and the trials in order?"
        )
        yield Notice("unrelated", text)
        return
    alike = _like_coins(_measures(seen, seen.person, len(seen.people)), LEARNS, COIN / len(seen.people))
    who = np.flatnonzero(alike & ~_constant_people(seen))
    if len(who):
        text = (
            f"{_people(seen, who)}: no better than a coin, by outcomes and by what was shown before. Nothing can be "
            "learned about learning from such answers."
        )
        yield Notice("coin", text)


Measures = dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]


def _measures(seen: Sequences, who: NDArray[np.int64], n: int) -> Measures:
    """Return for each of those who answer, by several measures, how many answers follow it, and of how many."""
    last, most = seen.earlier(seen.pattern_of(seen.codes))
    toward = np.where(seen.choice == 1, 1, -1)
    answered = seen.choice >= 0
    late = seen.scored & (2 * seen.position >= seen.length[seen.learner])
    marks = {
        "hits": (seen.hit, seen.scored),
        "late": (seen.hit, late),
        "last": (last == toward, answered & (last != 0)),
        "most": (most == toward, answered & (most != 0)),
    }
    return {
        name: (_counted(who[follows & where], n), _counted(who[where], n)) for name, (follows, where) in marks.items()
    }


def _counted(who: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.bincount(who, minlength=n).astype(np.int64)


def _like_coins(measures: Measures, least: float, level: float) -> NDArray[np.bool_]:
    """Return whose answers no measure tells from a coin's, though each would if they followed it ``least`` often.

    The second half has too few answers for that. It can only tell, as the others can, that they are no coin's.
    """
    alike = [(n == 0) | (np.minimum(bdtr(k, n, 0.5), bdtrc(k - 1, n, 0.5)) > SURE / 2) for k, n in measures.values()]
    alike += [(n == 0) | (bdtr(k, n, least) < level) for name, (k, n) in measures.items() if name != "late"]
    some = np.any([n > 0 for _, n in measures.values()], axis=0)
    found: NDArray[np.bool_] = np.all(alike, axis=0) & some
    return found


def _people(seen: Sequences, who: NDArray[np.intp]) -> str:
    names = [plain(seen.people[number], 40) for number in who]
    return f"{len(who):,} of {len(seen.people):,} people ({_listed(names)})"


def _cues(names: Sequence[str]) -> str:
    return f"{'Cue' if len(names) == 1 else 'Cues'} {_listed([plain(name) for name in names])}"


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - NAMED
    return ", ".join(texts[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
