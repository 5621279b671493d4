"""Policies that the command line names: classes in files, and those that installed packages offer."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import traceback
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from covey._core import InputError
from covey._policy import Policy, prepared

GROUP = "covey.policies"
"""The entry points by which a package offers policies."""


def make(spec: str) -> tuple[str, list[tuple[str, str]], Policy] | None:
    """Make the policy that a text names: ``mine.py:LeastServed,K=2``, or a package's ``name:K=2``."""
    name, _, rest = spec.partition(":")
    given = rest.split(",") if rest else []
    if name.endswith(".py"):
        kind = in_file(Path(name), given.pop(0) if given else "")
    else:
        offered = [*entry_points(group=GROUP, name=name)]
        if not offered:
            return None
        kind = offered[0].load()
    try:
        made = kind(**dict(argument(spec, item) for item in given))
    except TypeError as error:
        message = f"{spec}: {error}"
        raise InputError(message) from error
    ready = prepared(made)
    assert not isinstance(ready, str), "an instance was made"
    return spec, ready[1], ready[2]


def in_file(file: Path, name: str) -> type[Policy]:
    """Give the class of a file."""
    if not file.is_file():
        message = f"{file}: expected a file of Python, found none"
        raise InputError(message)
    module = ModuleType(file.stem)
    found = importlib.util.spec_from_file_location(file.stem, file)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        sys.modules[file.stem] = module
        # As for a program, what stands beside it can be imported.
        sys.path.insert(0, str(file.parent.resolve()))
        try:
            found.loader.exec_module(module)
        except Exception as error:
            message = f"{file}: {where(error)}"
            raise InputError(message) from error
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value is not Policy
    }
    if name not in classes:
        close = difflib.get_close_matches(name, classes, n=1)
        hint = f": did you mean '{close[0]}'?" if close else ""
        known = ", ".join(classes) or "none"
        message = (
            f"{file}: expected a class derived from covey.Policy ({known}), found '{name}'{hint}"
        )
        raise InputError(message)
    return classes[name]


def argument(spec: str, item: str) -> tuple[str, object]:
    """Give the name and the value of ``K=2``: a literal of Python, or else a text."""
    name, equals, text = item.partition("=")
    if not equals:
        message = f"{spec}: found '{item}': expected key=value"
        raise InputError(message)
    try:
        return name, ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return name, text


def where(error: BaseException) -> str:
    """Say in a line where an exception was raised, and what it says."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename]
    place = f"{own[-1].filename}, line {own[-1].lineno}: " if own else ""
    says = " ".join(str(error).split())
    return f"{place}{type(error).__name__}: {says}"
