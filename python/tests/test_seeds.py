"""Comparisons over seeds, which are those of the command line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import covey
import pytest

TRACE = "builtin:fb-like:coflows=20,ports=10"
POLICIES = "fair,fifo,sebf"


def without_wall(summary: Any) -> Any:
    """Take out what differs from run to run."""
    for run in summary["runs"]:
        for result in run["results"]:
            del result["wall_s"]
    return summary


def test_seeds_are_those_of_the_command() -> None:
    found = covey.compare(TRACE, POLICIES, seeds=3, seed=5)
    command = [sys.executable, "-m", "covey", "compare", TRACE, "--policies", POLICIES]
    command += ["--seeds", "3", "--seed", "5", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert without_wall(found.summary()) == without_wall(told)
    assert (found.seeds, found.baseline) == ([5, 6, 7], "fair")
    assert found.ranking.startswith("sebf ")


def test_the_table_has_the_intervals(tmp_path: Path) -> None:
    found = covey.compare(TRACE, POLICIES, seeds=3)
    summary = found.summary()
    table = found.table
    assert table["policy"] == ["fair", "fifo", "sebf"]
    low, high = table["speedup_low"], table["speedup_high"]
    assert (low[0], high[0]) == (None, None)
    interval = summary["speedups"][2]["interval"]
    assert (low[2], high[2]) == (interval["low"], interval["high"])
    assert low[2] < table["speedup_of_mean"][2] < high[2]
    rows = found.by_seed
    assert (len(rows), rows["seed"][:3]) == (9, [1.0, 2.0, 3.0])
    one = covey.compare(TRACE, POLICIES, seed=2).table["speedup_of_mean"]
    assert [rows["speedup"][k] for k in (1, 4, 7)] == one
    assert "Order by mean CCT" in str(found)
    assert "Order by mean CCT" in found._repr_html_()
    found.report(tmp_path / "page.html")
    assert "seed by seed" in (tmp_path / "page.html").read_text()


def test_seeds_that_change_nothing_are_refused(tiny: covey.Trace) -> None:
    made = covey.generate("fb-like", coflows=20)
    for trace in (tiny, made, f"{TRACE},seed=1"):
        with pytest.raises(covey.InputError, match="the same for every seed"):
            covey.compare(trace, POLICIES, seeds=3)
    assert len(covey.compare(tiny, ["fair", "philae:ports=random"], seeds=2).seeds) == 2
    with pytest.raises(covey.InputError, match="a number from 2 to 1000, found 1"):
        covey.compare(TRACE, POLICIES, seeds=1)
    with pytest.raises(covey.InputError, match="seeds: expected none with timeline"):
        covey.compare(TRACE, POLICIES, seeds=2, timeline=True)
