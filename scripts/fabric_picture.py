"""Draws how busy a trace keeps the links of a FatTree, as an SVG picture on standard output.

    scripts/fabric_picture.py LINKS.csv

The file is that of `covey trace info --fabric fat-tree:... --per-link LINKS.csv`. The tree is
unfolded: flows go from the senders at the top to the cores in the middle, and on to the receivers.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

TIERS = ("host up", "edge up", "agg up", "agg down", "edge down", "host down")
ROWS = (
    "senders",
    "edge switches",
    "aggregation",
    "cores",
    "aggregation",
    "edge switches",
    "receivers",
)
KINDS = ("host", "edge", "agg", "core", "agg", "edge", "host")
LEFT, RIGHT, TOP, STEP, BOTTOM = 180, 20, 34, 84, 60
WIDTH = 1120
LIGHT, DARK = (205, 214, 222), (190, 30, 20)
"""Colours of a link that is never busy, and of the busiest link."""


def colour(share: float) -> str:
    """The colour of a link that is busy for this share of the busiest link's time."""
    mixed = (round(a + (b - a) * share) for a, b in zip(LIGHT, DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ends(tier: int, name: str, counts: dict[str, int]) -> tuple[int, int]:
    """The numbers of the nodes at both ends of a link, the upper one first."""
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    edge = numbers[0] * counts["edge"] // counts["host"]
    return (numbers[0], edge) if tier == 0 else (edge, numbers[0])


def picture(path: Path) -> str:
    """The picture of the links of a file."""
    with path.open() as table:
        links = list(csv.DictReader(table))
    counts: dict[str, int] = defaultdict(int)
    by_tier: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for link in links:
        by_tier[link["tier"]].append((float(link["busy_s"]), link["link"]))
        for kind, number in re.findall(r"(host|edge|agg|core) (\d+)", link["link"]):
            counts[kind] = max(counts[kind], int(number) + 1)
    if tuple(by_tier) != TIERS or not all(re.search(r"\d", link["link"]) for link in links):
        sys.exit(f"{path}: expected the links of a FatTree without spraying")
    most = max(float(link["busy_s"]) for link in links) or 1.0

    def x(row: int, number: int) -> float:
        return LEFT + (number + 0.5) / counts[KINDS[row]] * (WIDTH - LEFT - RIGHT)

    height = TOP + 6 * STEP + BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' font-family="sans-serif" font-size="12" fill="#1a1a1a">',
        "<title>How busy each link of a FatTree is</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for tier, name in enumerate(TIERS):
        y = TOP + tier * STEP
        # The busiest links are drawn last, above the others.
        for busy_s, link in sorted(by_tier[name]):
            above, below = ends(tier, link, counts)
            share = busy_s / most
            out.append(
                f'<path d="M{x(tier, above):.1f} {y}L{x(tier + 1, below):.1f} {y + STEP}"'
                f' stroke="{colour(share)}" stroke-width="{0.6 + 3 * share:.2f}"/>'
            )
        mean = sum(busy_s for busy_s, _ in by_tier[name]) / len(by_tier[name])
        words = (name, f"mean {mean:,.0f} s", f"max {max(by_tier[name])[0]:,.0f} s")
        out += [
            f'<text x="12" y="{y + STEP / 2 - 12 + 16 * line:.0f}">{text}</text>'
            for line, text in enumerate(words)
        ]
    for row, name in enumerate(ROWS):
        y = TOP + row * STEP
        size = min(14.0, 0.7 * (WIDTH - LEFT - RIGHT) / counts[KINDS[row]])
        out += [
            f'<rect x="{x(row, number) - size / 2:.1f}" y="{y - 4}" width="{size:.1f}" height="8"/>'
            for number in range(counts[KINDS[row]])
        ]
        out.append(
            f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end" font-weight="bold">{name}</text>'
        )
    y = TOP + 6 * STEP + 36
    for step in range(11):
        x0, fill = LEFT + 40 * step, colour(step / 10)
        out.append(f'<rect x="{x0}" y="{y - 10}" width="40" height="10" fill="{fill}"/>')
    out += [
        f'<text x="{LEFT - 12}" y="{y}" text-anchor="end">busy for 0 s</text>',
        f'<text x="{LEFT + 452}" y="{y}">{most:,.0f} s</text>',
        "</svg>",
    ]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture(Path(sys.argv[1])))
