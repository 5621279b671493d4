"""A coordinator and agents, as processes of the command `covey`."""

import os
import subprocess
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import covey
import pytest

ROOT = Path(__file__).parents[2]
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"

LONG = 30.0


def until(what, so):
    begin = time.monotonic()
    while not so():
        assert time.monotonic() - begin < LONG, f"{what}: never"
        time.sleep(0.01)


def built(name: str) -> Path:
    """The program that Cargo has built; skips the test without it."""
    path = BUILT / name
    if not path.exists():
        message = f"{path} is not there: see scripts/python.sh"
        assert not os.environ.get("SKIP_NOTHING"), message
        pytest.skip(message)
    return path


class System:
    """A coordinator, and an agent for each port that hears it, with their files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.covey = folder, built("covey")
        self.processes: list[subprocess.Popen[str]] = []
        self.clients = self.agents = ""

    @property
    def credentials(self) -> Path:
        return self.folder / "covey-data"

    def socket(self, port: int) -> Path:
        return self.folder / f"{port}.sock"

    def start(self, *command: object, says: int = 0) -> list[str]:
        """Start a process that prints so many lines."""
        text = [str(word) for word in command]
        process = subprocess.Popen(text, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout
        return [process.stdout.readline().split()[-1] for _ in range(says)]

    def serve(self, *more: str) -> None:
        where = [f"--{who}={getattr(self, who) or '127.0.0.1:0'}" for who in ("clients", "agents")]
        fixed = ["serve", "--data", self.credentials, "--ports=2", "--log=warn"]
        self.clients, self.agents = self.start(self.covey, *fixed, *where, *more, says=2)

    def agent(self, port: int) -> None:
        shown = ["--credentials", self.credentials, "--coordinator", self.agents]
        own = ["--port", port, "--socket", self.socket(port), "--log=warn"]
        self.start(self.covey, "agent", *own, *shown)
        with warnings.catch_warnings():
            # An absent process is no error yet.
            warnings.simplefilter("ignore", covey.UnscheduledWarning)
            with covey.Client(**self.options(port)) as client:
                until("the agent hears the coordinator", lambda: client.scheduled == "yes")

    def options(self, port: int = 0) -> dict[str, object]:
        """The arguments of a client at a port."""
        return {
            "agent": self.socket(port),
            "coordinator": self.clients,
            "credentials": self.credentials,
        }

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()


@contextmanager
def system(folder: Path, *more: str):
    """Start a coordinator and two agents; they are killed at the end."""
    it = System(folder)
    try:
        it.serve(*more)
        it.agent(0)
        it.agent(1)
        yield it
    finally:
        it.end()
