"""Plots have labelled axes with units, and draw what was measured."""

import covey
import pytest

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
    heights = [bar.get_height() for bar in axes.patches]
    table = comparison.by_bin
    expected = [
        speedup
        for policy, speedup in zip(table["policy"], table["speedup"], strict=True)
        if policy != "fair"
    ]
    assert heights == pytest.approx(expected, nan_ok=True)


def test_gantt(tiny: covey.Trace) -> None:
    result = covey.simulate(tiny, "fifo", port_rate="8mbps", timeline=True)
    axes = plots.gantt(result)
    assert axes.get_xlabel() == "time since the start of the trace (s)"
    assert axes.get_ylabel() == "sending port"
    spans = result.timeline
    lengths = sum(spans["end_s"]) - sum(spans["start_s"])
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(lengths)
    assert len(plots.gantt(result, ports=[2]).patches) < len(axes.patches)


def test_sensitivity(hour: covey.Trace) -> None:
    rows = covey.sweep({"trace": hour, "policy": "aalo", "K": [2, 5, 10]})
    axes = plots.sensitivity(rows, "K")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("K", "mean cct (s)")
    assert list(axes.get_lines()[0].get_ydata()) == rows["mean_cct_s"]
