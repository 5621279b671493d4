"""Simulations: results, comparisons, errors, Ctrl-C."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import covey
import pytest


def test_results_are_known(tiny: covey.Trace) -> None:
    result = covey.simulate(tiny, "fifo", port_rate="8mbps", bound=True)
    # 10 MB, and then 2 MB a sender into the port that the first coflow has freed.
    mb = 1.048576
    table = result.per_coflow
    assert table["cct_s"] == pytest.approx([10 * mb, 14 * mb - 0.5])
    assert "job" not in table.columns
    assert result.per_flow["fct_s"] == pytest.approx([10 * mb, 14 * mb - 0.5, 14 * mb - 0.5])
    summary = result.summary()
    assert summary["policy"] == "fifo"
    assert summary["port_rate_bps"] == 8_000_000
    assert summary["cct_s"]["mean"] >= summary["lower_bound_mean_cct_s"]
    assert "Policy fifo" in str(result)
    assert "CCT (s)" in result._repr_html_()


@pytest.mark.filterwarnings("error")
def test_defaults_are_not_warned_of(tiny: covey.Trace) -> None:
    covey.simulate(tiny, "sebf")
    covey.simulate(tiny, "sebf", cpu=1.0)
    covey.compare(tiny, "fair,sebf")


def test_a_network_with_a_core_has_its_hosts_as_ports(tiny: covey.Trace) -> None:
    fabric = "fat-tree:k=4,oversub=4"
    result = covey.simulate(tiny, "sebf", fabric=fabric, bound=True)
    summary = result.summary()
    assert (summary["fabric"], summary["ports"]) == (fabric, 16)
    assert summary["cct_s"]["mean"] > covey.simulate(tiny, "sebf").summary()["cct_s"]["mean"]
    assert summary["cct_s"]["mean"] >= summary["lower_bound_mean_cct_s"]
    with pytest.raises(covey.InputError, match="fabric: fat-tree: k: expected an even number"):
        covey.simulate(tiny, "sebf", fabric="fat-tree:k=3")
    with pytest.warns(UserWarning, match="ports on 2 hosts"):
        covey.simulate(tiny, "sebf", fabric="leaf-spine:leaves=2,spines=1,hosts=1")


def test_tenants_share_the_network() -> None:
    flows = {
        "coflow": ["a", "b"],
        "arrival_s": [0, 0],
        "src": [0, 0],
        "dst": [1, 2],
        "bytes": [375e6, 125e6],
        "tenant": ["analytics", "serving"],
    }
    trace = covey.Trace.from_flows(flows)
    result = covey.simulate(trace, "sebf", tenants={"analytics": 3, "serving": 1})
    assert result.per_coflow["cct_s"] == pytest.approx([4, 4])
    assert result.per_coflow["tenant"] == ["analytics", "serving"]
    assert [tenant["weight"] for tenant in result.summary()["tenants"]] == [3, 1]
    free = covey.simulate(trace, "sebf")
    assert free.per_coflow["cct_s"] == pytest.approx([4, 1])
    assert [tenant["mean_cct_s"] for tenant in free.summary()["tenants"]] == pytest.approx([4, 1])
    with pytest.warns(UserWarning, match="no weight is given for serving"):
        covey.simulate(trace, "fair", tenants={"analytics": 3})
    with pytest.raises(covey.InputError, match="tenants: expected a weight from"):
        covey.simulate(trace, "fair", tenants={"analytics": 0})
    with pytest.raises(
        covey.InputError, match="tenants: expected a policy that is told of coflows"
    ):
        covey.simulate(trace, "coda", tenants={"analytics": 3, "serving": 1})


def test_policies_run_on_a_rung(tmp_path: Path) -> None:
    trace = covey.generate("fb-like", coflows=40, ports=20, seed=1)
    policies = ["fair", "coda"]
    plain = covey.compare(trace, policies)
    rung = covey.compare(trace, policies, rung="contrived", seed=2)
    for policy in policies:
        assert plain[policy].per_coflow["cct_s"] != rung[policy].per_coflow["cct_s"]
    alone = covey.simulate(trace, "coda", rung="contrived", seed=2)
    assert alone.per_flow["completion_s"] == rung["coda"].per_flow["completion_s"]
    assert rung["fair"].per_flow["start_s"] == rung["coda"].per_flow["start_s"]
    assert alone.summary()["trace"].endswith(", rung contrived, seed 2")
    with pytest.raises(covey.InputError, match=r"^rung: expected .* did you mean 'mixed'\?"):
        covey.simulate(trace, "coda", rung="mixd")
    metric = tmp_path / "metric.json"
    metric.write_text('{\n"covey_metric": 0, "attributes": {}, "radius": 1, "leader_radius": 1}')
    with pytest.raises(covey.InputError, match=r"metric\.json: line 2: covey_metric: expected"):
        covey.compare(trace, ["coda"], metric=metric)


def test_a_timeline_has_senders_and_times(tiny: covey.Trace) -> None:
    result = covey.simulate(tiny, "fifo", port_rate="8mbps", timeline=True)
    spans = result.timeline
    sent: dict[str, float] = {}
    for name, start, end, rate in zip(
        *(spans[c] for c in ("coflow_id", "start_s", "end_s", "bytes_per_s")), strict=True
    ):
        sent[name] = sent.get(name, 0.0) + rate * (end - start)
    assert sent == pytest.approx({"1": 10 * 2**20, "2": 4 * 2**20})
    with pytest.raises(covey.InputError, match="timeline=True"):
        _ = covey.simulate(tiny, "fifo").timeline


def test_a_completion_time_is_explained(tiny: covey.Trace) -> None:
    result = covey.simulate(tiny, "sebf", port_rate="8mbps")
    why = result.explain("1")
    assert (why["coflow"], why["policy"]) == ("1", "sebf")
    assert sum(part["s"] for part in why["parts"]) == pytest.approx(why["cct_s"], abs=1e-9)
    assert why["cct_s"] == result.per_coflow["cct_s"][0]
    others = {part["coflow"]: part for part in why["parts"] if part["kind"] != "sending"}
    assert others["2"]["reason"]["by"] == "bottleneck"
    assert why["text"].startswith("1 took ")
    with pytest.raises(covey.InputError, match=r"^coflow: expected the id of a coflow"):
        result.explain("3")


def test_a_comparison_has_results_speedups_and_bins(hour: covey.Trace, tmp_path: Path) -> None:
    comparison = covey.compare(hour, ["fair", "sebf", "aalo:K=5"], baseline="fair")
    assert [result.label for result in (comparison[0], comparison["sebf"])] == ["fair", "sebf"]
    assert len(comparison) == 3
    assert comparison.baseline == "fair"
    base, sebf = (comparison[name].per_coflow["cct_s"] for name in ("fair", "sebf"))
    speedups = comparison.speedups
    of_sebf = [
        speedup
        for policy, speedup in zip(speedups["policy"], speedups["speedup"], strict=True)
        if policy == "sebf"
    ]
    assert of_sebf == pytest.approx([b / s for b, s in zip(base, sebf, strict=True)])
    assert sum(comparison.by_bin["coflows"]) == 3 * len(hour)
    assert comparison.summary()["speedups"][1]["policy"] == "sebf"
    assert "speed-up" in str(comparison)
    comparison.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert covey.compare(hour, "sebf, aalo:K=5, E=2")[1].label == "aalo:K=5,E=2"


def test_traces_are_taken_by_name(tmp_path: Path, tiny: covey.Trace) -> None:
    path = tmp_path / "tiny.jsonl"
    path.write_bytes(tiny.dumps())
    assert (
        covey.simulate(path, "sebf").per_coflow["cct_s"]
        == (covey.simulate(tiny, "sebf").per_coflow["cct_s"])
    )
    assert len(covey.compare(str(path), "sebf,fair")) == 2
    named = covey.simulate("builtin:fb-like:coflows=5", "sebf", seed=4)
    assert named.summary()["trace"] == "builtin:fb-like:coflows=5,seed=4"
    with pytest.raises(
        covey.InputError, match=r"trace: expected a covey\.Trace, a file, .*, found 3"
    ):
        covey.simulate(3, "sebf")  # type: ignore[arg-type]
    with pytest.raises(covey.InputError, match=r"policies: expected a list of .* found None"):
        covey.compare(tiny, None)  # type: ignore[arg-type]


def test_tables_in_notebooks_are_tables(hour: covey.Trace) -> None:
    comparison = covey.compare(hour, ["fair", "sebf"])
    for shown, cell in [
        (hour, "<th>width (flows)</th>"),
        (comparison["sebf"], "<th>CCT (s)</th>"),
        (comparison, "<th>sebf</th>"),
        (comparison.speedups, "<th>speedup</th>"),
    ]:
        page = shown._repr_html_()
        assert page.startswith("<table>")
        assert cell in page
        assert "<pre>" not in page
    mean = comparison["sebf"].summary()["cct_s"]["mean"]
    cell = comparison._repr_html_().split("<th>sebf</th><td>")[1].split("<")[0]
    assert float(cell) == pytest.approx(mean, rel=1e-3)


def test_policies_are_listed() -> None:
    listed = {policy["name"]: policy for policy in covey.policies()}
    assert listed["sebf"]["knows"] == "sized"
    assert listed["aalo"]["params"][0]["name"] == "K"
    assert covey.spec("aalo", K=5, delta=0) == "aalo:K=5,delta=0"
    assert covey.spec("aalo", q1=1024, delta=0.008) == "aalo:q1=1024B,delta=0.008s"
    assert covey.spec("aalo", q1="1KiB", E=2.5) == "aalo:q1=1KiB,E=2.5"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "sbf"}, "unknown policy 'sbf': expected one of fair, fifo,"),
        ({"policy": "aalo:K=0"}, "policy aalo: K=0: expected a whole number from 1 to 64"),
        ({"port_rate": "1"}, "port_rate: '1' is not a speed above zero with its unit: expected"),
        ({"cpu": "3"}, "cpu: expected a share from 0 to 1, or a file, found"),
        (
            {"port_rate": 1e9},
            "port_rate: expected a text with its unit, like '10gbps' or '100mbps' (bits per second), "
            "'125MB/s' or '128MiB/s' (bytes per second), found 1000000000.0: did you mean "
            "'1000000000bps' or '1000000000B/s'?",
        ),
        ({"port_rate": "1e-9bps"}, "port_rate: expected a speed from 1bps to 1000tbps"),
        ({"sim": "ns3"}, "sim: expected exact, coflowsim or philae-authors, found 'ns3'"),
        ({"policy": "covey", "sim": "coflowsim"}, "policy 'covey' with --sim coflowsim: expected"),
    ],
)
def test_errors_have_the_words_of_the_command_line(
    tiny: covey.Trace, options: dict[str, object], words: str
) -> None:
    with pytest.raises(covey.InputError) as error:
        covey.simulate(tiny, **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(words)


def test_an_unknown_baseline_is_an_error(tiny: covey.Trace) -> None:
    with pytest.raises(covey.InputError, match="policies: expected at least one, found none"):
        covey.compare(tiny, [])
    with pytest.raises(covey.InputError, match=r"baseline: expected one of sebf \| fifo, found"):
        covey.compare(tiny, "sebf,fifo", baseline="fair")


def test_the_interpreter_is_free_meanwhile(hour: covey.Trace) -> None:
    trace = hour.replicate(4)
    turns = 0
    ended = threading.Event()

    def simulate() -> None:
        covey.simulate(trace, "sebf")
        ended.set()

    threading.Thread(target=simulate).start()
    while not ended.wait(0.001):
        turns += 1
    assert turns > 10


def test_progress_is_reported(hour: covey.Trace, capsys: pytest.CaptureFixture[str]) -> None:
    covey.simulate(hour.replicate(4), "sebf", progress=True)
    assert "coflows" in capsys.readouterr().err


def test_a_stop_from_another_thread() -> None:
    from covey._core import Stop

    stop = Stop()
    stop.set()
    with pytest.raises(covey.SimulationError, match="interrupted"):
        covey.simulate(covey.generate("fb-like", coflows=50), "sebf", stop=stop)


LONG = """
import time, covey
trace = covey.generate("fb-like", coflows=400).replicate(6)
print("begins", flush=True)
try:
    covey.simulate(trace, "covey")
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_ctrl_c_stops_a_long_simulation_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        took_s = time.monotonic() - asked
        process.kill()
        assert process.stdout.read() == "stopped\n"
    assert took_s < 3, f"it took {took_s} s"
