"""Plots have labelled axes with units, and draw the measured values."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import covey
import pytest
from conftest import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("agg")

from covey import plots  # noqa: E402


@pytest.fixture(scope="module")
def comparison(hour: covey.Trace) -> covey.Comparison:
    return covey.compare(hour, "fair,sebf,aalo")


def test_cdf_of_cct(comparison: covey.Comparison) -> None:
    axes = plots.cct_cdf(comparison)
    assert axes.get_xlabel() == "coflow completion time (s)"
    assert axes.get_ylabel() == "share of coflows"
    drawn = axes.get_lines()[1].get_xdata()
    assert list(drawn) == sorted(comparison["sebf"].per_coflow["cct_s"])


def test_cdf_of_speedup(comparison: covey.Comparison) -> None:
    axes = plots.speedup_cdf(comparison)
    assert axes.get_xlabel().startswith("speed-up over fair (times")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["sebf", "aalo"]


def test_bars_by_bin(comparison: covey.Comparison) -> None:
    axes = plots.bins(comparison)
    assert "(times)" in axes.get_ylabel()
    tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
    table = comparison.by_bin
    expected = [
        speedup
        for policy, speedup in zip(table["policy"], table["speedup"], strict=True)
        if policy != "fair"
    ]
    assert tops == pytest.approx(expected, nan_ok=True)
    assert {bar.get_y() for bar in axes.patches} == {1}


def test_bars_of_means_are_on_a_logarithmic_axis(comparison: covey.Comparison) -> None:
    axes = plots.bins(comparison, "mean_cct_s")
    assert axes.get_ylabel() == "mean CCT (s)"
    assert axes.get_yscale() == "log"
    tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
    expected = comparison.by_bin["mean_cct_s"]
    assert max(expected) > 10 * min(expected)
    assert tops == pytest.approx(expected)
    # Means within one decade need no logarithmic axis.
    alike = covey.compare(covey.parse_trace(TINY), ["fair", "sebf"])
    assert plots.bins(alike).get_yscale() == "linear"


def drawn(axes: Axes) -> list[tuple[float, float, float, float, tuple[float, ...]]]:
    """Bars of a Gantt chart: start, end, bottom, top, colour."""
    (bars,) = axes.collections
    paths = zip(bars.get_paths(), bars.get_facecolor(), strict=True)
    boxes = ((path.get_extents(), tuple(colour)) for path, colour in paths)
    return [(box.x0, box.x1, box.y0, box.y1, colour) for box, colour in boxes]


def test_gantt(tiny: covey.Trace) -> None:
    result = covey.simulate(tiny, "fifo", port_rate="8mbps", timeline=True)
    axes = plots.gantt(result)
    assert axes.get_xlabel() == "time since the start of the trace (s)"
    assert axes.get_ylabel() == "sending port"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "2"]
    spans = result.timeline
    megabit = 1e6
    sent = [
        (end - start) * rate / megabit
        for start, end, rate in zip(
            *(spans[name] for name in ("start_s", "end_s", "bytes_per_s")), strict=True
        )
    ]
    area = [(end - start) * (top - bottom) for start, end, bottom, top, _ in drawn(axes)]
    # A port's whole height is 0.8, and its speed 1 MB/s; times are drawn in columns.
    assert sum(area) == pytest.approx(0.8 * sum(sent), rel=0.01)
    assert len(drawn(plots.gantt(result, ports=[2]))) < len(drawn(axes))
    assert drawn(plots.gantt(result, coflows=[])) == []


def test_gantt_shows_short_and_shared_spans() -> None:
    flows = {
        "coflow": ["long", "other", "short"],
        "arrival_s": [0.0, 0.0, 3000.0],
        "src": [0, 0, 1],
        "dst": [1, 2, 0],
        "bytes": [125e9, 125e9, 125.0],
    }
    result = covey.simulate(covey.Trace.from_flows(flows), "fair", timeline=True)
    long, other, short = sorted(drawn(plots.gantt(result)), key=lambda bar: (bar[0], bar[2]))
    assert long[:2] == other[:2] == pytest.approx((0, 2000), abs=3)
    # One half of the port above the other.
    assert (long[2], long[3], other[3]) == pytest.approx((-0.4, 0.0, 0.4))
    assert other[2] == pytest.approx(long[3])
    assert len({long[4], other[4], short[4]}) == 3
    # A microsecond of 3000 seconds has a whole column.
    assert short[1] - short[0] == pytest.approx(3)
    assert short[3] - short[2] == pytest.approx(0.8)


def test_gantt_of_many_spans_is_quick() -> None:
    trace = covey.generate("fb-like", seed=2, coflows=200, ports=40, duration_s=300)
    result = covey.simulate(trace, "aalo:queues=strict,delta=0", timeline=True)
    assert len(result.timeline) > 100_000
    begin = time.process_time()
    plots.gantt(result).figure.canvas.draw()
    assert time.process_time() - begin < 5


def test_policies_look_as_in_the_page(hour: covey.Trace) -> None:
    policies = ["sebf", "fair", *(f"aalo:K={queues}" for queues in range(2, 12))]
    comparison = covey.compare(hour, policies, baseline="fair")
    expected = dict(zip(policies, covey._core.page_styles(policies, 1), strict=True))
    for axes in (plots.cct_cdf(comparison), plots.speedup_cdf(comparison)):
        lines = [line for line in axes.get_lines() if line.get_label() in expected]
        assert len(lines) >= len(policies) - 1
        for line in lines:
            colour, dashes = expected[line.get_label()]
            assert line.get_color() == colour
            drawn_dashes = line._unscaled_dash_pattern[1] or []  # type: ignore[attr-defined]
            assert drawn_dashes == pytest.approx(dashes)
    bars = plots.bins(comparison).containers
    assert [bar.get_label() for bar in bars] == ["sebf", *policies[2:]]
    found = [matplotlib.colors.to_hex(bar[0].get_facecolor()) for bar in bars]
    assert found == [expected[bar.get_label()][0] for bar in bars]
    rows = covey.sweep({"trace": hour, "policy": "aalo:K=5", "E": [2, 5]})
    (line,) = plots.sensitivity(rows, "E", like=comparison).get_lines()
    assert line.get_color() == expected["aalo:K=5"][0]


def test_coinciding_curves_can_be_distinguished(hour: covey.Trace) -> None:
    lines = plots.cct_cdf(covey.compare(hour, ["fair", "sebf", "sebf:share=madd"])).get_lines()
    assert list(lines[1].get_xdata()) == list(lines[2].get_xdata())
    # The curve behind is wider, and the curve in front has other gaps.
    assert lines[1].get_linewidth() > lines[2].get_linewidth()
    assert lines[1]._unscaled_dash_pattern != lines[2]._unscaled_dash_pattern


def test_sensitivity(hour: covey.Trace) -> None:
    rows = covey.sweep({"trace": hour, "policy": "aalo", "K": [2, 5, 10]})
    axes = plots.sensitivity(rows, "K")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("K", "mean CCT (s)")
    assert list(axes.get_lines()[0].get_ydata()) == rows["mean_cct_s"]
