"""The command `covey` that the package installs."""

import html
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import covey
import pytest
from conftest import TINY
from live import built

COMMAND = Path(sys.executable).parent / "covey"
LONG_S = 60.0

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the package is not installed here")


def run(*arguments: str, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=LONG_S, check=False, **how
    )


def test_it_compares_policies():
    ran = run("compare", "builtin:fb-like", "--policies", "fair,sebf")
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = [line.split() for line in ran.stdout.splitlines()]
    means = {row[0]: row[1] for row in rows if len(row) > 1}
    compared = covey.compare("builtin:fb-like", "fair,sebf", progress=False)
    for policy in ("fair", "sebf"):
        cct = compared[policy].summary()["cct_s"]["mean"]
        assert means[policy] == f"{cct:.2f}"


def test_an_error_is_one_line_with_its_status(tmp_path):
    ran = run("simulate", "nowhere.txt", "--policy", "sebf", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("covey: nowhere.txt: ")
    assert ran.stderr.count("\n") == 1
    assert run("compare", "--polices", "fair").returncode == 2
    assert run().returncode == 2


def test_a_report_has_the_command_as_it_was_written(tmp_path):
    (tmp_path / "tiny.txt").write_text(TINY)
    ran = run("compare", "tiny.txt", "--policies=fair,sebf", "--report=a b.html", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    page = html.unescape((tmp_path / "a b.html").read_text())
    assert "covey compare tiny.txt --policies=fair,sebf '--report=a b.html'" in page


def test_a_reader_may_stop_early():
    with subprocess.Popen(
        [COMMAND, "trace", "convert", "builtin:fb-like", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b'{"covey_trace":1')
        process.stdout.close()
        assert process.wait(LONG_S) == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_ctrl_c_ends_it_at_once():
    """It reads a trace that does not end; a pipe that takes more than it holds has a reader."""
    with subprocess.Popen(
        [COMMAND, "simulate", "-", "--policy", "sebf"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        process.stdin.write(b'{"covey_trace":1,"ports":2}\n')
        for coflow in range(20_000):
            flow = b'"flows":[{"src":0,"dst":1,"bytes":100}]'
            process.stdin.write(b'{"id":"%d","arrival_s":0,%s}\n' % (coflow, flow))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG_S) == -signal.SIGINT
        assert process.stderr
        assert process.stderr.read() == b""


def test_a_coordinator_ends_when_it_is_asked_to(tmp_path):
    with subprocess.Popen(
        [COMMAND, "serve", "--ports=2", "--clients=127.0.0.1:0", "--agents=127.0.0.1:0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG_S) == 0


def test_it_starts_itself_once_more(tmp_path):
    """The testbed starts the command for each host, for the coordinator and for agents."""
    ran = run(
        *("testbed", "builtin:fb-like:coflows=6", "--hosts", "2", "--loopback"),
        *("--size", "1/1000000", "--time", "1/2000", "--policies", "sebf", "--link", "1gbps"),
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    assert "all right" in ran.stdout


MINE = """\
import covey


class LeastServed(covey.Policy):
    knows = "unsized"

    def __init__(self, limit=0):
        self.limit = limit

    def plan(self, view, plan):
        for coflow in sorted(view.coflows, key=lambda it: (view.attained(it), it)):
            plan.coflow(coflow)


class Broken(covey.Policy):
    knows = "unsized"

    def plan(self, view, plan):
        raise KeyError("nobody")
"""


def test_policies_in_files_are_compared_with_others(tmp_path):
    (tmp_path / "tiny.txt").write_text(TINY)
    (tmp_path / "Mine.py").write_text(MINE)
    policies = "fair,./Mine.py:LeastServed,limit=2"
    ran = run("compare", "tiny.txt", "--policies", policies, "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    labels = [row["label"] for row in json.loads(ran.stdout)["results"]]
    assert labels == ["fair", "./Mine.py:LeastServed,limit=2"]
    assert json.loads(ran.stdout)["results"][1]["params"] == {"limit": "2"}
    # The program that Cargo builds gives the command line to this package.
    environment = os.environ | {"PYTHON": sys.executable}
    cargo = subprocess.run(
        [built("covey"), "simulate", "tiny.txt", "--policy", "./Mine.py:LeastServed", "--json"],
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert cargo.returncode == 0, cargo.stderr
    assert json.loads(cargo.stdout)["policy"] == "./Mine.py:LeastServed"


def test_a_study_has_policies_in_files(tmp_path):
    (tmp_path / "tiny.txt").write_text(TINY)
    (tmp_path / "Mine.py").write_text(MINE)
    study = 'traces = ["tiny.txt"]\npolicies = ["fair", "./Mine.py:LeastServed,limit=2"]\n'
    (tmp_path / "study.toml").write_text(study + 'results = "kept.json"\n')
    ran = run("study", "study.toml", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(ran.stdout)["comparisons"][0]["results"]
    assert [row["label"] for row in rows] == ["fair", "./Mine.py:LeastServed,limit=2"]
    # What is kept is shown without the file.
    (tmp_path / "Mine.py").unlink()
    shown = run("report", "kept.json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "./Mine.py:LeastServed,limit=2" in shown.stdout


@pytest.mark.parametrize(
    ("policy", "status", "message"),
    [
        ("./absent.py:Own", 2, "absent.py: expected a file of Python, found none"),
        ("./mine.py:LeastServd", 2, "found 'LeastServd': did you mean 'LeastServed'?"),
        ("./mine.py:LeastServed,K=2", 2, "unexpected keyword argument 'K'"),
        ("./wrong.py:Own", 2, "wrong.py, line 1: ZeroDivisionError: division by zero"),
        ("./mine.py:Broken", 1, "mine.py, line 19: KeyError: 'nobody'"),
    ],
)
def test_what_is_wrong_with_a_policy_in_a_file_is_said(tmp_path, policy, status, message):
    (tmp_path / "tiny.txt").write_text(TINY)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "wrong.py").write_text("1 / 0\n")
    ran = run("simulate", "tiny.txt", "--policy", policy, cwd=tmp_path)
    assert message in ran.stderr
    assert (ran.returncode, ran.stderr.count("\n")) == (status, 1)


def test_packages_offer_policies_by_name(tmp_path):
    (tmp_path / "tiny.txt").write_text(TINY)
    (tmp_path / "offered.py").write_text(MINE)
    about = tmp_path / "offered-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[covey.policies]\nleast = offered:LeastServed\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    policies = "fair,least:limit=3"
    ran = run(
        "compare", "tiny.txt", "--policies", policies, "--json", cwd=tmp_path, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["results"][1]["params"] == {"limit": "3"}
    unknown = run("simulate", "tiny.txt", "--policy", "leest", cwd=tmp_path, env=environment)
    assert (unknown.returncode, "unknown policy 'leest'" in unknown.stderr) == (2, True)
