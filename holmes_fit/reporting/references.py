"""What methods cite: entries of ``references.bib``, where they are named, and how they look in a list and in LaTeX."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

ENTRY = re.compile(r"@\w+\{(\w+),\n(.*?)\n\}\n", re.DOTALL)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """One entry."""

    key: str
    fields: Mapping[str, str]
    bibtex: str

    @property
    def named(self) -> re.Pattern[str]:
        """How a text names it: by its first author, whoever else, and the year, in brackets or not."""
        first = re.escape(self.fields["author"].partition(",")[0])
        year = self.fields.get("year")
        return re.compile(rf"\b{first}\b[^();\d]*?(?:\({year}\)|{year})" if year else rf"\b{first} & \w+")

    @property
    def text(self) -> str:
        """The entry as lists of references have it."""
        *others, last = self.fields["author"].split(" and ")
        authors = f"{', '.join(others)} & {last}" if others else last
        authors = authors.replace(" & others", " et al.")
        year = f" ({self.fields['year']})" if "year" in self.fields else ""
        book = self.fields.get("journal") or (f"In {self.fields['booktitle']}" if "booktitle" in self.fields else "")
        where = ", ".join(filter(None, [book, self.fields.get("volume"), self.fields.get("pages")]))
        text = f"{authors}{year}{'' if not year and authors.endswith('.') else '.'} {self.fields['title'].strip('{}')}."
        return f"{text}{f' {where}.' if where else ''}".replace("--", "–").replace("\\&", "&")


@cache
def references() -> tuple[Reference, ...]:
    """Return all entries, in the order of the alphabet."""
    content = (files("holmes_fit.reporting") / "references.bib").read_text(encoding="utf-8")
    return tuple(Reference(each[1], dict(FIELD.findall(each[2])), each[0]) for each in ENTRY.finditer(content))


def cited(text: str) -> list[Reference]:
    """Return the entries that a text names."""
    return [entry for entry in references() if entry.named.search(text)]


# --- LaTeX

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    **{
        "α": "$\\alpha$",
        "β": "$\\beta$",
        "Ω": "$\\Omega$",
        "σ": "$\\sigma$",
        "φ": "$\\phi$",
        "μ": "$\\mu$",
        "λ": "$\\lambda$",
    },
    **{"−": "$-$", "–": "--", "“": "``", "”": "''", "±": "$\\pm$", "²": "$^2$", "…": "\\ldots{}"},
}


def in_latex(text: str) -> str:
    """Return a text as LaTeX has it, citations as commands of natbib."""
    text = "".join(SPECIAL.get(letter, letter) for letter in text)
    for entry in cited(text.replace("\\&", "&")):
        named = re.compile(entry.named.pattern.replace(" & ", r" \\& "))
        text = named.sub(lambda found, key=entry.key: _command(found[0], key), text)  # type: ignore[misc]
    return text


def _command(found: str, key: str) -> str:
    return f"\\citet{{{key}}}" if "(" in found else f"\\citealp{{{key}}}"
