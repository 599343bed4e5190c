"""Raw files as seven labs may write them, small and made up, each with the protocol that reads it as it is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

# The first lab: six types of Shepard's, stimuli packed into three digits, trials that start again with each block,
# training before the task, and two people who did not do it.
PACKED = """
[columns]
subject = "id"
trial = ["block", "trial"]
choice = "resp"
correct = "acc"
restart = ["type"]

[new_columns]
size = { of = "stim", characters = 1 }
color = { of = "stim", characters = 2 }
shape = { of = "stim", characters = [3, 3] }

[features]
size = "binary"
color = "binary"
shape = "binary"

[choice]
coding = { A = 0, B = 1 }

[rows]
drop.phase = "practice"

[exclusions.people]
9 = "asked to stop"
"""


def packed() -> dict[str, str]:
    lines = ["id,phase,type,block,trial,stim,resp,acc"]
    for person, kind in product((1, 2, 9), ("I", "II")):
        lines += [f"{person},practice,{kind},1,{trial},000,A,1" for trial in (1, 2)]
        for block, trial in product((1, 2), range(1, 9)):
            stimulus = f"{(trial - 1 + block) % 8:03b}"
            answer = "AB"[int(stimulus[0])] if trial != 5 else "A"
            right = "AB"[int(stimulus[0])]
            lines.append(f"{person},main,{kind},{block},{trial},{stimulus},{answer},{int(answer == right)}")
    return {"shepard.csv": "\n".join(lines) + "\n"}


# The second lab: a file a person with the name in it, words joined by hyphens, event rows between trials, times in ms,
# two columns for two keyboards, and no number of the trial.
EVENTS = """
[columns]
order = "file"
choice = "answer"
outcome = "category"

[new_columns]
subject = { file_name = true, separator = "_", part = 2 }
answer = { of = ["key_left", "key_right"] }
picture = { of = "stimulus", separator = ".", part = 1 }
shape = { of = "picture", separator = "-", part = 1 }
color = { of = "picture", separator = "-", part = -1 }

[features]
shape = { coding = { circle = 0, square = 1 } }
color = { levels = ["blue", "red"] }

[choice]
coding = { f = 0, j = 1 }
[outcome]
coding = { f = 0, j = 1 }

[rows]
keep.event = ["trial"]
drop.stimulus = { empty = true }

[exclusions]
rt = { column = "latency", unit = "ms", min = 0.2, max = 3 }
"""


def events() -> dict[str, str]:
    stimuli = [f"{shape}-small-{color}.png" for shape, color in product(("circle", "square"), ("blue", "red"))]
    files = {}
    for person in ("anna", "ben"):
        lines = ["event;stimulus;key_left;key_right;category;latency"]
        for trial, stimulus in enumerate(stimuli * 2):
            key = "f" if stimulus.startswith("circle") else "j"
            keys = f"{key};" if person == "anna" else f";{key}"
            lines += ["fixation;;;;;500", f"trial;{stimulus};{keys};{key};{100 if trial == 3 else 640 + trial}"]
        files[f"exp1_{person}_2024.csv"] = "\n".join([*lines, "trial;;;;;"]) + "\n"
    return files


# A causal task: training with feedback, then test trials without, both numbered from 1.
CAUSAL = """
[columns]
subject = "participant"
trial = ["phase", "trial"]
order = { phase = ["training", "test"] }
choice = "prediction"
outcome = "effect"

[features]
cause_a = "binary"
cause_b = "binary"

[choice]
coding = { no = 0, yes = 1 }
[outcome]
coding = { no = 0, yes = 1 }

[rows]
keep.phase = ["training", "test"]
"""


def causal() -> dict[str, str]:
    lines = ["participant,phase,trial,cause_a,cause_b,prediction,effect"]
    for person in ("p1", "p2"):
        lines += [f"{person},test,{t},{t % 2},1,{'yes' if t % 2 else 'no'}," for t in (1, 2, 3)]
        for trial in range(1, 9):
            effect = "yes" if trial % 2 else "no"
            lines.append(f"{person},training,{trial},{trial % 2},{trial // 4 % 2},{effect},{effect}")
        lines.append(f"{person},debriefing,1,,,,")
    return {"causal.csv": "\n".join(lines) + "\n"}


# Categorical cues: every problem has three names of its own, out of 27.
NAMES = """
[columns]
trial = "trial"
choice = "choice"
outcome = "reward"
restart = ["problem"]

[features]
fruit = { levels = ["first", "second", "third"], anew = "problem" }
"""


def names() -> dict[str, str]:
    lines = ["subject,problem,trial,fruit,choice,reward"]
    for person, problem, trial in product("ab", range(9), range(1, 7)):
        fruit = 3 * problem + (trial * (2 if person == "a" else 1)) % 3
        lines.append(f"{person},{problem},{trial},fruit {fruit},{trial % 2},{fruit % 2}")
    return {"fruits.csv": "\n".join(lines) + "\n"}


# Six features in one cell, imputed answers flagged, and reaction times that leave out the impossible.
SIX = """
[columns]
subject = "ppt"
trial = "order"
choice = "answer"
outcome = "label"

[new_columns]
f1 = { of = "exemplar", separator = "|", part = 1 }
f2 = { of = "exemplar", separator = "|", part = 2 }
f3 = { of = "exemplar", separator = "|", part = 3 }
f4 = { of = "exemplar", separator = "|", part = 4 }
f5 = { of = "exemplar", separator = "|", part = 5 }
f6 = { of = "exemplar", separator = "|", part = 6 }

[features]
f1 = "binary"
f2 = "binary"
f3 = "binary"
f4 = "binary"
f5 = "binary"
f6 = "binary"

[rows]
drop.imputed = 1
drop.order = { max = 0 }
"""


def six() -> dict[str, str]:
    lines = ["ppt,order,exemplar,answer,label,imputed"]
    for person in ("x", "y"):
        lines.append(f"{person},0,0|0|0|0|0|0,0,0,0")
        for trial in range(1, 13):
            digits = "|".join(f"{(trial * 11) % 64:06b}")
            lines.append(f"{person},{trial},{digits},{trial % 2},{digits[0]},0")
        lines.append(f"{person},13,1|1|1|1|1|1,1,1,1")
    return {"six.csv": "\n".join(lines) + "\n"}


# Probabilistic categories: trials are known by the time of day only, on two days.
CLOCK = """
[columns]
subject = "patient"
trial = ["date", "shown_at"]
order = { date = "day first", shown_at = "time" }
choice = "forecast"
outcome = "weather"

[features]
card_1 = "binary"
card_2 = "binary"

[choice]
coding = { sun = 0, rain = 1 }
[outcome]
coding = { sun = 0, rain = 1 }
"""


def clock() -> dict[str, str]:
    lines = ["patient,date,shown_at,card_1,card_2,forecast,weather"]
    for person in ("P1", "P2"):
        for day, trial in [("1/4/2024", t) for t in range(4)] + [("31/3/2024", t) for t in range(4)]:
            weather = "rain" if trial % 2 else "sun"
            at = f"{9 + trial}:05:0{trial}.5"
            lines.append(f"{person},{day},{at},{trial % 2},{int(day.startswith('31'))},{weather},{weather}")
    return {"weather.csv": "\n".join(lines) + "\n"}


# Ratings from 0 to 100 in a table with a row a person and columns for each trial.
RATINGS = """
[columns]
subject = "code"
choice = "rating"
outcome = "came"
covariates = ["age"]

[wide]
cue = "cue_{trial}"
rating = "rating_{trial}"
came = "outcome.{trial}"

[features]
cue = { levels = ["tone", "light"] }

[choice]
above = 50
exactly = 0
"""


def ratings() -> dict[str, str]:
    trials = range(1, 13)
    header = ["code", "age", *(f"{name}{t}" for t in trials for name in ("cue_", "rating_", "outcome."))]
    lines = [",".join(header)]
    for person, last in (("r1", 12), ("r2", 9)):  # the second one stopped earlier
        cells = [person, "30"]
        for t in trials:
            shown = ["tone" if t % 2 else "light", str(50 if t == 4 else 10 * (t % 10) + 5), str(t % 2)]
            cells += shown if t <= last else [""] * 3
        lines.append(",".join(cells))
    return {"ratings.csv": "\n".join(lines) + "\n"}


@dataclass(frozen=True)
class Lab:
    """The files of a lab, the protocol that reads them, and what must come of it."""

    protocol: str
    files: dict[str, str]
    subjects: tuple[str, ...]
    learners: int
    trials: int

    def write(self, folder: Path) -> list[Path]:
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in self.files]


LABS = {
    "packed": Lab(PACKED, packed(), ("1", "2"), 4, 64),
    "events": Lab(EVENTS, events(), ("anna", "ben"), 2, 16),
    "causal": Lab(CAUSAL, causal(), ("p1", "p2"), 2, 22),
    "names": Lab(NAMES, names(), ("a", "b"), 18, 108),
    "six": Lab(SIX, six(), ("x", "y"), 2, 24),
    "clock": Lab(CLOCK, clock(), ("P1", "P2"), 2, 16),
    "ratings": Lab(RATINGS, ratings(), ("r1", "r2"), 2, 21),
}
