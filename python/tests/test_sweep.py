"""Sweeps, on every engine."""

import json
from pathlib import Path
from typing import get_args

import covey
import pytest
from covey._sweep import Engine
from policies import LeastServed

GRID = {
    "trace": [covey.generate("fb-like", coflows=10), "builtin:fb-like:coflows=12"],
    "policy": "aalo",
    "K": [2, 5],
    "seed": [1, 2],
}


pytestmark = pytest.mark.filterwarnings("ignore:grid. seed. 4 of 8 rows")


def without_time(frame: covey.Frame) -> dict[str, list[object]]:
    return {name: frame[name] for name in frame.columns if name != "wall_s"}


@pytest.mark.parametrize("engine", get_args(Engine))
def test_rows_are_those_of_single_runs(engine: Engine) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed")
    if engine == "dask":
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    frame = covey.sweep(GRID, engine=engine, jobs=2)
    assert len(frame) == 8
    assert frame["K"] == [2, 2, 5, 5] * 2
    assert frame["seed"] == [1, 2] * 4
    for place in (0, 2):
        summary = covey.simulate(GRID["trace"][0], f"aalo:K={frame['K'][place]}").summary()
        assert frame["mean_cct_s"][place] == summary["cct_s"]["mean"]
    assert frame["trace"][7] == "builtin:fb-like:coflows=12,seed=2"
    assert without_time(frame) == without_time(covey.sweep(GRID, jobs=1))


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    whole = covey.sweep(GRID, resume=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    # Known results are not simulated again; a line that was cut off is.
    known = json.loads(lines[0])
    known["row"]["events"] = -1
    path.write_text(json.dumps(known) + "\n" + lines[1] + lines[2][:20])
    again = covey.sweep(GRID, resume=path)
    assert sorted(again["events"])[0] == -1
    assert sorted(again["mean_cct_s"]) == sorted(whole["mean_cct_s"])
    assert covey.sweep(GRID, resume=path)["events"] == again["events"]


def test_classes_take_parameters() -> None:
    trace = covey.generate("fb-like", coflows=10)
    frame = covey.sweep(
        {"trace": trace, "policy": LeastServed, "step": [1e10, 1e11], "bound": True}
    )
    assert frame["policy"] == ["LeastServed"] * 2
    expected = covey.simulate(trace, LeastServed(step=1e11)).summary()["cct_s"]["mean"]
    assert frame["mean_cct_s"][1] == expected
    assert frame["lower_bound_mean_cct_s"][0] > 0


def test_weights_of_tenants_are_values_of_a_grid() -> None:
    trace = covey.Trace.from_flows(
        {
            "coflow": ["a", "b"],
            "arrival_s": [0, 0],
            "src": [0, 0],
            "dst": [1, 2],
            "bytes": [375e6, 125e6],
            "tenant": ["analytics", "serving"],
        }
    )
    grid = {"trace": trace, "policy": "sebf", "tenants": {"analytics": 3, "serving": 1}}
    assert covey.sweep(grid)["mean_cct_s"] == pytest.approx([4])
    frame = covey.sweep({**grid, "tenants": [None, grid["tenants"]]})
    assert frame["mean_cct_s"] == pytest.approx([2.5, 4])
    assert frame["tenants"] == [None, "analytics=3,serving=1"]


def test_a_grid_needs_a_trace_and_a_policy() -> None:
    with pytest.raises(covey.InputError, match="grid: expected 'policy' among the names"):
        covey.sweep({"trace": "builtin:fb-like"})
    with pytest.raises(covey.InputError, match="unknown parameter 'k'"):
        covey.sweep({"trace": "builtin:fb-like:coflows=5", "policy": "aalo", "k": 1})


def test_equal_rows_of_several_seeds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("2 1\n7 0 1 0 1 1:1\n")
    grid = {"trace": path, "policy": "philae", "seed": [1, 2]}
    with pytest.raises(covey.InputError, match="grid: seed: 2 of 2 rows do not depend on the seed"):
        covey.sweep(grid)
    assert len(covey.sweep({**grid, "ports": "random"})) == 2
    assert len(covey.sweep({**grid, "seed": 1})) == 1
    with pytest.warns(UserWarning, match="grid: seed: 2 of 4 rows"):
        covey.sweep({**grid, "policy": ["fair", "philae:ports=random"]})
