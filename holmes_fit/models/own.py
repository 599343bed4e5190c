"""Models of one's own, from Python files that the user names: ``my_models.py:Alcove2``.

A file is run when it is named, never because something else, such as a run folder, names it. Other processes and other
machines get its text with the work, so that they need not have it.
"""

import copyreg
import hashlib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import ExecutionLoader
from importlib.util import decode_source, module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from holmes_fit._support.atomic import folder_for_good
from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, nearest, plain, shown
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import MODELS, Model, is_shipped

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
REFERENCE = "FILE.py:CLASS, such as my_models.py:Alcove2"


@dataclass(frozen=True)
class ModelFile:
    """Where a model of one's own comes from."""

    path: str
    attribute: str  # the class, or the model itself, in the file
    source: bytes = field(repr=False)

    def __str__(self) -> str:  # in manifests; the folder that it lies in makes no difference
        return f"{Path(self.path).name}:{self.attribute}, sha256 {hashlib.sha256(self.source).hexdigest()}"


_FILES: dict[str, ModelFile] = {}  # by the name of the model


def load_model(reference: str) -> str:
    """Run a Python file, register a model that it has, and return the model's name.

    Parameters
    ----------
    reference
        The file and the class in it, such as ``"my_models.py:Alcove2"``. A class is called without arguments; a
        model that is there already is taken as it is.

    Raises
    ------
    InputError
        If there is no such file or model, the file cannot be run, or the model lacks what every model needs.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> hf.load_model("my_models.py")
    Traceback (most recent call last):
    holmes_fit.InputError: model 'my_models.py': saw no model; allowed: FILE.py:CLASS, such as my_models.py:Alcove2.
    """
    path, colon, attribute = str(reference).rpartition(":")
    if not colon or not path.endswith(".py") or not attribute.isidentifier():
        raise InputError([Problem(f"model {shown(reference)}", "no model", REFERENCE)])
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        seen = plain(error.strerror or str(error), 200)
        raise InputError([Problem(f"file {plain(path, 200)}", seen, "a Python file that can be read")]) from error
    return _registered(ModelFile(path, attribute, source)).name


def files_of(models: Iterable[str]) -> dict[str, str]:
    """Return what a manifest says of the files that models come from, for those that come from one."""
    return {name: str(_FILES[name]) for name in models if name in _FILES}


def _registered(file: ModelFile) -> Model:
    """Return the model of a file, and register it; other processes call this where they are sent the model."""
    module = _run(file.path, file.source)
    made = _made(module, file)
    _check(made, file)
    if type(made).__module__ == module.__name__:  # elsewhere, it is not the class that is known, but the file
        copyreg.pickle(type(made), _sent)
    MODELS[made.name] = made
    _FILES[made.name] = file
    return made


def _sent(model: Any) -> tuple[Callable[[ModelFile], Model], tuple[ModelFile]]:
    return _registered, (_FILES[model.name],)


class _Text(ExecutionLoader):
    """Runs a text as the file that it comes from."""

    def __init__(self, path: Path, source: bytes):
        self._path, self._source = path, source

    def get_filename(self, fullname: str) -> str:
        return str(self._path)

    def get_source(self, fullname: str) -> str:
        return decode_source(self._source)


@cache
def _run(path: str, source: bytes) -> ModuleType:
    """Run the text of a file, once in a process."""
    here = Path(path)
    if not here.is_file() or here.read_bytes() != source:  # on another machine; compiled code wants a file to be near
        here = folder_for_good() / Path(path).name
        here.write_bytes(source)
    text = _Text(here, source)
    spec = spec_from_loader(f"holmes_fit_own_{hashlib.sha256(source).hexdigest()[:16]}", text)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look for what their annotations mean
    try:
        text.exec_module(module)
    except (Exception, SystemExit) as error:
        line = getattr(error, "lineno", None) or _line_of(error, str(here))
        seen = Quoted(plain(f"{type(error).__name__}: {error}", 300))
        raise InputError([Problem(f"{plain(path, 200)}, line {line}", seen, "a file that Python can run")]) from error
    return module


def _line_of(error: BaseException, path: str) -> int:
    """Return the line of a file in which an error came up."""
    line, step = 1, error.__traceback__
    while step is not None:
        line = step.tb_lineno if step.tb_frame.f_code.co_filename == path else line
        step = step.tb_next
    return line


def _made(module: ModuleType, file: ModelFile) -> Model:
    """Return the model that a file has under a name, which may be that of a class."""
    known = vars(module)
    if file.attribute not in known:
        here = [name for name, value in known.items() if getattr(value, "__module__", "") == module.__name__]
        here = [name for name in here if hasattr(known[name], "p_hat")]
        seen, allowed = Quoted("nothing of this name"), f"a model of the file: {', '.join(here) or 'there is none'}"
        raise InputError([Problem(_where(file), seen, allowed, nearest(file.attribute, here))])
    found = known[file.attribute]
    try:
        made: Model = found() if isinstance(found, type) else found
    except Exception as error:
        seen = Quoted(plain(f"{type(error).__name__}: {error}", 300))
        raise InputError([Problem(_where(file), seen, "a class that can be called without arguments")]) from error
    return made


def _check(model: Model, file: ModelFile) -> None:
    """Refuse what lacks the attributes that every model has; what it predicts is a matter of the contract."""
    problems = Problems()

    def needs(attribute: str, holds: bool, allowed: str) -> None:
        if not holds:
            problems.add(f"{_where(file)}, {attribute}", getattr(model, attribute, Quoted("nothing")), allowed)

    name, parameters = getattr(model, "name", None), getattr(model, "parameters", None)
    is_name = isinstance(name, str) and NAME.fullmatch(name) is not None
    needs("name", is_name, "letters, digits and underscores, a letter first")
    needs("name", not (is_name and is_shipped(str(name))), "a name that no model of holmes_fit has")
    needs("label", isinstance(getattr(model, "label", None), str) and bool(model.label), "a text")
    known = isinstance(parameters, tuple) and all(isinstance(each, Parameter) for each in parameters)
    needs("parameters", known and bool(parameters), "a tuple of holmes_fit.models.parameters.Parameter")
    for attribute in ("uses_particles", "predicts_choices"):
        needs(attribute, isinstance(getattr(model, attribute, None), bool), "True or False")
    needs("p_hat", callable(getattr(model, "p_hat", None)), "a method")
    problems.raise_if_any()


def _where(file: ModelFile) -> str:
    return f"{plain(file.path, 200)}:{file.attribute}"
