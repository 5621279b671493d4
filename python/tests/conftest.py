"""Traces that several tests use."""

from pathlib import Path

import covey
import pytest

ROOT = Path(__file__).parents[2]
TINY = "3 2\n1 0 1 0 1 1:10\n2 500 2 0 2 1 1:4\n"


@pytest.fixture
def tiny() -> covey.Trace:
    """Two coflows on three ports; at 8 Mbps, a MB takes 1.048576 s."""
    return covey.parse_trace(TINY, "tiny")


@pytest.fixture(scope="session")
def hour() -> covey.Trace:
    """A part of the synthetic hour."""
    return covey.generate("fb-like", coflows=60, seed=3)


@pytest.fixture(scope="session")
def facebook() -> covey.Trace:
    """The public Facebook trace; skips the test without the file."""
    path = ROOT / "../shared/data/FB2010-1Hr-150-0.txt"
    if not path.exists():
        pytest.skip("the Facebook trace is not in ../shared/data")
    return covey.load_trace(path)
