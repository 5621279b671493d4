"""Runs the Python blocks of the pages whose markers name this file.

The blocks of a page are run in order, with the same names, in a folder that has a small ``trace.txt``.
``crates/covey/tests/docs.rs`` describes the markers and requires one before each block. The pages:
README.md and docs/python.md.
"""

import re
from pathlib import Path

import covey
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"<!-- run by python/tests/test_docs\.py -->\n```python\n(.*?)^```$", re.M | re.S
)
PAGES = ["README.md", "docs/python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_the_page_run(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("trace.txt").write_bytes(covey.generate("fb-like", coflows=30, ports=20).dumps())
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_no_other_page_has_such_blocks():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [str(page.relative_to(ROOT)) for page in pages if BLOCK.search(page.read_text())]
    assert found == PAGES
