"""The committed tutorial, with the outputs of its cells. nbmake checks that it runs."""

import json
import re

import pytest
from conftest import ROOT

PATH = ROOT / "docs/tutorial.ipynb"
LARGEST = 700_000

if not PATH.exists():
    pytest.skip("the tutorial is not here", allow_module_level=True)
TEXT = PATH.read_text()
OUTPUTS = [output for cell in json.loads(TEXT)["cells"] for output in cell.get("outputs", [])]


def test_it_is_small_and_has_no_paths_of_a_machine() -> None:
    assert len(TEXT) < LARGEST
    assert "iopub" not in TEXT, "times: see scripts/tutorial.sh"
    assert not re.findall(r"[\"' (](?:/home|/root|/tmp|/Users|/work|C:)[/\\\\]", TEXT)


def test_it_shows_figures_and_tables() -> None:
    shown = [kind for output in OUTPUTS for kind in output.get("data", {})]
    assert shown.count("image/png") == len(re.findall(r"plots\.\w+\(", TEXT))
    tables = [
        "".join(output["data"]["text/html"]) for output in OUTPUTS if "text/html" in str(output)
    ]
    assert len(tables) >= 4
    assert all("<table" in table for table in tables)


def test_nothing_failed_and_no_bar_was_left() -> None:
    assert {output.get("name") for output in OUTPUTS if output["output_type"] == "stream"} == {
        "stdout"
    }
    assert all(output["output_type"] != "error" for output in OUTPUTS)
