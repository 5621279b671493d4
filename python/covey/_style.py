"""How policies look in plots: as in the page of ``covey compare --report``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from covey._core import page_styles

if TYPE_CHECKING:
    from collections.abc import Iterable

BASELINE = "fair"
"""The baseline where none is named."""


class Style(NamedTuple):
    """A colour, and dashes as matplotlib takes them, in widths of the line."""

    colour: str
    dashes: tuple[float, list[float]] | str


def styles(labels: Iterable[str], baseline: str = BASELINE) -> dict[str, Style]:
    """Give each policy its style: its own colour, and a line without gaps for the baseline."""
    names = list(labels)
    looks = page_styles(names, names.index(baseline) if baseline in names else None)
    return {
        name: Style(colour, (0.0, dashes) if dashes else "solid")
        for name, (colour, dashes) in zip(names, looks, strict=True)
    }
