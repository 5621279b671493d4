#!/usr/bin/env python3
"""What `covey attach` costs, and how soon a rate is in force.

    scripts/attach_bench.py COVEY

Two hosts and a switch are network namespaces, with links of 10 Gbit/s. Prints

- the part of a processor that `covey attach` takes to watch 1,000 and 10,000 sockets, each of
  which sends a kilobyte every few seconds, with --observe and as an agent;
- the time from the moment at which the coordinator sends a schedule until it is in force at 1,000
  sockets that send as fast as they can;
- how fast a flow is that is watched and not scheduled, beside one that is not watched, in pairs.

Needs root, iproute2, util-linux and BPF.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from lib.network import SWITCH, Network, run

SECONDS = 20
PAIRS = 8

# Accepts, and throws away what comes.
SINK = """
import selectors, socket, sys
listener = socket.create_server((sys.argv[1], 9911), backlog=4096)
chosen = selectors.EpollSelector()
chosen.register(listener, selectors.EVENT_READ)
room = bytearray(1 << 20)
print("ready", flush=True)
while True:
    for key, _ in chosen.select():
        if key.fileobj is listener:
            chosen.register(listener.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv_into(room):
            chosen.unregister(key.fileobj)
            key.fileobj.close()
"""

# Many sockets, of which each sends a kilobyte now and then.
CROWD = """
import socket, sys, time
address, count, pause_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
sockets = [socket.create_connection((address, 9911)) for _ in range(count)]
print("ready", flush=True)
while True:
    for one in sockets:
        one.send(b"x" * 1000)
        time.sleep(pause_s / count)
"""

# Sockets that send as fast as they can for some seconds; prints the bytes that were sent.
STREAM = """
import selectors, socket, sys, time
address, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
chosen = selectors.EpollSelector()
for _ in range(count):
    one = socket.create_connection((address, 9911))
    one.setblocking(False)
    chosen.register(one, selectors.EVENT_WRITE)
print("ready", flush=True)
piece, sent, end = b"x" * 65536, 0, time.monotonic() + seconds
while time.monotonic() < end:
    for key, _ in chosen.select(0.1):
        try:
            sent += key.fileobj.send(piece)
        except BlockingIOError:
            pass
print(sent, flush=True)
"""


def cpu_s(process: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Wait until a process says that it is ready."""
    assert process.stdout
    assert process.stdout.readline()
    return process


def over(process: subprocess.Popen[str]) -> None:
    """End a process in an orderly way."""
    process.terminate()
    process.wait()


class Bench:
    """The hosts, and a coordinator on the switch."""

    def __init__(self, covey: Path, network: Network, folder: Path) -> None:
        self.covey, self.network, self.folder = covey, network, folder
        self.logs = {name: (folder / f"{name}.log") for name in ("serve", "sends", "receives")}
        run(covey, "serve", "--data", folder / "data", "--init", "--name", SWITCH, "--agent", "0-2")
        started(network.start(2, sys.executable, "-c", SINK, network.address(2)))

    def logged(self, where: object, log: str, *words: object) -> subprocess.Popen[str]:
        """Start a command of Covey that writes its log to a file."""
        line = " ".join(f"'{word}'" for word in (self.covey, *words))
        shell = f"exec {line} --log debug --log-json 2> '{self.logs[log]}'"
        return self.network.start(where, "sh", "-c", shell)

    def serve(self) -> subprocess.Popen[str]:
        """Start the coordinator."""
        words = ["--ports", 3, "--port-rate", "10gbps", "--policy", "coda"]
        addresses = ["--clients", f"{SWITCH}:7420", "--agents", f"{SWITCH}:7421"]
        data = ["--data", self.folder / "data"]
        return started(self.logged("s", "serve", "serve", *data, *words, *addresses))

    def attach(self, log: str) -> subprocess.Popen[str]:
        """Start the agent of the host that sends or receives."""
        host = {"sends": 0, "receives": 2}[log]
        words = ["--host", "--port", host, "--coordinator", f"{SWITCH}:7421"]
        shown = ["--credentials", self.folder / "data" / "agents" / str(host)]
        return self.logged(host, log, "attach", *words, *shown)

    def scheduled(self) -> list[subprocess.Popen[str]]:
        """Start a coordinator and both agents; the first one is that of the host that sends."""
        processes = [self.serve(), self.attach("receives"), self.attach("sends")]
        time.sleep(1)
        return processes[::-1]

    def observe(self) -> subprocess.Popen[str]:
        """Start to watch the host that sends."""
        words = ["attach", "--observe", "--host", "--output", "/dev/null"]
        process = self.network.start(0, self.covey, *words)
        time.sleep(1)
        return process

    def watching(self, count: int, how: str, process: subprocess.Popen[str]) -> None:
        """Print the part of a processor that a process takes."""
        time.sleep(3)
        before, begin = cpu_s(process.pid), time.monotonic()
        time.sleep(SECONDS)
        share = (cpu_s(process.pid) - before) / (time.monotonic() - begin)
        print(f"| {count} | {how} | {100 * share:.2f} % |", flush=True)

    def costs(self) -> None:
        """Print what it costs to watch."""
        print("| sockets | | of a processor |\n|--:|---|--:|")
        for count in (1_000, 10_000):
            words = ["-c", CROWD, self.network.address(2), count, 5]
            crowd = started(self.network.start(0, sys.executable, *words))
            watcher = self.observe()
            self.watching(count, "`--observe`", watcher)
            over(watcher)
            processes = self.scheduled()
            self.watching(count, "agent", processes[0])
            for process in processes:
                over(process)
            over(crowd)
            time.sleep(1)

    def delays(self) -> None:
        """Print the time from a schedule's way out until it is in force."""
        processes = self.scheduled()
        words = ["-c", STREAM, self.network.address(2), 1_000, 15]
        large = started(self.network.start(0, sys.executable, *words))
        for _ in range(10):
            time.sleep(1)
            words = ["-c", STREAM, self.network.address(2), 5, 0.3]
            self.network.start(0, sys.executable, *words).wait()
        large.wait()
        for process in processes:
            over(process)
        sent = times(self.logs["serve"], "a schedule is sent")
        in_force = times(self.logs["sends"], "a schedule is in force")
        both = [1e3 * (in_force[key] - sent[key]) for key in in_force if key in sent]
        assert both, "no schedule was in force"
        both.sort()
        p95 = both[int(0.95 * len(both))]
        print(
            f"\nA schedule is in force {statistics.median(both):.1f} ms after it was sent (median; "
            f"p95 {p95:.1f} ms, {len(both)} schedules)."
        )

    def throughput(self) -> None:
        """Print how fast a flow is that is watched only."""
        ratios = []
        for _ in range(PAIRS):
            plain = self.stream()
            watcher = self.observe()
            watched = self.stream()
            over(watcher)
            ratios.append(watched / plain)
        print(
            f"\nA flow that is watched has {statistics.median(ratios):.3f} of the throughput of one "
            f"that is not (median of {PAIRS} pairs, from {min(ratios):.3f} to {max(ratios):.3f})."
        )

    def stream(self) -> float:
        """Return the bytes that a flow sends in a second."""
        words = ["-c", STREAM, self.network.address(2), 1, 2]
        process = started(self.network.start(0, sys.executable, *words))
        assert process.stdout
        return int(process.stdout.readline()) / 2


def times(log: Path, what: str) -> dict[tuple[int, int, int], float]:
    """Return when a message was first logged, by epoch and version, in seconds."""
    found: dict[tuple[int, int, int], float] = {}
    for line in log.read_text().splitlines():
        if what in line:
            entry = json.loads(line)
            fields = entry.get("fields", entry)
            at_s = datetime.fromisoformat(entry["timestamp"]).timestamp()
            found.setdefault((fields["port"], fields["epoch"], fields["version"]), at_s)
    return found


def main() -> None:
    """Run all of it."""
    covey = Path(sys.argv[1]).resolve()
    with Network("10gbit") as network, tempfile.TemporaryDirectory() as folder:
        bench = Bench(covey, network, Path(folder))
        bench.costs()
        bench.delays()
        bench.throughput()


if __name__ == "__main__":
    main()
