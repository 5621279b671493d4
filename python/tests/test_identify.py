"""Coflows in flow records, and lower bounds."""

from pathlib import Path

import covey
import pytest


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "flows.csv"
    path.write_text(
        "start_s,src,dst,sport,dport,proto,bytes,end_s,label\n"
        "0,10.0.0.1,10.0.0.9,5001,80,6,1000000,0.1,a\n"
        "0.001,10.0.0.2,10.0.0.9,5002,80,6,2000000,0.2,a\n"
        "60,10.0.0.3,10.0.0.8,5003,80,6,3000000,,b\n"
        "60.001,10.0.0.4,10.0.0.8,5004,80,6,,,b\n"
    )
    return path


def test_groups_flows_and_a_trace(records: Path, tmp_path: Path) -> None:
    found = covey.identify(records)
    assert len(found) == 2
    assert found.groups["flows"] == [2, 2]
    assert found.groups["bytes"] == [3_000_000.0, 3_000_000.0]
    assert found.groups["last_end_s"] == [0.2, None]
    assert found.flows["group"] == [0, 0, 1, 1]
    assert found.flows["src"] == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    assert found.flows["label"] == ["a", "a", "b", "b"]
    assert found.summary()["f1"] == 1.0
    with pytest.warns(UserWarning, match="flows without bytes, 1"):
        trace = found.trace
    assert (len(trace), trace.flows, trace.ports) == (2, 3, 6)
    assert "2 groups" in str(found)
    assert "2 groups" in found._repr_html_()
    found.report(tmp_path / "groups.html")
    assert "2 groups" in (tmp_path / "groups.html").read_text()


def test_tables_of_any_columns_without_names(tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_text("ts,client,server,n\n0,web-1,db,5\n0.5,web-2,db,6\n")
    columns = {"start": "ts", "src": "client", "dst": "server", "bytes": "n"}
    found = covey.identify(path, columns=columns, anonymise=True)
    assert found.flows["dst"] == ["host-1", "host-1"]
    assert "secret" not in str(found) + str(found.summary())


def test_what_is_wrong_is_said(records: Path) -> None:
    for wrong, message in [
        ({"algorithm": "kmeans"}, "algorithm: expected rough or dbscan"),
        ({"min_points": 0}, "min_points: expected a number above 0"),
        ({"stitch_s": -1}, "stitch_s: expected a number of seconds"),
        ({"format": "pcap"}, "pcap"),
    ]:
        with pytest.raises(covey.InputError, match=message):
            covey.identify(records, **wrong)  # type: ignore[arg-type]
    with pytest.raises(covey.InputError, match="files: expected at least one"):
        covey.identify()


def test_no_policy_is_better_than_the_bound(hour: covey.Trace) -> None:
    bound = covey.bound(hour)
    comparison = covey.compare(hour, "sebf,fair", progress=False)
    assert bound["lower_bound_mean_cct_s"] == pytest.approx(
        comparison.summary()["results"][0]["lower_bound_mean_cct_s"]
    )
    assert all(over >= 1 for over in comparison.table["mean_over_bound"])
    assert covey.bound(hour, port_rate="10gbps")["lower_bound_mean_cct_s"] == pytest.approx(
        bound["lower_bound_mean_cct_s"] / 10
    )
    moved = covey.parse_trace(
        '{"covey_trace":1,"ports":2}\n'
        '{"id":"a","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":5},'
        '{"src":1,"dst":0,"bytes":5,"attempt":0}]}\n'
    )
    with pytest.raises(covey.InputError, match="trace: expected a trace without events"):
        covey.bound(moved)


def test_a_comparison_as_a_table(hour: covey.Trace) -> None:
    comparison = covey.compare(hour, "sebf,fair", progress=False)
    assert comparison.table["policy"] == ["sebf", "fair"]
    assert comparison.table["mean_cct_s"] == [result.mean_cct_s for result in comparison]
    assert comparison.table["speedup_of_mean"][1] == 1.0
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert isinstance(comparison.to_pandas(), pandas.DataFrame)
    polars = pytest.importorskip("polars", reason="polars is not installed")
    assert isinstance(comparison.to_polars(), polars.DataFrame)


def test_a_comparison_draws_itself(hour: covey.Trace) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    comparison = covey.compare(hour, "sebf,fair", progress=False)
    assert comparison.plot().get_xlabel() == "coflow completion time (s)"
    assert "speed" in comparison.plot("speedup").get_xlabel()
    with pytest.raises(covey.InputError, match="kind: expected cct or speedup"):
        comparison.plot("pie")


def test_columns_without_a_value_are_left_out(hour: covey.Trace, tiny: covey.Trace) -> None:
    columns = covey.simulate(tiny, "sebf").per_coflow.columns
    assert "cct_s" in columns
    assert not {"job", "deadline_s", "deadline_met", "tenant"} & {*columns}
