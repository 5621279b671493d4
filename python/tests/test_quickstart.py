"""The examples of docs/quickstart-live.md: two applications, whose shuffles are scheduled."""

import subprocess
import sys
import time
from pathlib import Path

import covey
import pytest
from live import ROOT, built, system

PORT_RATE = 50e6 / 8
"""Speed of the ports of the quickstart's fabric, in bytes per second."""


def command(language: str) -> list[Path | str]:
    if language == "rust":
        return [built("examples/shuffle")]
    return [sys.executable, ROOT / "python/examples/shuffle.py"]


@pytest.mark.parametrize("language", ["rust", "python"])
def test_the_smaller_shuffle_overtakes_the_larger(language, tmp_path):
    shuffle = command(language)
    with system(tmp_path, "--policy=sebf", "--port-rate=50mbps") as it:
        (to,) = it.start(*shuffle, "receive", "127.0.0.1:0", says=1)
        client = covey.Client(**it.options())

        def send(name: str, megabytes: int) -> subprocess.Popen[str]:
            options = [f"--{key}={value}" for key, value in it.options().items()]
            if language == "rust":
                options = [word for option in options for word in option.split("=", 1)]
            what = ["--name", name, "--megabytes", str(megabytes), *options]
            it.start(*shuffle, "send", to, *what)
            return it.processes[-1]

        def named(name: str):
            return next((each for each in client.coflows(all=True) if each["name"] == name), None)

        # On a busy machine the second may start after the first has ended; then the test tries
        # larger shuffles.
        for megabytes in (10, 40, 160):
            first, second = f"report {megabytes}", f"query {megabytes}"
            senders = [send(first, megabytes)]
            while not named(first):
                assert senders[0].poll() is None, "it has not registered"
                time.sleep(0.01)
            senders.append(send(second, 1))
            said = [sender.communicate(timeout=120)[0] for sender in senders]
            report, query = named(first), named(second)
            if query["arrival_s"] < report["end_s"]:
                break
        assert [sender.returncode for sender in senders] == [0, 0]
        assert ["scheduled: yes" in text.lower() for text in said] == [True, True]
        assert [each["state"] for each in (report, query)] == ["ended", "ended"]
        assert [each["bytes_sent"] for each in (report, query)] == [megabytes * 1e6, 1e6]
        # The smaller shuffle came later, and ended sooner.
        assert report["arrival_s"] < query["arrival_s"]
        assert query["end_s"] < report["end_s"]
        # It can be much faster than the port only without pacing; then it takes milliseconds.
        assert report["end_s"] - report["arrival_s"] > 0.8 * megabytes * 1e6 / PORT_RATE
