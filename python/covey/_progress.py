"""A bar, where somebody looks and the work takes over a second."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 1.0


def somebody_looks() -> bool:
    """Whether standard error is a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def bar(progress: bool | None, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that is told how many of how many are done; nothing if there is no bar."""
    if not (somebody_looks() if progress is None else progress):
        yield None
        return
    # A bar that is asked for is there at once.
    delay = 0.0 if progress else PATIENCE_S
    with tqdm(unit=f" {unit}", delay=delay, leave=False, file=sys.stderr) as shown:

        def tell(done: int, total: int) -> None:
            shown.total = total
            shown.update(done - shown.n)

        yield tell
