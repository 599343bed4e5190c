"""Methods as files for a manuscript: Markdown, LaTeX with natbib, and the BibTeX of what they cite."""

from collections.abc import Mapping
from pathlib import Path

from holmes_fit._support.atomic import written_whole
from holmes_fit.reporting.references import cited, in_latex

BIB = "references.bib"
HEAD = f"""% For a document that has \\usepackage{{natbib}}, and \\bibliographystyle{{apalike}} or another style.
% {BIB} has what it cites.
"""


def write_methods(folder: Path, parts: Mapping[str, str]) -> list[Path]:
    """Write the paragraphs of methods, by their titles, into a folder, and return the files."""
    contents = {"methods.md": in_markdown(parts), "methods.tex": as_latex(parts), BIB: bibliography(parts)}
    for name, content in contents.items():
        with written_whole(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
    return [folder / name for name in contents]


def in_markdown(parts: Mapping[str, str]) -> str:
    """Return methods as Markdown, with their references."""
    entries = [f"- {entry.text}" for entry in cited(" ".join(parts.values()))]
    sections = [f"## {title}\n\n{_without_marks(text)}" for title, text in parts.items()]
    return "\n\n".join(["# Methods", *sections, "## References", "\n".join(entries)]) + "\n"


def as_latex(parts: Mapping[str, str]) -> str:
    """Return methods as LaTeX, with citations instead of references."""
    sections = [f"\\subsection*{{{in_latex(title)}}}\n\n{in_latex(text)}" for title, text in parts.items()]
    return (
        "\n\n".join([f"{HEAD}\n\\section*{{Methods}}", *sections, f"\\bibliography{{{BIB.removesuffix('.bib')}}}"])
        + "\n"
    )


def bibliography(parts: Mapping[str, str]) -> str:
    """Return the BibTeX of what methods cite."""
    return "\n".join(entry.bibtex for entry in cited(" ".join(parts.values())))


def _without_marks(text: str) -> str:
    """Return a text in which nothing is taken for markup, as names may hold such signs."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in text)
