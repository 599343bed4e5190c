"""What goes into a report, from a TOML file."""

import os
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holmes_fit._support.errors import InputError, Problems, nearest, plain
from holmes_fit._support.study_files import find_toml, read_toml


class Settings(BaseModel):
    """A preset of a report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "default"
    about: str = ""  # what it is good for
    title: str = ""  # of the report; the name of the study if empty
    question: str = "Do people learn flat or hierarchical latent causes, and how sure can we be?"
    pages: tuple[str, ...] = ()  # in their order; all of them if empty
    people_per_page: Annotated[int, Field(ge=1, le=60)] = 24  # about; with a small figure of each


def load_settings(name_or_path: str | os.PathLike[str], known_pages: Sequence[str]) -> Settings:
    """Read a preset: a shipped one by its name, or a TOML file."""
    path = find_toml(name_or_path, "reports", "report preset")
    problems = Problems()
    try:
        settings = Settings.model_validate({"name": path.stem, **read_toml(path)})
    except ValidationError as error:
        for found in error.errors():
            key = ".".join(str(part) for part in found["loc"])
            advice = nearest(key, Settings.model_fields) if found["type"] == "extra_forbidden" else ""
            problems.add(f"{plain(path.name)}, key {plain(key)}", found["input"], plain(found["msg"].lower()), advice)
        raise InputError(problems) from error
    check_pages(settings.pages, known_pages, f"{plain(path.name)}, key pages")
    return settings


def check_pages(pages: Sequence[str], known: Sequence[str], where: str) -> None:
    """Refuse pages that there are not, and pages that are asked for twice."""
    problems = Problems()
    for place, name in enumerate(pages):
        if name not in known:
            problems.add(where, name, ", ".join(known), nearest(name, known))
        elif name in pages[:place]:
            problems.add(where, name, "every page once")
    problems.raise_if_any()
