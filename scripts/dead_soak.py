#!/usr/bin/env python3
"""Kills applications, agents and the coordinator at random, and finds what is stuck at the end.

    scripts/dead_soak.py BIN [--seconds 3600] [--ports 16]

BIN is the folder with `covey` and `examples/shuffle`. Each host has an agent, a receiver, and
shuffles from it to others, one after the other. The script kills one of these shuffles every two
seconds, and an agent and the coordinator, which it restarts, every minute. At the end the kills stop.
All remaining shuffles must end with all their bytes as sent, no other coflow may have a rate, and the coordinator's
memory must not grow.

The memory of a coordinator grows during its life of a minute. So the script samples it every five
seconds, and takes the maximum of each coordinator. The trend of these maxima is the median of the
slopes between any two. Memory is flat if the trend adds at most 5 % from the end of the warm-up to the
end of the run. A median ignores a single peak, such as that of a compacted journal, and finds a leak of
any size. The warm-up is a third of the run and at least five minutes. In this time the coordinator
reaches its limits, which are set low. Runs of less than ten minutes are too short for a trend.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from dead_holders import Processes, Receiver

MEGABYTES = 8
MAX_GONE = 4000
MAX_EXPIRED = 100
COMPACT_ABOVE = "2MiB"
WARM_UP_S = 300.0
SAMPLE_EVERY_S = 5.0
MAX_GROWTH = 0.05


class Hosts(Processes):
    """A coordinator, and hosts with agents, receivers and applications."""

    def __init__(self, bin: Path, folder: Path, ports: int) -> None:
        super().__init__()
        self.covey, self.shuffle, self.data, self.ports = (
            bin / "covey",
            bin / "examples/shuffle",
            folder,
            ports,
        )
        self.clients = self.agents_at = "127.0.0.1:0"
        self.serve()
        self.token = (folder / "token").read_text().strip()
        self.agents = [self.agent(port) for port in range(ports)]
        self.receivers = [Receiver(self) for _ in range(ports)]
        self.running: dict[int, tuple[subprocess.Popen[str], int]] = {}
        self.done = self.killed = self.wrong = 0
        self.memory: list[tuple[float, float, int]] = []
        self.lock, self.over = threading.Lock(), threading.Event()

    def serve(self) -> None:
        """Start the coordinator, at the addresses that it had."""
        self.coordinator = self.start(
            self.covey, "serve", "--data", self.data, "--ports", self.ports, "--port-rate", "100mbps",
            "--clients", self.clients, "--agents", self.agents_at, "--max-gone", MAX_GONE,
            "--max-expired", MAX_EXPIRED, "--compact-above", COMPACT_ABOVE, log=self.data / "log",
        )  # fmt: skip
        self.clients = self.coordinator.stdout.readline().split()[-1]
        self.agents_at = self.coordinator.stdout.readline().split()[-1]

    def agent(self, port: int) -> subprocess.Popen[str]:
        """Start the agent of a port."""
        return self.start(
            self.covey, "agent", "--port", port, "--coordinator", self.agents_at, "--credentials",
            self.data, "--socket", self.data / f"agent-of-{port}.sock", log=self.data / "agents.log",
        )  # fmt: skip

    def applications(self, port: int) -> None:
        """One shuffle after the other, from a host to others."""
        while not self.over.is_set():
            to = random.choice([other for other in range(self.ports) if other != port])
            megabytes = random.randint(1, MEGABYTES)
            process = self.start(
                self.shuffle, "send", self.receivers[to].address, "--name", f"from-{port}",
                "--megabytes", megabytes, "--to-port", to, "--agent", self.data / f"agent-of-{port}.sock",
                "--credentials", self.data, "--coordinator", self.clients, log=self.data / "apps.log",
            )  # fmt: skip
            with self.lock:
                self.running[port] = (process, megabytes)
            coflow = None
            for line in process.stdout:
                if ": coflow " in line:
                    coflow = int(line.split(": coflow ")[1].split(",")[0])
            status = self.ended(process)
            with self.lock:
                del self.running[port]
                if status == -9:
                    self.killed += 1
                    continue
                self.done += 1
                expected = megabytes * 1_000_000 // 2 * 2
            if status != 0:
                self.is_wrong(f"coflow {coflow}: status {status}")
            elif coflow is not None and not self.receivers[to].has_had(coflow, expected):
                self.is_wrong(f"coflow {coflow}: not all of its {expected} bytes came as sent")

    def is_wrong(self, what: str) -> None:
        """Report an error."""
        print(what, flush=True)
        with self.lock:
            self.wrong += 1

    def watch(self) -> None:
        """Record the memory of the coordinator, every five seconds."""
        began = time.monotonic()
        while not self.over.wait(SAMPLE_EVERY_S):
            with contextlib.suppress(OSError, AttributeError):
                process = self.coordinator
                self.memory.append((time.monotonic() - began, taken_mib(process), process.pid))


def taken_mib(process: subprocess.Popen[str]) -> float:
    """Memory that a process has allocated, without pages of the program, which the system loads and drops."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s*(\d+) kB", status).group(1)) / 1024


def growth(memory: list[tuple[float, float, int]]) -> float:
    """The relative growth of the coordinators' maxima during these samples, by their trend."""
    lives = (list(life) for _, life in itertools.groupby(memory, key=lambda sample: sample[2]))
    peaks = [max((mib, at) for at, mib, _ in life) for life in lives]
    pairs = itertools.combinations(peaks, 2)
    slope = statistics.median((b - a) / (t - s) for (a, s), (b, t) in pairs)
    return slope * (memory[-1][0] - memory[0][0]) / statistics.median(mib for mib, _ in peaks)


def tell_memory(memory: list[tuple[float, float, int]], seconds: float) -> bool:
    """Print memory at a number of times, and whether it is flat."""
    print("| minutes | least, MiB | median | most |\n|--:|--:|--:|--:|")
    step = max(60.0, 300.0 * round(seconds / 3600))
    for begin in range(0, int(seconds), int(step)):
        some = [mib for at, mib, _ in memory if begin <= at < begin + step]
        if some:
            times = f"{begin / 60:.0f} to {(begin + step) / 60:.0f}"
            print(f"| {times} | {min(some):.1f} | {statistics.median(some):.1f} | {max(some):.1f} |")
    if seconds < 2 * WARM_UP_S:
        print("too short to tell whether memory is flat")
        return True
    warm = [sample for sample in memory if sample[0] >= max(WARM_UP_S, seconds / 3)]
    grows = growth(warm)
    print(f"memory after the warm-up: {len(warm)} samples, trend {100 * grows:+.1f} %")
    return grows <= MAX_GROWTH


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--ports", type=int, default=16)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Hosts(given.bin, Path(folder), given.ports) as hosts,
    ):
        threads = [
            threading.Thread(target=hosts.applications, args=[port]) for port in range(given.ports)
        ]
        threading.Thread(target=hosts.watch, daemon=True).start()
        for thread in threads:
            thread.start()
        began, kills = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < given.seconds:
            time.sleep(2)
            kills += 1
            with hosts.lock:
                if hosts.running:
                    random.choice(list(hosts.running.values()))[0].kill()
            if kills % 30 == 10:
                port = random.randrange(given.ports)
                hosts.agents[port].kill()
                hosts.ended(hosts.agents[port])
                hosts.agents[port] = hosts.agent(port)
            if kills % 30 == 25:
                now = taken_mib(hosts.coordinator)
                agents = max(taken_mib(agent) for agent in hosts.agents)
                receivers = max(taken_mib(receiver.process) for receiver in hosts.receivers)
                hosts.coordinator.kill()
                hosts.ended(hosts.coordinator)
                time.sleep(1)
                hosts.serve()
                print(
                    f"{elapsed:.0f} s: {hosts.done} ended, {hosts.killed} killed, {now:.1f} MiB; agents at most"
                    f" {agents:.1f}, receivers {receivers:.1f}",
                    flush=True,
                )
        hosts.over.set()
        for thread in threads:
            thread.join(120)
        stuck = sum(thread.is_alive() for thread in threads)
        # The coordinator keeps flows with bytes on their way for --lost-after.
        time.sleep(8)
        rates = hosts.ask("/v1/schedule")["items"]
        present = hosts.metric("covey_coflows")
        idle = hosts.metric("covey_coflows_idle")
        compared = sum(receiver.compared for receiver in hosts.receivers)
        differ = sum(receiver.differ for receiver in hosts.receivers)
        print(
            f"at the end: {hosts.done} ended, {hosts.killed} killed, {hosts.wrong} wrong, {stuck} stuck;"
            f" {compared} flows compared, {differ} differ"
        )
        print(f"{present:.0f} coflows have not ended, {idle:.0f} of them idle, {len(rates)} rates")
        is_flat = tell_memory(hosts.memory, given.seconds)
        # A killed shuffle may have ended flows before, so more flows than these may have been
        # compared.
        some_missing = compared < 2 * hosts.done
        right = not some_missing and hosts.wrong == stuck == len(rates) == differ == 0 and present == idle
        print("ok" if right and is_flat else "NOT as it must be")
        return 0 if right and is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
