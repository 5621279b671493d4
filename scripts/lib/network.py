"""Hosts and a switch as network namespaces, with shaped links. Needs root and iproute2."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Any

HOSTS = 3
SWITCH = "10.77.0.100"


def run(*words: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(word) for word in words], check=True)


class Network(contextlib.AbstractContextManager["Network"]):
    """Hosts and a switch, which go at the end with all processes that run there."""

    def __init__(self, rate: str, queue: str = "400k", congestion: str = "") -> None:
        self._shape = ["root", "tbf", "rate", rate, "burst", "64k", "limit", queue]
        self._congestion = congestion
        self._processes: list[subprocess.Popen[str]] = []
        self.name = f"cva{os.getpid()}"
        with contextlib.ExitStack() as undo:
            undo.push(self)
            self._add_switch()
            for host in range(HOSTS):
                self._add(host)
            undo.pop_all()

    def _add_switch(self) -> None:
        run("ip", "netns", "add", f"{self.name}s")
        run("ip", "-n", f"{self.name}s", "link", "add", "name", "sw0", "type", "bridge")
        run("ip", "-n", f"{self.name}s", "addr", "add", f"{SWITCH}/24", "dev", "sw0")
        run("ip", "-n", f"{self.name}s", "link", "set", "dev", "sw0", "up")
        run("ip", "-n", f"{self.name}s", "link", "set", "lo", "up")

    def _add(self, host: int) -> None:
        name, switch = f"{self.name}{host}", f"{self.name}s"
        run("ip", "netns", "add", name)
        ends = ["eth0", "netns", name, "type", "veth", "peer", "name", f"p{host}"]
        run("ip", "link", "add", *ends, "netns", switch)
        run("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", switch, "link", "set", f"p{host}", "master", "sw0")
        run("ip", "-n", switch, "link", "set", f"p{host}", "up")
        for where, device in ((switch, f"p{host}"), (name, "eth0")):
            run("ip", "netns", "exec", where, "tc", "qdisc", "add", "dev", device, *self._shape)
        if self._congestion:
            setting = f"net.ipv4.tcp_congestion_control={self._congestion}"
            run("ip", "netns", "exec", name, "sysctl", "-qw", setting)

    @staticmethod
    def address(host: int) -> str:
        """Return the address of a host."""
        return f"10.77.0.{host + 1}"

    def start(self, where: object, *words: object, **how: Any) -> subprocess.Popen[str]:
        """Start a process on a host, or on the switch (s), within the machine's control groups."""
        enter = ["nsenter", f"--net=/run/netns/{self.name}{where}"]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **how}
        process = subprocess.Popen([*enter, *(str(word) for word in words)], text=True, **how)
        self._processes.append(process)
        return process

    def pids(self, where: object) -> list[int]:
        """Return the processes of a host, or of the switch (s)."""
        command = ["ip", "netns", "pids", f"{self.name}{where}"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        return [int(pid) for pid in listed.stdout.split()]

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        # What these have started.
        for _ in range(50):
            pids = [pid for part in ("s", *range(HOSTS)) for pid in self.pids(part)]
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not pids:
                break
            time.sleep(0.1)
        for part in ("s", *range(HOSTS)):
            if os.path.exists(f"/run/netns/{self.name}{part}"):
                run("ip", "netns", "del", f"{self.name}{part}")
