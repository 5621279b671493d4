"""Repeats of papers' evaluations."""

from pathlib import Path

import covey
import pytest


def test_a_table_is_repeated(tmp_path: Path) -> None:
    found = covey.reproduce("swallow", table="VI")
    assert isinstance(found.summary(), dict)
    assert "VI" in str(found)
    assert "<th>verdict</th>" in found._repr_html_()
    found.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_unknown_parts_are_errors() -> None:
    with pytest.raises(covey.InputError):
        covey.reproduce("swallow", table=99)
    with pytest.raises(covey.InputError, match="aalo, stream, coda"):
        covey.reproduce("karuna")
    with pytest.raises(covey.InputError, match="a table or a figure"):
        covey.reproduce("swallow", table=1, figure=1)
