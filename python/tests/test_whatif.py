"""Event logs of Spark: what scheduling would have saved."""

import subprocess
from pathlib import Path

import covey
import pytest
from conftest import ROOT


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    subprocess.run(["sh", ROOT / "scripts" / "example-logs.sh"], cwd=tmp_path, check=True)
    return tmp_path


def test_one_application_gains_nothing(logs: Path) -> None:
    found = covey.whatif(logs / "report", policies=("fair", "sebf"))
    assert found.answer.startswith("Scheduling would gain about nothing")
    assert found.logs["remote_bytes"] == [14_400_000_000.0]
    assert found.logs["status"] == ["success"]
    assert found.replays["policy"] == ["fair", "sebf", "fair", "sebf"]
    assert len(found.jobs) == 4
    assert found.logs["coflows"] == [1.0]
    coflows, hosts = found.coflows, found.hosts
    assert coflows["stage"] == [1]
    assert coflows["remote_bytes"] == [14_400_000_000.0]
    assert coflows["written_bytes"] == [19_200_000_000.0]
    assert coflows["closed"] == [True]
    assert hosts["host"] == ["host-1", "host-2", "host-3", "host-4"]
    assert hosts["sent_bytes"] == hosts["received_bytes"] == [3_600_000_000.0] * 4
    assert found.summary()["logs"][0]["written"] == 19_200_000_000
    assert "report" in str(found)
    assert found.answer.split(";")[0] in found._repr_html_()
    found.report(logs / "gain.html")
    assert (logs / "gain.html").exists()


def test_two_applications_gain_where_links_are_slow(logs: Path) -> None:
    found = covey.whatif(logs, link_rates=["1gbps"], policies=["fair", "sebf"], hosts=4)
    assert found.replays["sooner_least"][1] > 0.01
    assert found.replays["job_least_s"][1] < found.replays["job_most_s"][1]


def test_results_without_names_are_the_same(logs: Path) -> None:
    with_names, without = (
        covey.whatif(logs, policies=["fair", "sebf"], anonymise=anonymise)
        for anonymise in (False, True)
    )
    assert with_names.replays["job_least_s"] == without.replays["job_least_s"]
    assert "report" in str(with_names)
    found = str(without.summary()) + str(without) + without._repr_html_()
    assert not [name for name in ("report", "queries", str(logs)) if name in found]


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(covey.InputError, match="absent"):
        covey.whatif(tmp_path / "absent")
    with pytest.raises(covey.InputError, match="logs: expected at least one"):
        covey.whatif()
    with pytest.raises(covey.InputError, match="offsets: expected clock"):
        covey.whatif("x", offsets="often")
    (tmp_path / "broken").write_text("no log\n")
    assert covey.whatif(tmp_path / "broken").logs["status"] == ["failed"]
