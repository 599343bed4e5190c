"""The report of a cohort, put together: which pages, into which files, from which run."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib import rc_context

from holmes_fit._support.atomic import check_outputs, written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import Problems, Quoted, check_kind, plain, shown
from holmes_fit.reporting.asking import asked_trees, known_person
from holmes_fit.reporting.blocks import About, Section, Text
from holmes_fit.reporting.drawing import write_figures
from holmes_fit.reporting.engine import RC, pdf_of
from holmes_fit.reporting.manuscript import write_methods
from holmes_fit.reporting.registry import PAGES
from holmes_fit.reporting.run_data import CohortData, read_data
from holmes_fit.reporting.sections.methods import methods_parts
from holmes_fit.reporting.sections.person import sheet
from holmes_fit.reporting.settings import Settings, check_pages, load_settings
from holmes_fit.reporting.style import use_style
from holmes_fit.reporting.text import people, sentence
from holmes_fit.runs.folder import HasRun, Run


def report(
    run: str | os.PathLike[str] | Run | HasRun,
    out: str | os.PathLike[str] = "cohort.pdf",
    *,
    by: str | None = None,
    pages: Sequence[str] | None = None,
    preset: str | os.PathLike[str] | Settings = "default",
    figures: str | os.PathLike[str] | None = None,
    methods: str | os.PathLike[str] | None = None,
    recovery: str | os.PathLike[str] | None = None,
    person: str | None = None,
    trees: Sequence[str] = (),
    anonymous: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write the report of a cohort as a PDF, from a saved run alone. Nothing is fitted.

    Pages whose results the run does not have are left out, and the report says so. The same run gives the same bytes.

    Parameters
    ----------
    run
        The run folder of a fit, or what :func:`holmes_fit.fit` has returned.
    out
        The PDF.
    by
        A covariate, such as ``"group"``: one PDF for each of its values, ``cohort_patient.pdf`` and so on.
    pages
        The pages, some of ``summary``, ``data``, ``behaviour``, ``stimuli``, ``test``, ``comparison``, ``parameters``,
        ``recovery``, ``people``, ``trees``, ``methods`` and ``appendix``; those of the preset by default.
    preset
        What goes into the report: the name of a shipped preset, the path of a TOML file, or settings.
    figures
        A folder for each figure as PNG and SVG, and what it shows as CSV; a new one, or an empty one.
    methods
        A folder for the methods as Markdown, LaTeX (with natbib) and BibTeX; a new one, or an empty one.
    recovery
        The folder of a recovery study of the same design; ``recovery`` within the run by default.
    person
        Whom the report is about: a sheet of one page, in the place of all pages.
    trees
        Whose trees are shown, instead of those of the best, the median and the worst fit: ``"s07"``, or ``"s07:3"`` for
        one of several problems.
    anonymous
        Whether people are numbers everywhere, in figures and their files too. Who is who stands in a file beside the
        PDF, ``cohort_key.csv``, which is not to be shared with it. Groups and problems keep their names.
    force
        Whether files that are there already may be replaced.

    Returns
    -------
    list of pathlib.Path
        The PDF, or one for each group, then the key to numbers of people, the files of methods, and those of figures.

    Raises
    ------
    InputError
        If there is no such run, page or covariate, or a file cannot be written.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> hf.report("runs/pilot", "pilot.pdf", pages=["summary", "data"])
    [PosixPath('pilot.pdf')]
    >>> hf.report("runs/pilot", "s01.pdf", person="s01")
    [PosixPath('s01.pdf')]
    """
    problems = Problems()
    check_kind("out", out, str | os.PathLike, "the path of a PDF", problems)
    check_kind("pages", pages, Iterable | None, "names of pages", problems)
    for name, folder in (("figures", figures), ("methods", methods), ("recovery", recovery)):
        check_kind(name, folder, str | os.PathLike | None, "a folder", problems)
    check_kind("person", person, str | None, "the name of a person", problems)
    check_kind("trees", trees, Iterable, "names of people", problems)
    if person is not None and (by is not None or pages is not None or trees):
        problems.add("argument person", shown(person), "no pages, groups or trees beside it: a sheet is one page")
    problems.raise_if_any()
    known = tuple(PAGES)
    settings = preset if isinstance(preset, Settings) else load_settings(preset, known)
    given = (pages,) if isinstance(pages, str) else pages  # whose letters would be pages otherwise
    chosen = tuple(given) if given is not None else settings.pages or known
    check_pages(chosen, known, "argument pages")
    data = replace(read_data(run, by, recovery, anonymous), settings=settings)
    data = replace(data, asked_trees=asked_trees(data, [trees] if isinstance(trees, str) else trees))
    make = partial(sections_of, chosen=chosen) if person is None else partial(sheets_of, person=person)
    parts = _parts(data, Path(out), by)
    check_outputs(parts, force, suffixes=(".pdf",))
    folders = _folders_for(parts, figures, by is not None, force)
    of_methods = _folders_for(parts, methods, by is not None, force)
    written = _write_key(data, Path(out), force)
    for part, folder in zip(parts.values(), of_methods, strict=True):
        written += [] if folder is None else write_methods(folder, methods_parts(part))
    for (path, part), folder in zip(parts.items(), folders, strict=True):
        written += _write(path, part, make(part), folder)
    return [*parts, *written]


def _parts(data: CohortData, out: Path, by: str | None) -> dict[Path, CohortData]:
    """Return which file is about whom: everyone in one, or a file for each group."""
    if by is None:
        return {out: data}
    found: dict[Path, CohortData] = {}
    for group in data.all_groups:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", group).strip("-.")[:40] or "unnamed"
        path, number = out.parent / f"{out.stem}_{slug}{out.suffix}", 1
        while path in found:
            number += 1
            path = out.parent / f"{out.stem}_{slug}_{number}{out.suffix}"
        found[path] = data.within(group)
    return found


def _folders_for(
    parts: dict[Path, CohortData], given: str | os.PathLike[str] | None, several: bool, force: bool
) -> list[Path | None]:
    if given is None:
        return [None] * len(parts)
    root = Path(given)
    folders = [root / path.stem if several else root for path in parts]
    problems = Problems()
    for folder in folders:
        where = f"folder {plain(str(folder), limit=200)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not force and any(folder.iterdir()):
                advice = "Use the argument force to replace those of the same names."
                problems.add(where, Quoted("files in it"), "a new folder, or an empty one", advice)
            elif not os.access(folder, os.W_OK):
                problems.add(where, Quoted("read-only"), "a folder to write into")
        except (OSError, ValueError) as error:
            problems.add(where, Quoted(str(error)), "a folder to write into")
    problems.raise_if_any()
    return [*folders]


def _write_key(data: CohortData, out: Path, force: bool) -> list[Path]:
    """Write who is who, beside the PDF, where people are numbers; and return the file."""
    if data.numbers is None:
        return []
    path = out.with_name(f"{out.stem}_key.csv")
    check_outputs([path], force)
    write_table(data.numbers.key(), path)
    return [path]


def _write(path: Path, data: CohortData, sections: Sequence[Section], figures: Path | None) -> list[Path]:
    """Write one PDF, and return the files of its figures."""
    with use_style(), rc_context(RC):
        pdf = pdf_of(sections, _about(data), data.run.manifest.begun)
        data.check_unchanged()
        with written_whole(path) as temporary:
            temporary.write_bytes(pdf)
        return [] if figures is None else write_figures(figures, sections)


def sheets_of(data: CohortData, person: str) -> list[Section]:
    """Return the sheet of one person."""
    return [sheet(data, known_person(data, person))]


def sections_of(data: CohortData, chosen: Sequence[str]) -> list[Section]:
    """Return the chosen sections that the run has the results for; the summary says why others are left out."""
    absent = {name: reason for name in chosen if (reason := PAGES[name].lacking(data))}
    sections = {name: PAGES[name].section(data) for name in chosen if name not in absent}
    if not sections:
        nothing = Text("The run has no results for the pages that were asked for.", "finding")
        return [Section("Nothing to show", [nothing, *map(Text, absent.values())])]
    if "summary" in sections:
        left_out = [f"Not in this report: {sentence(PAGES[name].title)} {reason}" for name, reason in absent.items()]
        sections["summary"].blocks.extend(Text(text, "note") for text in left_out)
    return [*sections.values()]


def _about(data: CohortData) -> About:
    """Return head, foot and properties. Date and digest are those of the run: two reports of it have the same bytes."""
    title = f"{data.title}{f', {data.scope}' if data.scope else ''}"
    return About(
        title,
        subject=f"Cohort report of run {data.digest}",
        keywords=("holmes_fit", f"sha256 {data.digest}"),
        head=f"{title} · {people(data.n_people)}",
        foot=f"Made by holmes_fit {data.made_by('holmes_fit')} from run {data.digest[:12]}",
        alarm=sentence(data.label),
    )
