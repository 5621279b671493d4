"""Traces: reading, making, transforming."""

import json
import pickle
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import covey
import pytest
from conftest import TINY
from live import built


def test_a_trace_is_read_from_a_file_or_a_text(tmp_path: Path, tiny: covey.Trace) -> None:
    path = tmp_path / "tiny.txt"
    path.write_text(TINY)
    assert covey.load_trace(path) == tiny
    assert (len(tiny), tiny.ports, tiny.flows) == (2, 3, 3)
    assert tiny.bytes == 14 * 2**20
    assert tiny.coflows["coflow_id"] == ["1", "2"]
    assert tiny.coflows["width"] == [1, 2]
    assert tiny.info()["coflows"] == 2


def test_several_tables_with_columns_of_any_name_are_one_trace(tmp_path: Path) -> None:
    monday, tuesday = tmp_path / "monday.csv", tmp_path / "tuesday.csv"
    monday.write_text("ts,client,server,n,job\n0,web-1,db-1,2000000,7\n0,web-2,db-1,1000000,7\n")
    tuesday.write_text("ts,client,server,n,job\n5,web-1,db-2,3000000,secret\n")
    columns = {"start": "ts", "src": "client", "dst": "server", "bytes": "n", "coflow": "job"}
    both = covey.load_trace(monday, tuesday, columns=columns)
    assert (len(both), both.flows, both.bytes) == (2, 3, 6_000_000)
    assert both.coflows["coflow_id"] == ["7", "secret"]
    names = {b"web-1", b"web-2", b"db-1", b"db-2", b"secret"}
    assert names <= set(re.findall(rb"[\w-]+", both.dumps()))
    hidden = covey.load_trace(monday, tuesday, columns=columns, anonymise=True)
    assert not names & set(re.findall(rb"[\w-]+", hidden.dumps()))
    assert hidden.name == "anonymised"
    cct_s = [covey.simulate(trace, "sebf").per_coflow["cct_s"] for trace in (both, hidden)]
    assert cct_s[0] == cct_s[1]
    with pytest.raises(covey.InputError, match="nobody"):
        covey.load_trace(monday, columns=columns | {"dst": "nobody"})


def test_a_generated_trace_has_its_parameters() -> None:
    one, same, other = (covey.generate("fb-like", seed=s, coflows=30) for s in (1, 1, 2))
    assert one == same != other
    assert one == covey.load_trace("builtin:fb-like:coflows=30", seed=1)
    assert len(one) == 30


def test_a_trace_survives_pickling(hour: covey.Trace) -> None:
    again = pickle.loads(pickle.dumps(hour))
    assert again == hour
    assert again.name == hour.name


def test_the_load_by_tier_is_that_of_the_command_line(hour: covey.Trace, tmp_path: Path) -> None:
    path = tmp_path / "hour.jsonl"
    path.write_bytes(hour.dumps())
    fabric = "leaf-spine:leaves=8,spines=2,hosts=20"
    command = [built("covey"), "trace", "info", path, "--json", "--fabric", fabric]
    command += ["--port-rate", "10gbps"]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    info = hour.info(fabric=fabric, port_rate="10gbps")
    assert info == json.loads(said)
    assert [tier["tier"] for tier in info["tiers"]] == [
        "host up",
        "leaf up",
        "leaf down",
        "host down",
    ]
    assert "tiers" not in hour.info()


def test_the_load_by_tier_says_what_the_network_does_not_fit(hour: covey.Trace) -> None:
    with pytest.warns(UserWarning, match="150 ports on 16 hosts") as warned:
        hour.info(fabric="fat-tree:k=4")
    assert warned[0].filename == __file__
    with pytest.raises(covey.InputError, match="fabric: fat-tree: k: expected an even number"):
        hour.info(fabric="fat-tree:k=3")


def test_transformations_are_those_of_the_command_line(hour: covey.Trace) -> None:
    wide = hour.filter(min_width=8)
    assert min(wide.coflows["width"]) >= 8
    assert wide.name == f"{hour.name} | filter(min_width=8)"
    sizes = hour.skew(sigma=0.3, seed=2).coflows["size_bytes"]
    assert sizes == pytest.approx(hour.coflows["size_bytes"])
    assert hour.scale(time=0.5).coflows["arrival_s"] == [a / 2 for a in hour.coflows["arrival_s"]]
    assert len(set(hour.burst(group=len(hour)).coflows["arrival_s"])) == 1
    assert len(hour.dag("tao")) == 6 * len(hour)
    assert hour.replicate(2).ports == 2 * hour.ports
    whole = covey.generate("fb-like")
    assert whole.mantri(seed=2).bytes == pytest.approx(whole.bytes)
    assert hour.waves(max=2).flows == hour.flows
    assert hour.waves(max=2, of="flows").name.endswith("waves(max=2, rate=1gbps, seed=1, of=flows)")
    assert hour.split_receivers().flows == hour.flows


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: covey.load_trace("none.txt"), "none.txt: No such file or directory (os error 2)"),
        (
            lambda: covey.parse_trace('{"covey_trace":1,"ports":2}\n{"id":"7"}', "t.jsonl"),
            "t.jsonl: line 2: coflow: expected the JSON of a coflow, found missing field",
        ),
        (
            lambda: covey.generate("fb-like", coflows=0),
            'builtin:fb-like: coflows: expected a number from 1 to 20000, found "0"',
        ),
        (
            lambda: covey.parse_trace(TINY).skew(sigma=-1.0),
            "sigma: expected a number from 0 to 10, found -1",
        ),
        (
            lambda: covey.parse_trace(TINY).waves(of="bytes"),
            'of: expected flows or coflows, found "bytes"',
        ),
        (lambda: covey.parse_trace(TINY).waves(rate="x"), "rate: 'x' is not a speed above zero"),
    ],
)
def test_errors_have_the_words_of_the_command_line(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(covey.InputError) as error:
        make()
    assert str(error.value).startswith(words)


def test_a_trace_tells_where_its_clock_starts() -> None:
    assert covey.parse_trace(TINY).origin == 0
    header = '{"covey_trace":1,"ports":2,"coflows":1}\n'
    coflow = '{"id":"0","arrival_s":1700000000.000000002,"flows":[{"src":0,"dst":1,"bytes":1}]}\n'
    assert covey.parse_trace(header + coflow).origin == Decimal("1700000000.000000002")


def test_what_is_guessed_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="3 ports, from the largest rack"):
        trace = covey.parse_trace("7 0 1 0 1 2:1\n")
    assert trace.ports == 3
    with pytest.warns(UserWarning, match="seed 3 changes nothing"):
        covey.simulate(trace, "fair", seed=3)
