"""Plots of what simulations found. They need matplotlib (``pip install covey[plot]``).

Each draws on `axes`, or on new ones, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt

from covey._core import Comparison, Frame, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

BITS = 8
"""Of a byte."""


def _axes(axes: Axes | None) -> Axes:
    return plt.subplots(figsize=(7, 4), layout="constrained")[1] if axes is None else axes


def _results(what: Comparison | Result | Iterable[Result]) -> list[Result]:
    if isinstance(what, Result):
        return [what]
    return [what[place] for place in range(len(what))] if isinstance(what, Comparison) else [*what]


def _cdf(axes: Axes, values: Sequence[float], label: str) -> None:
    """Draw the share of values up to each; on a logarithmic axis, where zero has no place."""
    shares = [(rank + 1) / len(values) for rank in range(len(values))]
    steps = [
        (value, share) for value, share in zip(sorted(values), shares, strict=True) if value > 0
    ]
    axes.step(
        [value for value, _ in steps], [share for _, share in steps], where="post", label=label
    )


def _as_cdf(axes: Axes) -> Axes:
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of coflows")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes


def cct_cdf(results: Comparison | Result | Iterable[Result], *, axes: Axes | None = None) -> Axes:
    """Share of coflows (0 to 1) that are complete after a time (seconds, logarithmic)."""
    axes = _axes(axes)
    for result in _results(results):
        _cdf(axes, result.per_coflow["cct_s"], result.label)
    axes.set_xlabel("coflow completion time (s)")
    return _as_cdf(axes)


def speedup_cdf(comparison: Comparison, *, axes: Axes | None = None) -> Axes:
    """Share of coflows whose CCT under the baseline is at most so many times that under a policy."""
    axes = _axes(axes)
    speedups = comparison.speedups
    of_policy: dict[str, list[float]] = {}
    for policy, speedup in zip(speedups["policy"], speedups["speedup"], strict=True):
        of_policy.setdefault(policy, []).append(speedup)
    for policy, values in of_policy.items():
        if policy != comparison.baseline:
            _cdf(axes, values, policy)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"speed-up over {comparison.baseline} (times; right of 1 is faster)")
    return _as_cdf(axes)


def bins(comparison: Comparison, *, axes: Axes | None = None) -> Axes:
    """Speed-up of the mean CCT over the baseline's, by kind of coflow (Aalo, Table 3)."""
    axes = _axes(axes)
    table = comparison.by_bin
    names = list(dict.fromkeys(table["bin"]))
    policies = [
        policy for policy in dict.fromkeys(table["policy"]) if policy != comparison.baseline
    ]
    rows = zip(table["policy"], table["bin"], table["speedup"], strict=True)
    speedup = {(policy, name): value for policy, name, value in rows}
    width = 0.8 / max(len(policies), 1)
    for number, policy in enumerate(policies):
        left = [place - 0.4 + (number + 0.5) * width for place in range(len(names))]
        axes.bar(left, [speedup[policy, name] for name in names], width, label=policy)
    axes.axhline(1, color="black", linewidth=0.8)
    counts = dict(zip(table["bin"], table["coflows"], strict=True))
    axes.set_xticks(range(len(names)), [f"{name}\n{counts[name]} coflows" for name in names])
    axes.set_ylabel(f"speed-up of the mean CCT\nover {comparison.baseline} (times)")
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
    """Who sends when: time (seconds) by sending port, a colour a coflow, the stronger the faster.

    Needs ``simulate(..., timeline=True)``. `ports` and `coflows` show only some.
    """
    axes = _axes(axes)
    spans = result.timeline
    meant_ports = None if ports is None else set(ports)
    meant = None if coflows is None else set(coflows)
    rows = [
        (coflow, port, start, end - start, rate)
        for coflow, port, start, end, rate in zip(
            *(spans[name] for name in spans.columns), strict=True
        )
        if (meant_ports is None or port in meant_ports) and (meant is None or coflow in meant)
    ]
    colours = plt.get_cmap("tab20").colors  # type: ignore[attr-defined]
    order = list(dict.fromkeys(row[0] for row in sorted(rows, key=lambda row: row[2])))
    fastest = result.summary()["port_rate_bps"] / BITS
    for number, coflow in enumerate(order):
        own = [row for row in rows if row[0] == coflow]
        axes.barh(
            [row[1] for row in own],
            [row[3] for row in own],
            left=[row[2] for row in own],
            height=0.8,
            # Paler where a coflow has less than the whole port.
            color=[
                (*colours[number % len(colours)], 0.15 + 0.85 * min(row[4] / fastest, 1.0))
                for row in own
            ],
            label=coflow if len(order) <= len(colours) else None,
        )
    axes.set_xlabel("time since the start of the trace (s)")
    axes.set_ylabel("sending port")
    if 0 < len(order) <= len(colours):
        axes.legend(title="coflow", loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def sensitivity(
    rows: Frame,
    x: str,
    y: str = "mean_cct_s",
    *,
    by: str = "policy",
    axes: Axes | None = None,
) -> Axes:
    """What becomes of `y` as `x` changes, of the rows of `sweep`; a curve for each value of `by`.

    Points are means over all else that was swept (seeds, traces); the band goes from the least to
    the greatest. `y` is in the unit of its name.
    """
    axes = _axes(axes)
    found: dict[object, dict[Any, list[float]]] = {}
    for curve, place, value in zip(rows[by], rows[x], rows[y], strict=True):
        found.setdefault(curve, {}).setdefault(place, []).append(value)
    for curve, points in found.items():
        places = sorted(points, key=lambda place: (isinstance(place, str), place))
        line = axes.plot(
            places, [sum(points[p]) / len(points[p]) for p in places], marker="o", label=str(curve)
        )
        axes.fill_between(
            places,
            [min(points[p]) for p in places],
            [max(points[p]) for p in places],
            color=line[0].get_color(),
            alpha=0.15,
        )
    axes.set_xlabel(x)
    axes.set_ylabel(_with_unit(y))
    axes.grid(alpha=0.3)
    axes.legend(title=by)
    return axes


def _with_unit(name: str) -> str:
    """Write ``mean_cct_s`` as people do."""
    words, _, unit = name.rpartition("_")
    return f"{words.replace('_', ' ')} ({unit})" if unit in ("s", "bytes") else name
