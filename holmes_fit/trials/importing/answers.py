"""What people answered, and what they were shown then: which columns say so, and how a protocol codes them."""

from __future__ import annotations

from holmes_fit._support.errors import plain
from holmes_fit.trials.cells import number
from holmes_fit.trials.importing.cues import quoted, toml_key, zero_and_one
from holmes_fit.trials.importing.guesses import Column, Guesses
from holmes_fit.trials.importing.sheets import listed

MISSES = ("timeout", "timedout", "timed out", "missed", "miss", "late", "no response", "noresponse", "too slow", "-")
REWARD = "reward"  # which may be the outcome, or what follows a right answer
LEAST_RATINGS = 5


def answers_in(column: Column) -> list[str]:
    """Return the values that are answers, without the words for none."""
    return [value for value in column.values if value.lower() not in MISSES]


def rating_of(guesses: Guesses) -> Column | None:
    """Return answers on a scale, if none are of two kinds."""
    hits = guesses.free("choice")
    if all(len(answers_in(column)) != 2 for column in hits):
        for column in hits:
            given = [number(answer) for answer in answers_in(column)]
            if len(given) >= LEAST_RATINGS and None not in given:
                name, (low, high, _) = plain(column.name), _scale(column)
                seen = f"{name} has {len(given)} numbers, taken as ratings on a scale from {low:g} to {high:g}"
                advice = "is that the scale? To have two answers of them, use above = ... under [choice] instead"
                guesses.undecided.append(f"response: {seen}; {advice}")
                return guesses.take("response", column, "its name says so and it has numbers")
    return None


def _scale(column: Column) -> tuple[float, float, float | None]:
    """Return the likely ends of a scale, and the step if its numbers are whole."""
    given = [value for answer in answers_in(column) if (value := number(answer)) is not None]
    low, high = min(given), max(given)
    if low >= 0 and 10 < high <= 100:
        low, high = 0.0, 100.0
    return low, high, 1.0 if all(value == round(value) for value in given) else None


def response_lines(column: Column) -> list[str]:
    """Return the table of a protocol that says where ratings are, and on what scale."""
    low, high, step = _scale(column)
    lines = ["", "[response]  # ? see above", 'kind = "rating"', f"column = {quoted(column.name)}"]
    missing = [value for value in column.values if value not in answers_in(column)]
    lines += [f"low = {low:g}", f"high = {high:g}", *([f"step = {step:g}"] if step else [])]
    return lines + ([f"missing = [{', '.join(map(quoted, missing))}]"] if missing else [])


def right_of(guesses: Guesses) -> Column | None:
    """Return the column that says whether answers were right, whatever use is made of it."""
    return next((column for column in guesses.free("correct") if 1 <= len(column.values) <= 2), None)


def shown_answer(guesses: Guesses, choice: Column | None) -> Column | None:
    """Return a column of feedback that names one of the answers, or the only other one that has these words."""
    answers = answers_in(choice) if choice else []
    if len(answers) != 2 or None not in map(number, answers):
        return None
    alike = [column for column in guesses.left() if answers_in(column) == answers]
    named = [column for column in alike if column in guesses.named("feedback")]
    is_told = any(len(answers_in(column)) == 2 for column in guesses.free("outcome"))
    for column in named or (alike if len(alike) == 1 and not is_told else []):
        return guesses.take("outcome", column, f"it has the values of the answers, {listed(answers)}")
    return None


def two_valued(guesses: Guesses, role: str, choice: Column | None = None, right: Column | None = None) -> Column | None:
    """Return the column with two values whose name says most; of outcomes the one, if any, that makes answers right."""
    hits = [column for column in guesses.free(role) if not (right and column.bare_name == REWARD)]
    fitting = [column for column in hits if len(answers_in(column)) == 2]
    if choice and right:
        fitting.sort(key=lambda column: not _decides(choice, column, right))
    if fitting:
        others = f"; {listed(column.name for column in fitting[1:])} would fit as well" if fitting[1:] else ""
        why = f"its name says so and it has two values, {listed(answers_in(fitting[0]))}{others}"
        if fitting[0].bare_name == REWARD:
            advice = "or was the answer right then? In that case name it under correct instead"
            asked = f"does {fitting[0].name} come whatever was answered, {advice}"
            guesses.undecided.append(f"columns.outcome: {asked}")
        return guesses.take(role, fitting[0], why)
    seen = 'no column with two values has a name such as "' + role + '"'
    for column in [column for column in hits if len(answers_in(column)) > 2][:1]:
        values = f"{len(answers_in(column)):,} values ({listed(answers_in(column), 4)})"
        seen = f"{plain(column.name)} has {values}; every one needs the code 0 or 1 under [{role}]"
        if None not in map(number, answers_in(column)):
            seen += "; ratings can have a threshold, such as above = 50, or a table [response]"
    elsewhere = guesses.named("correct") + guesses.named("outcome" if role == "choice" else "choice")
    two = [column.name for column in guesses.left() if len(answers_in(column)) == 2 and column not in elsewhere]
    if two and not hits:
        seen += f"; if it is {listed(two, 4).replace(', ', ' or ')}, take that out of [features]"
    if right is None:
        guesses.undecided.append(f"columns.{role}: {seen}")
    return None


def correct_of(guesses: Guesses, outcome: Column | None, correct: Column | None) -> Column | None:
    """Return the column that says whether an answer was right; it has a role if there is no outcome."""
    if correct and outcome:
        guesses.used.add(correct.name)
        guesses.made.pop(correct.name, None)
    elif correct:
        guesses.take("correct", correct, "there is no outcome, which follows from the choice and whether it was right")
    return correct


def coding_lines(guesses: Guesses, choice: Column | None, outcome: Column | None, correct: Column | None) -> list[str]:
    """Return what the words of answers and outcomes mean, so that an answer has the code of what it predicts."""
    mine = zero_and_one(answers_in(choice)) if choice else ("0", "1")
    lines = coding_of("choice", choice, mine) if choice else []
    if outcome:
        theirs = zero_and_one(answers_in(outcome))
        if choice and {*theirs} != {*mine}:
            theirs, why, sure = _matched(choice, outcome, correct, mine, theirs)
            told = guesses.reasons if sure else guesses.undecided
            told.append(f"outcome.coding: {plain(theirs[0])} is 0, as {plain(mine[0])} is; {why}")
        lines += coding_of("outcome", outcome, theirs)
    elif correct:
        lines += coding_of("correct", correct, zero_and_one(correct.values) if len(correct.values) == 2 else ("0", "1"))
    return lines


def _decides(choice: Column, outcome: Column, correct: Column) -> bool:
    """Return whether answers are right where they are the outcome, and only there, but for a few."""
    known = (choice.cells != "") & (outcome.cells != "") & (correct.cells != "")
    is_right = correct.cells[known] == zero_and_one(correct.values)[1]
    same = (choice.cells[known] == choice.values[0]) == (outcome.cells[known] == outcome.values[0])
    return abs(float((same == is_right).mean()) - 0.5) > 0.45 if known.any() else False


def _matched(
    choice: Column, outcome: Column, correct: Column | None, mine: tuple[str, str], theirs: tuple[str, str]
) -> tuple[tuple[str, str], str, bool]:
    """Return the outcomes in the order of the answers that predict them, why, and whether the data say so."""
    if correct is None or len(correct.values) != 2:
        return theirs, "that is a guess: which answer predicts which outcome?", False
    right = correct.cells == zero_and_one(correct.values)[1]
    together = float(((choice.cells[right] == mine[0]) == (outcome.cells[right] == theirs[0])).mean())
    ordered = theirs if together > 0.5 else (theirs[1], theirs[0])
    return ordered, f"so it is in {max(together, 1 - together):.0%} of the right answers by {plain(correct.name)}", True


def coding_of(role: str, column: Column, pair: tuple[str, str]) -> list[str]:
    """Return the table of a protocol that codes a pair of values; nothing if they are 0 and 1 already."""
    missing = [value for value in column.values if value.lower() in MISSES and value not in pair]
    lines = [] if pair == ("0", "1") else [f"coding = {{ {toml_key(pair[0])} = 0, {toml_key(pair[1])} = 1 }}"]
    lines += [f"missing = [{', '.join(map(quoted, missing))}]"] if missing else []
    return ["", f"[{role}]", *lines] if lines else []
