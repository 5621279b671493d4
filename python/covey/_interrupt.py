"""Ctrl-C for Python code in a thread of the simulator, where no signal arrives."""

from __future__ import annotations

import ctypes


def interrupt(thread: int) -> None:
    """Raise `KeyboardInterrupt` in a thread, as soon as it executes Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
    )
