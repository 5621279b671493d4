"""Libraries that are installed only with an extra of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def library(name: str, extra: str) -> Any:
    """Import a library, or say how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise  # something else that the library needs
        message = f"this needs {package}, which is not installed: pip install 'covey[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from None
