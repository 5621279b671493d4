#!/usr/bin/env python3
"""Shows that applications deliver all their bytes whatever their coordinator does, on loopback.

    scripts/dead_coordinator.py BIN

BIN is the folder with `covey` and `examples/shuffle`. Each row is a shuffle of 100 MB at 200
Mbit/s, which takes 4 s if it is scheduled. `register` is the time that the application waited before it
sent. The exit status is 1 if a shuffle does not deliver every byte, or exceeds its limit of time.
"""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dead_holders import MEGABYTES, Live, Receiver

DEADLINE_S = 2.0
"""For a call (Options::deadline)."""
NOTICED_S = 8.0
"""Time until an agent has noticed a silent coordinator and told its applications: five heartbeats and a second."""


@contextlib.contextmanager
def deaf(answers: bool) -> Iterator[str]:
    """Listen at an address that never answers, or that accepts no connections."""
    with socket.create_server(("127.0.0.1", 0), backlog=100 if answers else 0) as listener:
        with contextlib.ExitStack() as waiting:
            for _ in range(0 if answers else 8):
                one = waiting.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(listener.getsockname())
            time.sleep(0.2)
            yield f"127.0.0.1:{listener.getsockname()[1]}"


class Run:
    """A shuffle, wherever its coordinator is."""

    def __init__(
        self, live: Live, to: Receiver, coordinator: str, credentials: Path, agent: Path
    ) -> None:
        self.began, self.to = time.monotonic(), to
        self.process = live.start(
            live.shuffle, "send", to.address, "--megabytes", MEGABYTES, "--agent", agent,
            "--coordinator", coordinator, "--credentials", credentials, log=live.data / "apps.log",
        )  # fmt: skip
        self.first = self.process.stdout.readline().strip()
        self.registered_s = time.monotonic() - self.began

    def row(self, case: str, most_s: float) -> bool:
        """Wait for its end, and print it."""
        status = self.process.wait(120)
        took = time.monotonic() - self.began
        expected = MEGABYTES * 1_000_000
        Live.until(lambda: sum(self.to.got.values()) >= expected, 10)
        got = sum(self.to.got.values())
        ok = (
            status == 0
            and got == expected
            and took <= most_s
            and self.registered_s < DEADLINE_S + 1.5
        )
        how = "scheduled" if re.search(r"coflow \d+", self.first) else "not registered"
        print(
            f"| {case} | {how} | {self.registered_s:.2f} s | {took:.2f} s | {got:,} |"
            f" {'ok' if ok else 'NOT'} |",
            flush=True,
        )
        return ok


def main() -> int:
    """Run all of it."""
    bin, right = Path(sys.argv[1]), True
    print(
        "| coordinator | coflow | register | in all | bytes | |\n|---|---|--:|--:|--:|---|",
        flush=True,
    )

    def case(name: str, most_s: float, how: str, *more: str) -> None:
        nonlocal right
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            live = stack.enter_context(Live(bin, folder, "covey", *more))
            to, at, credentials, agent = (
                Receiver(live),
                live.clients,
                live.data,
                live.data / "agent.sock",
            )
            if how == "wrong token":
                credentials = folder / "other"
                credentials.mkdir()
                (credentials / "token").write_text("wrong")
            elif how == "full":
                Run(live, Receiver(live), at, credentials, agent)
            elif how == "killed":
                live.coordinator.kill()
                live.coordinator.wait()
                time.sleep(2)
            elif how == "stopped":
                live.coordinator.send_signal(signal.SIGSTOP)
            elif how in ("silent", "black hole"):
                at = stack.enter_context(deaf(how == "silent"))
            elif how == "no agent":
                at, agent = "127.0.0.1:1", folder / "nowhere"
            run = Run(live, to, at, credentials, agent)
            if how == "stopped in the middle":
                time.sleep(1)
                live.coordinator.send_signal(signal.SIGSTOP)
            elif how == "draining in the middle":
                time.sleep(1)
                live.coordinator.terminate()
            right &= run.row(name, most_s)

    case("works", 5.5, "")
    case("stopped (SIGSTOP) in the middle", 4 + NOTICED_S + DEADLINE_S, "stopped in the middle")
    case("stopped before", NOTICED_S + DEADLINE_S, "stopped")
    case("killed before", 5, "killed")
    case("ends in the middle (SIGTERM)", 8, "draining in the middle")
    case("its address answers nothing", DEADLINE_S + 3, "silent")
    case("its address is a black hole", DEADLINE_S + 3, "black hole")
    case("401", 3, "wrong token")
    case("full", 3, "full", "--max-coflows", "1")
    case("none, and no agent", 3, "no agent")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
