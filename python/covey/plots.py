"""Plots of what simulations found. They need matplotlib (``pip install 'covey[plot]'``).

Each draws on `axes`, or on new ones, and returns them. In every plot of a comparison a policy has the
colour and the dashes that it has in the page of ``covey compare --report``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from covey._core import Comparison, Frame, Result
from covey._extras import library
from covey._style import BASELINE, Style, styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

plt = library("matplotlib.pyplot", "plot")

__all__ = ["bins", "cct_cdf", "gantt", "sensitivity", "speedup_cdf"]

BITS = 8
"""Of a byte."""
COLUMNS = 1000
"""Parts of the time in a drawing of the ports that send; shorter spans cannot be seen."""
HEIGHT = 0.8
"""Of a port in such a drawing, in distances between ports."""
MAX_TICKS = 30
"""Ports that have room for their numbers."""
DECADE = 10
"""Values that are further apart than this are drawn on a logarithmic axis."""


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    made: Axes = plt.subplots(figsize=(7, 4), layout="constrained")[1]
    return made


def _results(what: Comparison | Result | Iterable[Result]) -> list[Result]:
    if isinstance(what, Result):
        return [what]
    return [what[place] for place in range(len(what))] if isinstance(what, Comparison) else [*what]


def _styles(what: Comparison | list[Result]) -> dict[str, Style]:
    baseline = what.baseline if isinstance(what, Comparison) else BASELINE
    return styles([result.label for result in _results(what)], baseline)


def _line(style: Style, number: int) -> dict[str, Any]:
    """Draw a curve: thinner than those before it, which can be seen where they coincide."""
    return {
        "color": style.colour,
        "linestyle": style.dashes,
        "linewidth": max(3.2 - 0.4 * number, 1.2),
    }


def _cdf(axes: Axes, values: Sequence[float], label: str, line: dict[str, Any]) -> None:
    """Draw the share of values up to each; on a logarithmic axis, where zero has no place."""
    shares = [(rank + 1) / len(values) for rank in range(len(values))]
    steps = [
        (value, share) for value, share in zip(sorted(values), shares, strict=True) if value > 0
    ]
    places, shares = [value for value, _ in steps], [share for _, share in steps]
    axes.step(places, shares, where="post", label=label, **line)


def _as_cdf(axes: Axes) -> Axes:
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of coflows")
    axes.grid(alpha=0.3)
    axes.legend(handlelength=3.5)
    return axes


def cct_cdf(results: Comparison | Result | Iterable[Result], *, axes: Axes | None = None) -> Axes:
    """Share of coflows (0 to 1) that are complete after a time (seconds, logarithmic)."""
    axes = _axes(axes)
    what = results if isinstance(results, Comparison) else _results(results)
    of = _styles(what)
    for number, result in enumerate(_results(what)):
        line = _line(of[result.label], number)
        _cdf(axes, result.per_coflow["cct_s"], result.label, line)
    axes.set_xlabel("coflow completion time (s)")
    return _as_cdf(axes)


def speedup_cdf(comparison: Comparison, *, axes: Axes | None = None) -> Axes:
    """Share of coflows whose CCT under the baseline is at most so many times that under a policy."""
    axes = _axes(axes)
    speedups = comparison.speedups
    of_policy: dict[str, list[float]] = {}
    for policy, speedup in zip(speedups["policy"], speedups["speedup"], strict=True):
        of_policy.setdefault(policy, []).append(speedup)
    of = _styles(comparison)
    for number, (policy, values) in enumerate(of_policy.items()):
        if policy != comparison.baseline:
            _cdf(axes, values, policy, _line(of[policy], number))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"speed-up over {comparison.baseline} (times; right of 1 is faster)")
    return _as_cdf(axes)


def bins(
    comparison: Comparison,
    y: Literal["speedup", "mean_cct_s"] = "speedup",
    *,
    axes: Axes | None = None,
) -> Axes:
    """Mean CCT by kind of coflow (Aalo, Table 3): the speed-up over the baseline's, or seconds.

    The axis is logarithmic where values are more than ten times apart. Bars of speed-ups begin at 1:
    upwards is faster than the baseline, downwards slower.
    """
    axes = _axes(axes)
    table = comparison.by_bin
    names = list(dict.fromkeys(table["bin"]))
    is_speedup = y == "speedup"
    of = _styles(comparison)
    policies = [policy for policy in of if not is_speedup or policy != comparison.baseline]
    rows = zip(table["policy"], table["bin"], table[y], strict=True)
    values = {(policy, name): value for policy, name, value in rows}
    shown = [value for (policy, _), value in values.items() if policy in policies and value > 0]
    is_log = bool(shown) and max(shown) > DECADE * min(shown)
    start = 1.0 if is_speedup else 0.5 * min(shown, default=1.0) if is_log else 0.0
    width = 0.8 / max(len(policies), 1)
    for number, policy in enumerate(policies):
        left = [place - 0.4 + (number + 0.5) * width for place in range(len(names))]
        heights = [values[policy, name] - start for name in names]
        axes.bar(left, heights, width, bottom=start, label=policy, color=of[policy].colour)
    if is_log:
        axes.set_yscale("log")
    if is_speedup:
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_ylabel(f"speed-up of the mean CCT\nover {comparison.baseline} (times)")
    else:
        axes.set_ylabel("mean CCT (s)")
    counts = dict(zip(table["bin"], table["coflows"], strict=True))
    axes.set_xticks(range(len(names)), [f"{name}\n{counts[name]} coflows" for name in names])
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    return axes


def gantt(
    result: Result,
    *,
    ports: Iterable[int] | None = None,
    coflows: Iterable[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """The ports that send at each time (seconds): a colour a coflow, the higher the faster.

    Coflows that share a port are stacked in the order of the trace. Needs
    ``simulate(..., timeline=True)``. `ports` and `coflows` show only some.
    """
    axes = _axes(axes)
    meant = None if ports is None else set(ports), None if coflows is None else set(coflows)
    drawn = result._drawing(*meant, COLUMNS)
    bars = [*zip(*(drawn[name] for name in drawn.columns), strict=True)]
    first = sorted(bars, key=lambda bar: bar[2])
    shown = list(dict.fromkeys(coflow for coflow, *_ in first))
    colours = plt.get_cmap("tab10" if len(shown) <= 10 else "tab20").colors
    of = {coflow: colours[number % len(colours)] for number, coflow in enumerate(shown)}
    rows = {port: place for place, port in enumerate(sorted({bar[1] for bar in bars}))}
    shapes = library("matplotlib.collections", "plot").PolyCollection(
        [_bar(start, end, rows[port], low, high) for _, port, start, end, low, high in bars],
        facecolors=[of[bar[0]] for bar in bars],
        linewidths=0,
    )
    axes.add_collection(shapes)
    axes.autoscale_view()
    axes.set_xlabel("time since the start of the trace (s)")
    axes.set_ylabel("sending port")
    if len(rows) <= MAX_TICKS:
        axes.set_yticks(range(len(rows)), [str(port) for port in rows])
    if 0 < len(of) <= len(colours):
        keys = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in of.values()]
        axes.legend(
            keys,
            [*of],
            title="coflow",
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            ncols=1 + len(of) // 11,
        )
    return axes


def _bar(start: float, end: float, row: int, low: float, high: float) -> list[tuple[float, float]]:
    bottom, top = (row + HEIGHT * (share - 0.5) for share in (low, high))
    return [(start, bottom), (start, top), (end, top), (end, bottom)]


def sensitivity(
    rows: Frame,
    x: str,
    y: str = "mean_cct_s",
    *,
    by: str = "policy",
    like: Comparison | None = None,
    axes: Axes | None = None,
) -> Axes:
    """What becomes of `y` as `x` changes, of the rows of `sweep`; a curve for each value of `by`.

    Points are means over all else that was swept (seeds, traces); the band goes from the least to
    the greatest. `y` is in the unit of its name. Policies of the comparison `like` look as in its
    plots.
    """
    axes = _axes(axes)
    found: dict[object, dict[Any, list[float]]] = {}
    for curve, place, value in zip(rows[by], rows[x], rows[y], strict=True):
        found.setdefault(curve, {}).setdefault(place, []).append(value)
    known = {} if like is None else _styles(like)
    of = styles([*known, *(str(curve) for curve in found if str(curve) not in known)]) | known
    for number, (curve, points) in enumerate(found.items()):
        places = sorted(points, key=lambda place: (isinstance(place, str), place))
        means = [sum(points[place]) / len(points[place]) for place in places]
        line = _line(of[str(curve)], number)
        axes.plot(places, means, marker="o", label=str(curve), **line)
        low, high = ([pick(points[place]) for place in places] for pick in (min, max))
        axes.fill_between(places, low, high, color=line["color"], alpha=0.15)
    axes.set_xlabel(x)
    axes.set_ylabel(_with_unit(y))
    axes.grid(alpha=0.3)
    axes.legend(title=by, handlelength=3.5)
    return axes


def _with_unit(name: str) -> str:
    """Write ``mean_cct_s`` as people do."""
    *words, unit = name.split("_")
    words = [word.upper() if word in ("cct", "fct") else word for word in words]
    return f"{' '.join(words)} ({unit})" if unit in ("s", "bytes") else name
