#!/usr/bin/env python3
"""Two shuffles of programs that know nothing of Covey, over TCP alone and under `covey attach`.

    scripts/attach_check.py COVEY [PROGRAM…]

Three hosts and a switch are network namespaces, with links of 200 Mbit/s. From two hosts a shuffle
of 120 MB begins to the third; 1.5 s later one of 4 MB does. The senders are, in turn,

- sockets: plain sockets of Python, with four flows in the large shuffle and two in the small one;
- iperf3: a client with four streams on one host, and one with two on the other;
- rsync: a client on each host, with one file.

Prints how long each shuffle took under TCP and under `coda`, and how well its flows were grouped;
then kills the agent of a host while its sockets are paced, and prints how long `covey detach` took
to take that back. The exit status is 1 if the small shuffle is not at least 1.3 times as fast as
under TCP, the large one takes over 10 % longer, or precision or recall is below 0.95. Needs root,
iproute2, util-linux and BPF; programs that are missing are left out, and named.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lib.network import HOSTS, SWITCH, Network, run

RATE = "200mbit"
PORT_RATE = "190mbps"
FAST, LONG, GROUPED = 1.3, 1.1, 0.95

SINK = """
import socket, sys, threading
def sink(connection):
    while connection.recv(1 << 20):
        pass
    connection.close()
listener = socket.create_server((sys.argv[1], 9911), backlog=200)
print("ready", flush=True)
while True:
    threading.Thread(target=sink, args=(listener.accept()[0],), daemon=True).start()
"""

SEND = """
import socket, sys, threading, time
address, size, flows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
piece = b"x" * 65536
def send(left):
    connection = socket.create_connection((address, 9911))
    while left > 0:
        left -= connection.send(piece[:left])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
begin = time.monotonic()
threads = [threading.Thread(target=send, args=(size,)) for _ in range(flows)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(time.monotonic() - begin)
"""


class Coordinator:
    """A coordinator on the switch, and an agent on each host."""

    def __init__(self, covey: Path, network: Network, folder: Path) -> None:
        self._covey, self._network, self._folder = covey, network, folder
        run(covey, "serve", "--data", folder, "--init", "--name", SWITCH, "--agent", "0-2")
        words = ["--ports", HOSTS, "--port-rate", PORT_RATE, "--policy", "coda:q1=10MB"]
        addresses = ["--clients", f"{SWITCH}:7420", "--agents", f"{SWITCH}:7421"]
        process = network.start("s", covey, "serve", "--data", folder, *words, *addresses)
        assert process.stdout
        assert "clients" in process.stdout.readline()
        self.agents = [self.attach(host) for host in range(HOSTS)]
        time.sleep(1)

    def attach(self, host: int) -> subprocess.Popen[str]:
        """Start the agent of a host."""
        words = ["--host", "--port", host, "--coordinator", f"{SWITCH}:7421"]
        shown = ["--credentials", self._folder / "agents" / str(host)]
        return self._network.start(host, self._covey, "attach", *words, *shown)

    def flows(self) -> list[dict[str, Any]]:
        """Return the flows that the coordinator knows."""
        token = (self._folder / "token").read_text().strip()
        code = (
            "import json,ssl,sys,urllib.request\n"
            f"context = ssl.create_default_context(cafile={str(self._folder / 'ca.pem')!r})\n"
            f"request = urllib.request.Request('https://{SWITCH}:7420/v1/flows?limit=1000')\n"
            f"request.add_header('Authorization', 'Bearer {token}')\n"
            "print(urllib.request.urlopen(request, context=context).read().decode())\n"
        )
        process = self._network.start("s", sys.executable, "-c", code)
        assert process.stdout
        return json.loads(process.stdout.read() or '{"items": []}')["items"]


class Sockets:
    """Plain sockets of Python."""

    def __init__(self, network: Network, _: Path) -> None:
        self._address = network.address(2)
        sink = network.start(2, sys.executable, "-c", SINK, self._address)
        assert sink.stdout
        assert sink.stdout.readline()

    def send(self, size: int, flows: int) -> dict[int, list[object]]:
        """Return the command of each host that sends so many bytes in all."""
        what = [size // flows, flows // 2]
        command = [sys.executable, "-S", "-c", SEND, self._address, *what]
        return dict.fromkeys((0, 1), command)


class Iperf3:
    """A client of iperf3 on one host for each shuffle. A server runs one test at a time."""

    def __init__(self, network: Network, _: Path) -> None:
        self._address = network.address(2)
        for port in (5201, 5202):
            network.start(2, "iperf3", "--server", "--port", port)
        time.sleep(0.5)

    def send(self, size: int, flows: int) -> dict[int, list[object]]:
        """Return the command of each host that sends so many bytes in all."""
        host = 0 if flows > 2 else 1
        # A client does not wait for what is in its buffers, so they are small: a shuffle is over when
        # its bytes were sent.
        what = ["--port", 5201 + host, "--bytes", size, "--parallel", flows, "--window", "128K"]
        return {host: ["iperf3", "--client", self._address, *what]}


class Rsync:
    """A client of rsync on each host, with one file."""

    def __init__(self, network: Network, folder: Path) -> None:
        self._address, self._folder = network.address(2), folder
        (folder / "to").mkdir()
        conf = folder / "rsyncd.conf"
        to = f"[to]\npath = {folder / 'to'}\nread only = no\nuse chroot = no\nuid = 0\ngid = 0\n"
        conf.write_text(to)
        where = ["--address", self._address, "--config", conf]
        network.start(2, "rsync", "--daemon", "--no-detach", *where)
        time.sleep(0.5)

    def send(self, size: int, flows: int) -> dict[int, list[object]]:
        """Return the command of each host that sends so many bytes in all."""
        files = {host: self._folder / f"{host}-{flows}-{time.monotonic_ns()}" for host in (0, 1)}
        for file in files.values():
            file.write_bytes(os.urandom(size // 2))
        to = f"rsync://{self._address}/to/"
        return {host: ["rsync", "--whole-file", file, to] for host, file in files.items()}


PROGRAMS = {"sockets": Sockets, "iperf3": Iperf3, "rsync": Rsync}
Program = Sockets | Iperf3 | Rsync

# Prints how long a command takes, in seconds.
TIMED = 'TIMEFORMAT=%R; { time "$@" >/dev/null 2>&1; } 2>&1'


def shuffles(
    network: Network, program: Program, coordinator: Coordinator | None
) -> tuple[float, float, float, float]:
    """Run both shuffles. Return their seconds, and precision and recall of the coordinator's groups."""

    def start(commands: dict[int, list[object]]) -> list[subprocess.Popen[str]]:
        timed = ["bash", "-c", TIMED, "-"]
        return [network.start(host, *timed, *words) for host, words in commands.items()]

    # Those that are over by now are of earlier shuffles.
    before = {flow["id"] for flow in coordinator.flows()} if coordinator else set()
    large, small = program.send(120_000_000, 4), program.send(4_000_000, 2)
    large_senders = start(large)
    time.sleep(1.5)
    known = {flow["id"]: flow for flow in coordinator.flows()} if coordinator else {}
    of_large = set(known)
    small_senders = start(small)
    while coordinator and any(sender.poll() is None for sender in small_senders):
        known |= {flow["id"]: flow for flow in coordinator.flows()}

    def took(senders: list[subprocess.Popen[str]]) -> float:
        return max(float(sender.stdout.read()) for sender in senders if sender.stdout)

    large_s, small_s = took(large_senders), took(small_senders)
    labelled = [
        (flow.get("found"), flow["id"] in of_large)
        for flow in known.values()
        if flow["to"].startswith(f"{network.address(2)}:")
        and flow.get("found") is not None
        and flow["id"] not in before
    ]
    if not labelled:
        return large_s, small_s, 0.0, 0.0
    precision = recall = 0.0
    for group, label in labelled:
        both = labelled.count((group, label))
        precision += both / sum(found == group for found, _ in labelled)
        recall += both / sum(of == label for _, of in labelled)
    return large_s, small_s, precision / len(labelled), recall / len(labelled)


def paced(network: Network) -> int:
    """Return how many sockets of host 0 are paced."""
    process = network.start(0, "ss", "-tin")
    assert process.stdout
    lines = [line for line in process.stdout if "pacing_rate" in line]
    return sum("/" in line.split("pacing_rate ")[1].split(" ")[0] for line in lines)


def killed(covey: Path, network: Network, coordinator: Coordinator) -> tuple[int, float, int]:
    """Kill the agent of a host. Return paced sockets, seconds until they are not, and what is left."""
    network.start(0, sys.executable, "-c", SEND, network.address(2), 1_000_000_000, 100)
    time.sleep(3)
    before = paced(network)
    coordinator.agents[0].send_signal(signal.SIGKILL)
    coordinator.agents[0].wait()
    begin = time.monotonic()
    network.start(0, covey, "detach", "--host").wait()
    return before, time.monotonic() - begin, paced(network)


def main() -> int:
    """Run all of it."""
    covey = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(PROGRAMS)
    missing = [name for name in names if name != "sockets" and not shutil.which(name)]
    names = [name for name in names if name not in missing]
    with Network(RATE) as network, tempfile.TemporaryDirectory() as folder:
        programs = {name: PROGRAMS[name](network, Path(folder)) for name in {*names, "sockets"}}
        tcp = {name: shuffles(network, programs[name], None) for name in names}
        coordinator = Coordinator(covey, network, Path(folder) / "data")
        coda = {name: shuffles(network, programs[name], coordinator) for name in names}
        before, seconds, left = killed(covey, network, coordinator)
    print("| program | shuffle | TCP, s | `coda`, s | | precision | recall |")
    print("|---|---|--:|--:|--:|--:|--:|")
    is_good = left == 0 and not (missing and os.environ.get("SKIP_NOTHING"))
    for name in names:
        (tcp_large, tcp_small, *_), (large, small, precision, recall) = tcp[name], coda[name]
        grouped = f"{precision:.3f} | {recall:.3f} |"
        longer = f"{large / tcp_large:.2f} times as long | {grouped}"
        sooner = f"{tcp_small / small:.2f} times as fast | |"
        print(f"| {name} | large | {tcp_large:.2f} | {large:.2f} | {longer}")
        print(f"| {name} | small | {tcp_small:.2f} | {small:.2f} | {sooner} |")
        is_good &= small * FAST <= tcp_small and large <= LONG * tcp_large
        is_good &= min(precision, recall) >= GROUPED
    print(f"\nAgent killed with {before} sockets paced: {seconds:.2f} s later {left} were.")
    for name in missing:
        print(f"{name} was left out: it is not installed.")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
