#!/usr/bin/env python3
"""Kills applications, agents and the coordinator at random, and looks what is stuck at the end.

    scripts/dead_soak.py BIN [--seconds 3600] [--ports 16]

BIN is the folder with `covey` and `examples/shuffle`. Each host has an agent, a receiver, and
shuffles from it to others, one after the other. Every two seconds one of these is killed, and every
minute an agent and the coordinator, which come back. At the end nothing is killed any more: all
shuffles must end with all their bytes, no coflow may have a rate but those, and the coordinator's
memory must not have grown with time.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from dead_holders import Processes, Receiver

MEGABYTES = 8


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
        self.ended = self.killed = self.wrong = 0
        self.lock, self.over = threading.Lock(), threading.Event()

    def serve(self) -> None:
        """Start the coordinator, at the addresses that it had."""
        self.coordinator = self.start(
            self.covey, "serve", "--data", self.data, "--ports", self.ports, "--port-rate", "100mbps",
            "--clients", self.clients, "--agents", self.agents_at, log=self.data / "log",
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
            status = process.wait()
            with self.lock:
                del self.running[port]
                if status == -9:
                    self.killed += 1
                    continue
                self.ended += 1
                expected = megabytes * 1_000_000 // 2 * 2
            if coflow is not None and not self.has_come(to, coflow, expected):
                print(f"coflow {coflow}: not all of its {expected} bytes came", flush=True)
                self.wrong += 1
            elif status != 0:
                print(f"coflow {coflow}: status {status}", flush=True)
                self.wrong += 1

    def has_come(self, to: int, coflow: int, expected: int) -> bool:
        """Whether a receiver has had so many bytes of a coflow, or has soon."""
        return self.until(lambda: self.receivers[to].got.get(coflow) == expected, 2) < 2

    def resident_mib(self) -> float:
        """Memory of the coordinator."""
        pages = Path(f"/proc/{self.coordinator.pid}/statm").read_text().split()[1]
        return int(pages) * 4096 / 2**20


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
        for thread in threads:
            thread.start()
        began, kills, memory = time.monotonic(), 0, []
        while (elapsed := time.monotonic() - began) < given.seconds:
            time.sleep(2)
            kills += 1
            with hosts.lock:
                if hosts.running:
                    random.choice(list(hosts.running.values()))[0].kill()
            if kills % 30 == 10:
                port = random.randrange(given.ports)
                hosts.agents[port].kill()
                hosts.agents[port].wait()
                hosts.agents[port] = hosts.agent(port)
            if kills % 30 == 25:
                memory.append(hosts.resident_mib())
                hosts.coordinator.kill()
                hosts.coordinator.wait()
                time.sleep(1)
                hosts.serve()
                print(
                    f"{elapsed:.0f} s: {hosts.ended} ended, {hosts.killed} killed, {memory[-1]:.1f} MiB",
                    flush=True,
                )
        hosts.over.set()
        for thread in threads:
            thread.join(120)
        stuck = sum(thread.is_alive() for thread in threads)
        # Flows whose last bytes were on their way are looked after for --lost-after.
        time.sleep(8)
        rates = hosts.ask("/v1/schedule")["items"]
        present = hosts.metric("covey_coflows")
        idle = hosts.metric("covey_coflows_idle")
        print(
            f"at the end: {hosts.ended} ended, {hosts.killed} killed, {hosts.wrong} wrong, {stuck} stuck,"
        )
        print(f"{present:.0f} coflows have not ended, {idle:.0f} of them idle, {len(rates)} rates")
        print("memory before each kill of the coordinator, MiB:", *(f"{mib:.1f}" for mib in memory))
        return 0 if hosts.wrong == stuck == len(rates) == 0 and present == idle else 1


if __name__ == "__main__":
    sys.exit(main())
