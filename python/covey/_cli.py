"""The command ``covey``: the same command line as the program that Cargo builds."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

from covey._core import run_command


def main() -> int:
    """Run the command line of this process and return the exit status."""
    # No Python code runs meanwhile that could raise KeyboardInterrupt: the signal ends the process,
    # as it ends any program, unless the command handles it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    program = shutil.which(sys.argv[0]) or sys.argv[0]
    return run_command(sys.argv, str(Path(program).absolute()))
