"""Traces from tables of flows."""

import datetime as dt

import covey
import pytest

FLOWS = {
    "coflow": ["a", "b", "a"],
    "arrival_s": [0.0, 1.5, 0.0],
    "src": [0, 2, 1],
    "dst": [1, 0, 2],
    "bytes": [1e6, 3.5, 2e6],
}


def test_rows_become_flows() -> None:
    trace = covey.Trace.from_flows(FLOWS, name="mine")
    expected = (
        '{"covey_trace":1,"ports":3}\n'
        '{"id":"a","arrival_s":0,"flows":'
        '[{"src":0,"dst":1,"bytes":1000000},{"src":1,"dst":2,"bytes":2000000}]}\n'
        '{"id":"b","arrival_s":1.5,"flows":[{"src":2,"dst":0,"bytes":3.5}]}\n'
    )
    assert trace == covey.parse_trace(expected)
    assert trace.name == "mine"
    assert covey.Trace.from_flows(FLOWS, ports=9).ports == 9


def test_optional_columns_and_others() -> None:
    trace = covey.Trace.from_flows(
        {
            **FLOWS,
            "coflow": [1, 2, 1],
            "start_s": [0, None, 2.5],
            "restart_s": [None, 3, float("nan")],
            "attempt": [None, None, None],
            "weight": [2, None, 2],
            "deadline_s": [None, 9.5, None],
            "job": [7, 7, 7],
            "parents": [None, [1], None],
            "rack": ["x", "y", "z"],
        }
    )
    lines = trace.dumps().decode().splitlines()
    assert lines[1:] == [
        '{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1000000},'
        '{"src":1,"dst":2,"bytes":2000000,"start_s":2.5}],"weight":2,"job":"7"}',
        '{"id":"2","arrival_s":1.5,"flows":[{"src":2,"dst":0,"bytes":3.5,"restart_s":3.0}],'
        '"parents":["1"],"deadline_s":9.5,"job":"7"}',
    ]


def test_a_further_attempt_of_a_flow() -> None:
    flows = {**FLOWS, "bytes": [5, 1, 5], "attempt": [float("nan"), None, 0.0]}
    line = covey.Trace.from_flows(flows).dumps().decode().splitlines()[1]
    assert '{"src":1,"dst":2,"bytes":5,"attempt":0}' in line
    with pytest.raises(covey.InputError, match="attempt: expected the index of an earlier flow"):
        covey.Trace.from_flows({**flows, "attempt": [None, None, 7]})


def test_how_small_flows_can_be_compressed() -> None:
    flows = {**FLOWS, "ratio": [0.25, None, 1], "compress": [True, False, True]}
    lines = covey.Trace.from_flows(flows).dumps().decode().splitlines()[1:]
    assert '"bytes":1000000,"ratio":0.25}' in lines[0]
    assert '"bytes":2000000,"ratio":1}]' in lines[0]
    assert '"compress":false' in lines[1]


@pytest.mark.parametrize("library", ["covey", "pandas", "polars", "pyarrow", "numpy"])
def test_frames_of_every_library(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    make = {
        "covey": lambda: covey.Frame(FLOWS),
        "pandas": lambda: module.DataFrame(FLOWS, index=[5, 5, 7]),
        "polars": lambda: module.DataFrame(FLOWS),
        "pyarrow": lambda: module.table(FLOWS),
        "numpy": lambda: {name: module.array(values) for name, values in FLOWS.items()},
    }
    assert covey.Trace.from_flows(make[library]()) == covey.Trace.from_flows(FLOWS)


def test_flows_of_a_result_become_a_trace(hour: covey.Trace) -> None:
    result = covey.simulate(hour, "sebf")
    flows, coflows = result.per_flow, result.per_coflow
    arrival = dict(zip(coflows["coflow_id"], coflows["arrival_s"], strict=True))
    columns = {name: flows[name] for name in ("src", "dst", "bytes")}
    columns["coflow"] = flows["coflow_id"]
    columns["arrival_s"] = [arrival[name] for name in columns["coflow"]]
    assert covey.Trace.from_flows(columns, ports=hour.ports) == hour


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"src": [0, -1, 2]},
            "mine: row 1, column src: expected a port, which is a whole number from 0 on",
        ),
        (
            {"src": [0.5, 1, 2]},
            "mine: row 0, column src: expected a port, which is a whole number from 0",
        ),
        ({"dst": [0, 5, 1]}, "mine: row 1, column dst: expected a port from 0 to 2, found 5"),
        (
            {"bytes": [0, 1, float("nan")]},
            "mine: row 2, column bytes: expected a value, found none",
        ),
        (
            {"bytes": [0, 1, float("inf")]},
            "mine: row 2, column bytes: expected a finite number, found",
        ),
        (
            {"bytes": [0, 1, -4]},
            "mine: row 2, column bytes: expected bytes from 0 to 1e18, found -4",
        ),
        ({"bytes": [0, "x", 1]}, 'mine: row 1, column bytes: expected a number, found string "x"'),
        ({"bytes": [0, 1]}, "mine: expected columns of one length, found {'coflow': 3,"),
        ({"weight": [1, 0, 1]}, "mine: row 1, column weight: expected a positive number"),
        (
            {"arrival_s": [0, 1, 2]},
            "mine: row 2, column arrival_s: expected 0 as in row 0 of coflow 'a'",
        ),
        (
            {"parents": [None, ["c"], None]},
            "mine: row 1, column parents: expected the id of a coflow",
        ),
        (
            {"deadline": [1, 1, 1]},
            "mine: column 'deadline' is not looked at: did you mean 'deadline_s'?",
        ),
    ],
)
def test_errors_name_row_and_column(change: dict[str, object], words: str) -> None:
    with pytest.raises(covey.InputError) as error:
        covey.Trace.from_flows({**FLOWS, **change}, ports=3, name="mine")
    assert str(error.value).startswith(words)


def test_other_values_than_tables_are_refused() -> None:
    with pytest.raises(covey.InputError, match=r"frame: expected a data .*, found 3"):
        covey.Trace.from_flows(3)
    with pytest.raises(
        covey.InputError, match="a frame: expected a column 'src', found coflow, arr"
    ):
        covey.Trace.from_flows({name: FLOWS[name] for name in ("coflow", "arrival_s")})


def test_hosts_have_names_and_times_are_dates() -> None:
    start = dt.datetime(2026, 5, 1, 10, 0, 0, 250_000)
    second = dt.timedelta(seconds=1)
    flows = {
        "job": ["q1", "q1", "q2"],
        "client": ["web-2", "web-1", "db"],
        "server": ["db", "db", "web-1"],
        "n": [1e6, 2e6, 3e6],
        "ts": [start, start + 2 * second, start + 5 * second],
    }
    columns = {"coflow": "job", "src": "client", "dst": "server", "bytes": "n", "start_s": "ts"}
    trace = covey.Trace.from_flows(flows, columns=columns)
    expected = (
        '{"covey_trace":1,"ports":3,"hosts":["db","web-1","web-2"]}\n'
        '{"id":"q1","arrival_s":1777629600.25,"flows":'
        '[{"src":2,"dst":0,"bytes":1000000},{"src":1,"dst":0,"bytes":2000000,"start_s":2}]}\n'
        '{"id":"q2","arrival_s":1777629605.25,"flows":[{"src":0,"dst":1,"bytes":3000000}]}\n'
    )
    assert trace == covey.parse_trace(expected)
    hosts = covey.simulate(trace, "sebf").per_flow["src_host"]
    assert hosts == ["web-2", "web-1", "db"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_dates_of_every_library(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    starts = [dt.datetime(2026, 5, 1, 10, 0, second) for second in (0, 3)]
    flows = {"coflow": [1, 1], "src": [0, 1], "dst": [2, 2], "bytes": [5, 6], "start_s": starts}
    make = {
        "pandas": lambda: module.DataFrame(flows),
        "polars": lambda: module.DataFrame(flows),
        "pyarrow": lambda: module.table(flows),
        "numpy": lambda: flows | {"start_s": module.array(starts, dtype="datetime64[ns]")},
    }
    trace = covey.Trace.from_flows(make[library]())
    assert trace == covey.Trace.from_flows(flows)
    assert '"start_s":3' in trace.dumps().decode()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"src": ["a", 1, "b"], "dst": ["c"] * 3}, {}, "row 1, column src: expected a name"),
        ({"src": ["a"] * 3, "dst": ["c"] * 3}, {"ports": 3}, "ports: expected none where hosts"),
        ({}, {"columns": {"source": "src"}}, "columns: expected coflow, src"),
        ({}, {"columns": {"src": "client"}}, "expected a column 'client', found coflow"),
        (
            {"start_s": [dt.datetime(2026, 5, 1)] * 3},
            {},
            "row 0, column start_s: expected a time of the kind of the arrival",
        ),
    ],
)
def test_wrong_names_and_dates(
    change: dict[str, object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(covey.InputError, match=message):
        covey.Trace.from_flows({**FLOWS, **change}, **options)  # type: ignore[arg-type]
