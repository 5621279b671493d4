"""How policies look in plots: as in the page of ``covey compare --report``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from covey._core import STYLE_SHEET

if TYPE_CHECKING:
    from collections.abc import Iterable

BASELINE = "fair"
"""The baseline where none is named."""

LIGHT = STYLE_SHEET.partition("@media")[0]
COLOURS = re.findall(r"--c\d+: (#\w+)", LIGHT)
TEXT = re.findall(r"--text: (#\w+)", LIGHT)[0]
STROKE = float(re.findall(r"\.curve {[^}]*stroke-width: ([\d.]+)", STYLE_SHEET)[0])
DASHES = [
    [float(length) / STROKE for length in dash.split()]
    for dash in re.findall(r"\.curve\.d\d+ {[^}]*stroke-dasharray: ([\d. ]+)", STYLE_SHEET)
]


class Style(NamedTuple):
    """A colour, and dashes as matplotlib takes them, in widths of the line."""

    colour: str
    dashes: tuple[float, list[float]] | str


def styles(labels: Iterable[str], baseline: str = BASELINE) -> dict[str, Style]:
    """Give each policy its style: the colour of text for the baseline, and others by their place."""
    found = {}
    others = 0
    for label in labels:
        if label == baseline:
            found[label] = Style(TEXT, "solid")
            continue
        count = len(COLOURS)
        dashes = DASHES[(others + others // count) % count]
        found[label] = Style(COLOURS[others % count], (0.0, dashes))
        others += 1
    return found
