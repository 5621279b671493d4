#!/usr/bin/env python3
"""Shows that dead processes hold no ports, with real processes on loopback.

    scripts/dead_holders.py BIN [--policies a,b] [--cases kill,agent,…]

BIN is the folder with `covey` and `examples/shuffle`. For every policy the script kills an application
with `kill -9` in the middle of a shuffle, and two seconds later another sends 100 MB over the same
ports. It may take 1.3 times as long as alone, and event, metric and status must report the dead
application within five seconds. The other cases run under the default policy. The exit status is 1 if
a case takes longer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib
from array import array
from collections.abc import Callable
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

RATE = "200mbps"
MEGABYTES = 100
MOST = 1.3
REPORTED_S = 5.0
FREE_S = 2.0


class Processes(contextlib.AbstractContextManager["Processes"]):
    """A coordinator and its processes, which are killed at the end."""

    shuffle: Path
    clients: str
    token: str

    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def start(self, *words: object, log: Path | None = None) -> subprocess.Popen[str]:
        """Start one; its standard output can be read."""
        errors = log.open("a") if log else subprocess.DEVNULL
        process = subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self._all.append(process)
        if log:
            errors.close()
        return process

    def ended(self, process: subprocess.Popen[str]) -> int:
        """Wait until a process has ended, and forget it; return its status."""
        status = process.wait()
        process.stdout.close()
        self._all.remove(process)
        return status

    def open(self, path: str) -> HTTPResponse:
        """Send the coordinator a request."""
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"http://{self.clients}{path}", headers=headers)
        return urllib.request.urlopen(request)

    def ask(self, path: str) -> dict[str, Any]:
        """Send a request for JSON."""
        return json.load(self.open(path))

    def metric(self, name: str) -> float:
        """Sum of the values of a metric."""
        text = self.open("/metrics").read().decode()
        lines = (line for line in text.splitlines() if re.match(rf"{name}[ {{]", line))
        return sum(float(line.split()[-1]) for line in lines)

    @staticmethod
    def until(what: Callable[[], object], within: float) -> float:
        """Wait until something holds; return how long that took."""
        began = time.monotonic()
        while not what():
            if time.monotonic() > began + within:
                return float("inf")
            time.sleep(0.02)
        return time.monotonic() - began

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


PIECE = 1 << 16
WORDS = int.from_bytes(array("Q", range(PIECE // 8)).tobytes(), "little")


def sent_crc(coflow: int, flow: int, size: int) -> int:
    """Checksum of the bytes that the example `shuffle` sends as a flow."""
    crc = 0
    for number, begin in enumerate(range(0, size, PIECE)):
        mark = (coflow * 0x9E3779B97F4A7C15 + flow * 0xC2B2AE3D27D4EB4F + number) % 2**64
        marks = int.from_bytes(mark.to_bytes(8, "little") * (PIECE // 8), "little")
        crc = zlib.crc32((WORDS ^ marks).to_bytes(PIECE, "little")[: size - begin], crc)
    return crc


class Receiver:
    """A process that receives flows, and the bytes of each coflow that arrived as sent."""

    def __init__(self, live: Processes, address: str = "127.0.0.1:0") -> None:
        self.process = live.start(live.shuffle, "receive", address)
        self.address = self.process.stdout.readline().split()[-1]
        self.got: dict[int, int] = {}
        self.compared = self.differ = 0
        threading.Thread(target=self._read, daemon=True).start()

    def has_had(self, coflow: int, count: int, within: float = 10) -> bool:
        """Whether so many bytes of a coflow have arrived as sent, or do soon: comparing takes a while."""
        return Processes.until(lambda: self.got.get(coflow) == count, within) < within

    def _read(self) -> None:
        with contextlib.suppress(ValueError):
            for line in self.process.stdout:
                found = re.match(r"flow (\d+) of coflow (\d+): (\d+) bytes, crc (\w+)", line)
                assert found, f"a receiver says: {line}"
                flow, coflow, count = map(int, found.groups()[:3])
                self.compared += 1
                if sent_crc(coflow, flow, count) == int(found.group(4), 16):
                    self.got[coflow] = self.got.get(coflow, 0) + count
                else:
                    self.differ += 1
                    print(f"not what was sent: {line}", end="", flush=True)


class Application:
    """A shuffle from port 0 to port 1."""

    def __init__(
        self, live: Live, to: Receiver, name: str, megabytes: int = MEGABYTES, flows: int = 2
    ) -> None:
        self.began, self.megabytes, self.name = time.monotonic(), megabytes, name
        self.process = live.start(
            live.shuffle, "send", to.address, "--name", name, "--megabytes", megabytes,
            "--flows", flows, "--agent", live.data / "agent.sock", "--credentials", live.data,
            "--coordinator", live.clients, log=live.data / f"{name}.log",
        )  # fmt: skip
        found = re.search(r"coflow (\d+), scheduled: yes", self.process.stdout.readline())
        assert found, f"{name} is not scheduled"
        self.id = int(found.group(1))

    def ended(self, within: float = 600) -> float:
        """Wait for its end; return how long it took."""
        try:
            status = self.process.wait(within)
        except subprocess.TimeoutExpired:
            return float("inf")
        assert status == 0, f"{self.name}: status {status}"
        return time.monotonic() - self.began


class Live(Processes):
    """A coordinator and the agents of two hosts."""

    def __init__(self, bin: Path, folder: Path, policy: str, *more: str) -> None:
        super().__init__()
        self.covey, self.shuffle = bin / "covey", bin / "examples/shuffle"
        self.data = folder
        self.coordinator = self.start(
            self.covey, "serve", "--data", folder, "--ports", 2, "--port-rate", RATE, "--policy", policy,
            "--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0", *more, log=folder / "log",
        )  # fmt: skip
        self.clients = self.coordinator.stdout.readline().split()[-1]
        self.agents_at = self.coordinator.stdout.readline().split()[-1]
        self.token = (folder / "token").read_text().strip()
        self.agents = [self.agent(port) for port in (0, 1)]
        self.until(lambda: self.metric("covey_agents") == 2, 5)
        self.events: list[tuple[float, dict[str, object]]] = []
        threading.Thread(target=self._watch, daemon=True).start()

    def agent(self, port: int) -> subprocess.Popen[str]:
        """Start the agent of a port."""
        agent = self.start(
            self.covey, "agent", "--port", port, "--coordinator", self.agents_at, "--credentials",
            self.data, "--socket", self.data / f"agent{'' if port == 0 else '-1'}.sock",
            log=self.data / f"agent-{port}.log",
        )  # fmt: skip
        self.until((self.data / f"agent{'' if port == 0 else '-1'}.sock").exists, 5)
        return agent

    def _watch(self) -> None:
        with contextlib.suppress(OSError):
            for line in self.open("/v1/events"):
                if line.startswith(b"data:"):
                    self.events.append((time.monotonic(), json.loads(line[5:])))

    def status(self) -> str:
        """What `covey status` says."""
        words = [self.covey, "status", "--coordinator", self.clients, "--credentials", self.data]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def reported_s(self, app: Application) -> float:
        """Seconds until all three ways report a dead application."""
        began = time.monotonic()
        told = lambda: any(e["type"] == "idle" and e["id"] == app.id for _, e in self.events)  # noqa: E731
        shown = lambda: re.search(rf" {app.name}: .* given up .* for \d+ s: ", self.status())  # noqa: E731
        for what in (told, lambda: self.metric("covey_flows_idle") > 0, shown):
            if self.until(what, REPORTED_S) == float("inf"):
                return float("inf")
        return time.monotonic() - began


class Table:
    """A result, and whether it meets its limits."""

    def __init__(self) -> None:
        self.is_right = True
        print("| case | policy | alone | after | × | reported | |\n|---|---|--:|--:|--:|--:|---|")

    def row(
        self,
        case: str,
        policy: str,
        alone: float,
        after: float,
        reported: float | None,
        right: bool,
    ) -> None:
        """Print one run."""
        ok = right and after <= MOST * alone and (reported is None or reported <= REPORTED_S)
        self.is_right &= ok
        shown = "" if reported is None else f"{reported:.1f} s"
        print(
            f"| {case} | `{policy}` | {alone:.2f} s | {after:.2f} s | {after / alone:.2f} | {shown} |"
            f" {'ok' if ok else 'NOT'} |",
            flush=True,
        )


def killed(live: Live, to: Receiver) -> tuple[Application, bool]:
    """Kill an application with `kill -9` in the middle of its shuffle."""
    app = Application(live, to, "dead", 40_000)
    time.sleep(1.5)
    app.process.kill()
    return app, True


def without_application(live: Live, to: Receiver) -> tuple[Application, bool]:
    """Kill agent and application; only the agent comes back."""
    app = Application(live, to, "dead", 40_000)
    time.sleep(1.5)
    live.agents[0].kill()
    app.process.kill()
    live.agents[0].wait()
    time.sleep(0.5)
    live.agents[0] = live.agent(0)
    live.until(lambda: live.metric("covey_agents") == 2, 5)
    return app, True


def ended_meanwhile(live: Live, to: Receiver) -> tuple[Application, bool]:
    """Let an application end without errors while its agent is away."""
    app = Application(live, to, "dead", 50)
    time.sleep(0.5)
    live.agents[0].kill()
    live.agents[0].wait()
    took = app.ended(60)
    right = took < 60 and to.has_had(app.id, 50_000_000)
    live.agents[0] = live.agent(0)
    live.until(lambda: live.metric("covey_agents") == 2, 5)
    return app, right


def receiver_stopped(live: Live, to: Receiver) -> tuple[Application, bool]:
    """Stop a receiver in the middle."""
    other = Receiver(live)
    app = Application(live, other, "dead", 40_000)
    time.sleep(1.5)
    other.process.send_signal(signal.SIGSTOP)
    return app, True


CASES = {
    "killed": killed,
    "agent back without it": without_application,
    "ended while its agent was away": ended_meanwhile,
    "receiver stopped": receiver_stopped,
}


def run(bin: Path, table: Table, case: str, policy: str) -> None:
    """One of the cases above: 100 MB alone, then the case, and 100 MB from two seconds later on."""
    with tempfile.TemporaryDirectory() as folder, Live(bin, Path(folder), policy) as live:
        to = Receiver(live)
        alone = Application(live, to, "alone").ended()
        dead, right = CASES[case](live, to)
        freed = time.monotonic() + FREE_S
        reported = live.reported_s(dead)
        time.sleep(max(0, freed - time.monotonic()))
        after = Application(live, to, "after")
        took = after.ended(20 * alone)
        right &= to.has_had(after.id, MEGABYTES * 1_000_000)
        table.row(case, policy, alone, took, reported, right)


def run_receiver_killed(bin: Path, table: Table) -> None:
    """Kill a receiver; its sender notices, and gives the coflow up."""
    with tempfile.TemporaryDirectory() as folder, Live(bin, Path(folder), "covey") as live:
        to, other = Receiver(live), Receiver(live)
        alone = Application(live, to, "alone").ended()
        dead = Application(live, other, "dead", 40_000)
        time.sleep(1.5)
        other.process.kill()
        dead.process.wait(10)
        took = Application(live, to, "after").ended(20 * alone)
        table.row("receiver killed", "covey", alone, took, None, True)


def run_agent_back(bin: Path, table: Table) -> None:
    """An application goes on when its agent is back, and ends with every byte."""
    with tempfile.TemporaryDirectory() as folder, Live(bin, Path(folder), "covey") as live:
        to = Receiver(live)
        alone = Application(live, to, "alone").ended()
        app = Application(live, to, "goes-on")
        time.sleep(1)
        live.agents[0].kill()
        live.agents[0].wait()
        time.sleep(0.5)
        live.agents[0] = live.agent(0)
        took = app.ended(20 * alone)
        table.row(
            "agent back, with it", "covey", alone, took, None, to.has_had(app.id, 100_000_000)
        )


def run_stopped(bin: Path, table: Table, stop_s: float = 30) -> None:
    """Stop an application for half a minute; others have the port, and it ends with every byte."""
    with tempfile.TemporaryDirectory() as folder, Live(bin, Path(folder), "covey") as live:
        to = Receiver(live)
        alone = Application(live, to, "alone").ended()
        app = Application(live, to, "dead")
        time.sleep(1.5)
        app.process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        reported = live.reported_s(app)
        time.sleep(max(0, stopped + FREE_S - time.monotonic()))
        took = Application(live, to, "after").ended(20 * alone)
        table.row("stopped: others meanwhile", "covey", alone, took, reported, True)
        time.sleep(max(0, stopped + stop_s - time.monotonic()))
        app.process.send_signal(signal.SIGCONT)
        took = app.ended(60) - stop_s
        table.row(
            "stopped: it, less the stop",
            "covey",
            alone,
            took,
            None,
            to.has_had(app.id, 100_000_000),
        )


class Network(Processes):
    """A coordinator and three hosts, each in a network namespace of its own."""

    def __init__(self, bin: Path, folder: Path) -> None:
        super().__init__()
        self.covey, self.shuffle, self.data = bin / "covey", bin / "examples/shuffle", folder
        self.name = f"covey-{os.getpid()}"
        self.ip("netns", "add", f"{self.name}-s")
        self.ip("-n", f"{self.name}-s", "link", "add", "name", "switch", "type", "bridge")
        self.ip("-n", f"{self.name}-s", "link", "set", "switch", "up")
        for host in (0, 1, 2, 9):
            self.ip("netns", "add", f"{self.name}-{host}")
            ends = [f"{self.name}-s", f"{self.name}-{host}"]
            self.ip(
                "link",
                "add",
                f"h{host}",
                "netns",
                ends[0],
                "type",
                "veth",
                "peer",
                "name",
                "eth",
                "netns",
                ends[1],
            )
            self.ip("-n", ends[0], "link", "set", f"h{host}", "master", "switch", "up")
            self.ip("-n", ends[1], "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth")
            for device in ("lo", "eth"):
                self.ip("-n", ends[1], "link", "set", device, "up")
        self.clients = "10.77.0.10:7420"
        init = [
            self.covey,
            "serve",
            "--init",
            "--data",
            folder,
            "--name",
            "10.77.0.10",
            "--agent",
            "0-2",
        ]
        subprocess.run(init, check=True, capture_output=True)
        self.on(
            9, self.covey, "serve", "--data", folder, "--ports", 3, "--port-rate", RATE,
            "--clients", self.clients, "--agents", "10.77.0.10:7421", log=folder / "log",
        ).stdout.readline()  # fmt: skip
        for port in range(3):
            self.on(
                port, self.covey, "agent", "--port", port, "--coordinator", "10.77.0.10:7421",
                "--credentials", folder / f"agents/{port}", "--socket", folder / f"{port}.sock",
                log=folder / f"agent-{port}.log",
            )  # fmt: skip
        self.until(lambda: self.status().count("joined") == 3, 5)

    @staticmethod
    def ip(*words: str) -> None:
        """Run `ip`."""
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def on(self, host: int, *words: object, log: Path | None = None) -> subprocess.Popen[str]:
        """Start a process on a host."""
        return self.start("ip", "netns", "exec", f"{self.name}-{host}", *words, log=log)

    def receiver(self, host: int) -> str:
        """Start a receiver on a host; return its address."""
        process = self.on(host, self.shuffle, "receive", f"10.77.0.{host + 1}:0")
        return process.stdout.readline().split()[-1]

    def send(
        self, host: int, to: int, address: str, name: str, megabytes: int
    ) -> subprocess.Popen[str]:
        """Start a shuffle from a host to another."""
        return self.on(
            host, self.shuffle, "send", address, "--name", name, "--megabytes", megabytes, "--to-port", to,
            "--agent", self.data / f"{host}.sock", "--credentials", self.data, "--coordinator", self.clients,
            log=self.data / f"{name}.log",
        )  # fmt: skip

    def status(self) -> str:
        """What `covey status` says."""
        words = ["status", "--coordinator", self.clients, "--credentials", self.data]
        words = ["ip", "netns", "exec", f"{self.name}-9", self.covey, *words]
        return subprocess.run(words, capture_output=True, text=True).stdout

    def __exit__(self, *kinds: object) -> None:
        super().__exit__(*kinds)
        for host in (0, 1, 2, 9, "s"):
            subprocess.run(["ip", "netns", "del", f"{self.name}-{host}"], check=False)


def run_cut_off(
    bin: Path, table: Table, cut: int, again: tuple[int, int], free_s: float, shown: str
) -> None:
    """Cut a host off in the middle of a shuffle from host 0 to host 1; others use the port at the other end."""
    with tempfile.TemporaryDirectory() as folder, Network(bin, Path(folder)) as live:
        sender, receiver = again
        to, other = live.receiver(1), live.receiver(2)
        address = to if receiver == 1 else other

        def shuffle() -> float:
            began = time.monotonic()
            assert live.send(sender, receiver, address, "other", MEGABYTES).wait(120) == 0
            return time.monotonic() - began

        alone = shuffle()
        live.send(0, 1, to, "dead", 40_000)
        time.sleep(1.5)
        live.ip("-n", f"{live.name}-s", "link", "set", f"h{cut}", "down")
        freed = time.monotonic() + free_s
        reported = live.until(lambda: re.search(shown, live.status()), 2 * REPORTED_S)
        time.sleep(max(0, freed - time.monotonic()))
        which = "receiver" if cut == 1 else "sender"
        after = shuffle()
        table.row(
            f"{which}'s host cut off, from {free_s:.0f} s on",
            "covey",
            alone,
            after,
            reported - max(0, free_s - REPORTED_S),
            True,
        )


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--policies")
    parser.add_argument("--cases")
    given = parser.parse_args()
    listed = subprocess.run(
        [given.bin / "covey", "policies", "--json"], capture_output=True, check=True
    )
    names = [policy["name"] for policy in json.loads(listed.stdout)]
    policies = given.policies.split(",") if given.policies else names
    table = Table()
    wanted = given.cases.split(",") if given.cases else ["killed", "others"]
    if "killed" in wanted:
        for policy in policies:
            try:
                run(given.bin, table, "killed", policy)
            except AssertionError as error:
                print(f"| killed | `{policy}` | {error} | NOT |", flush=True)
                table.is_right = False
    if "others" in wanted:
        for case in list(CASES)[1:]:
            run(given.bin, table, case, "covey")
        run_receiver_killed(given.bin, table)
        run_agent_back(given.bin, table)
        run_stopped(given.bin, table)
    if "others" in wanted or "cut" in wanted:
        if os.geteuid() == 0:
            run_cut_off(given.bin, table, 1, (0, 2), FREE_S, r"dead: .* given up")
            # A silent host counts as lost after --lost-after, 5 s.
            run_cut_off(given.bin, table, 0, (2, 1), 6.0, r"\d  stalled ")
        else:
            print("hosts are cut off by root only: left out", file=sys.stderr)
    return 0 if table.is_right else 1


if __name__ == "__main__":
    os.environ.setdefault("RUST_BACKTRACE", "0")
    sys.exit(main())
