"""What the site takes from elsewhere: documents of the repository, figures of a run, pictures of the models."""

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs import pictures
from holmes_fit.reporting.drawing import write_figures
from holmes_fit.reporting.registry import PAGES
from holmes_fit.reporting.run_data import read_data
from holmes_fit.reporting.style import use_style
from tests.documents import outputs
from tests.sample_run import make_run

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "docs"
DOCUMENTS = {
    "studies/fitting.md": "reports/fitting/README.md",
    "studies/pooling.md": "reports/pooling/README.md",
    "studies/recovery.md": "reports/recovery/README.md",
    "studies/designs.md": "reports/designs/README.md",
    "studies/replication.md": "reports/replication/README.md",
    "studies/times.md": "reports/times/README.md",
    "files/data.md": "data/README.md",
    "files/results.md": "reports/README.md",
    "files/presets.md": "fitting/README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
# Commands show what they print, without progress, which a terminal draws over; what is wrong is shown. Exit code 3 is
# fine: whether a first look has warnings depends on chance.
QUIET = """#!/bin/sh
said=$(mktemp)
"{program}" "$@" 2>"$said"
code=$?
case $code in 0) ;; 3) code=0 ;; *) cat "$said" ;; esac
rm -f "$said"
exit $code
"""
IMAGE = re.compile(r"!\[[^\]]*\]\((?!http)([^)]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!http|#)[^)]*\)")
FORMULA = re.compile(r"(?<![`\\$])(\$\$?)([^$`]+?)\1(?![`$])")
LINE_BEGINS_WITH_ONE = re.compile(r"(?<=\S)\n(?=\$[^$])")
TAG = re.compile(r"<[^>]+>")
ROLE = re.compile(r":(?:func|class|meth|mod):(?=<code>)")
WITH_FORMULAS = ("models.md", "likelihood.md")


def on_pre_build(config: MkDocsConfig) -> None:
    """Begin with an empty folder for the commands that the pages show."""
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "study").mkdir(parents=True)
    program = WORK / "bin" / "holmes-fit"
    program.parent.mkdir()
    program.write_text(QUIET.format(program=Path(sys.executable).with_name("holmes-fit")))
    program.chmod(0o755)
    os.environ |= {"COLUMNS": "100", "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents, with their images, the gallery and the pictures."""
    for page, document in DOCUMENTS.items():
        text = (ROOT / document).read_text(encoding="utf-8")
        for image in IMAGE.findall(text):
            _add(files, config, (Path(page).parent / image).as_posix(), (ROOT / document).parent / image)
        # What lies beside a document in the repository is not part of the site: its name remains.
        _add(files, config, page, LINK.sub(r"\1", text))
    with mpl.rc_context({"backend": "agg"}):
        pictures.main(WORK / "pictures")
        for path in sorted((WORK / "pictures").iterdir()):
            _add(files, config, f"pictures/{path.name}", path)
        _add(files, config, "pictures/report_page.png", ROOT / "reports" / "report_page.png")
        _add(files, config, "gallery.md", "\n\n".join(_gallery(files, config)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, which browsers show without scripts."""
    if page.file.src_uri not in WITH_FORMULAS:
        return markdown
    together = LINE_BEGINS_WITH_ONE.sub(" ", markdown)  # at the beginning of a line it would be a paragraph
    return FORMULA.sub(lambda found: convert(found[2], display="block" if found[1] == "$$" else "inline"), together)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave out what docstrings say of a name's kind; hold the README to what the same commands have printed here."""
    if page.file.src_uri == "tutorial.md":
        for command, text in _not_printed(" ".join(unescape(TAG.sub("", html)).split())):
            logging.getLogger("mkdocs.hooks").warning("README.md: %s has not printed: %s", command, text)
    return ROLE.sub("", html)


def _not_printed(printed: str) -> Iterator[tuple[str, str]]:
    """Give what the README shows and was not printed; numbers that were sampled depend on the version of PyMC."""
    for command, shown in outputs("README.md"):
        numbers = r"\d+" if " compare " in command else "(?!)"
        for part in shown.split("...\n"):
            text = " ".join(part.split())
            if re.sub(numbers, "0", text) not in re.sub(numbers, "0", printed):
                yield command, text


def _add(files: Files, config: MkDocsConfig, place: str, content: str | Path) -> None:
    how: dict[str, Any] = {"content": content} if isinstance(content, str) else {"abs_src_path": str(content)}
    files.append(File.generated(config, place, **how))


def _gallery(files: Files, config: MkDocsConfig) -> Iterator[str]:
    """Draw every figure of the report from a run with invented numbers."""
    run, folder = make_run(WORK / "run"), WORK / "gallery"
    folder.mkdir()
    data = read_data(run)
    yield (
        "# Gallery\n\nEvery figure of the report, by page, from a run whose people and numbers are **invented**. "
        "`hf.draw(run, name)` draws one on your own axes; `holmes-fit report RUN --figures FOLDER` writes all of them."
    )
    with use_style():
        for page in PAGES.values():
            if page.lacking(data):
                continue
            written = [path for path in write_figures(folder, [page.section(data)]) if path.suffix == ".png"]
            if written:
                yield f"## {page.title}"
            for path in written:
                _add(files, config, f"gallery/{path.name}", path)
                yield f"`{path.stem}`\n\n![{path.stem}](gallery/{path.name})"
