#!/usr/bin/env python3
"""Applications like those of HiBench with and without Swallow, on Spark with shaped links.

    examples/spark/swallow.py COVEY -o runs.json [--spark 4.2.0] [--rows 200000] [--rate 50] [--pairs 3]

Three hosts and a switch are network namespaces; each host has a link of RATE Mbit/s and a worker of
Spark. Each application of hibench.sql runs alone, PAIRS times, in random order: `none` compresses no
shuffle, `lz4` is Spark as it is, `zstd` is Spark with another codec, and with `swallow` the plug-in
chooses codecs and holds shuffles, under the policy fvdf. The results are compared. `covey reproduce swallow --spark runs.json` shows what was
measured beside the paper.

Needs Linux, root, iproute2, util-linux, Java 17, Maven, and what pip fetches.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from cluster import HERE, Cluster, Coordinator, Tenant
from demo import arguments, jar, prepared, say
from lib.network import HOSTS, Network

MODES = ("none", "lz4", "zstd", "swallow")
CHECK = "SELECT count(*), bit_xor(xxhash64(*)) FROM parquet.`{out}`"
WRITE = "INSERT OVERWRITE DIRECTORY '{out}' USING parquet "
# What the event log has of a query is there so many seconds after its end, at most.
LOG_S = 60


def statements(kind: str) -> dict[str, str]:
    """Return the statements of a kind in hibench.sql, by their names."""
    text = (HERE / "hibench.sql").read_text()
    return dict(re.findall(rf"-- {kind} (\w+)\n(.*?);\n", text, re.DOTALL))


class Log:
    """An application's event log, read from where the last query ended."""

    def __init__(self, tenant: Tenant) -> None:
        self._lines = tenant.log.open()
        self._part = ""
        self._queries: dict[int, str] = {}

    def stages(self, query: str) -> list[dict[str, Any]]:
        """Return the stages of a query that has ended, each with its tasks' metrics."""
        tasks: dict[int, list[dict[str, Any]]] = {}
        stages: list[dict[str, Any]] = []
        jobs: set[int] = set()
        for event in self._events():
            kind = event["Event"].removeprefix("SparkListener")
            if kind == "JobStart" and (event.get("Properties") or {}).get("covey.query") == query:
                jobs.add(event["Job ID"])
                self._queries |= {stage: query for stage in event["Stage IDs"]}
            elif kind == "TaskEnd" and event["Task End Reason"]["Reason"] == "Success":
                tasks.setdefault(event["Stage ID"], []).append(event["Task Metrics"])
            elif kind == "StageCompleted" and self._queries.get(event["Stage Info"]["Stage ID"]) == query:
                stages.append(event["Stage Info"])
            elif kind.endswith("SQLExecutionEnd") and jobs:
                break
        return [{**stage, "tasks": tasks.get(stage["Stage ID"], [])} for stage in stages]

    def _events(self) -> Any:
        end = time.monotonic() + LOG_S
        while time.monotonic() < end:
            self._part += self._lines.readline()
            if not self._part.endswith("\n"):
                time.sleep(0.05)
                continue
            line, self._part = self._part, ""
            yield json.loads(line)
        raise RuntimeError("the event log lacks the end of a query")


def measured(application: str, mode: str, job_s: float, stages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a run has taken and sent."""

    def total(of: str, name: str) -> int:
        return sum(task[of][name] for stage in stages for task in stage["tasks"])

    def is_map(stage: dict[str, Any]) -> bool:
        return any(task["Shuffle Write Metrics"]["Shuffle Bytes Written"] for task in stage["tasks"])

    def seconds(maps: bool) -> float:
        return sum(it["Completion Time"] - it["Submission Time"] for it in stages if is_map(it) == maps) / 1e3

    def collecting(maps: bool) -> list[float]:
        found = [task["JVM GC Time"] / 1e3 for it in stages if is_map(it) == maps for task in it["tasks"]]
        if len(found) < 2:
            found = 2 * (found or [0.0])
        return [*statistics.quantiles(found, n=4, method="inclusive"), max(found)]

    return {
        "application": application, "mode": mode, "job_s": round(job_s, 3),
        "map_s": seconds(True), "result_s": seconds(False),
        "written_bytes": total("Shuffle Write Metrics", "Shuffle Bytes Written"),
        "remote_bytes": total("Shuffle Read Metrics", "Remote Bytes Read"),
        "gc_map_s": collecting(True), "gc_result_s": collecting(False),
    }  # fmt: skip


def make_tables(cluster: Cluster, data: Path, rows: int) -> None:
    """Make what the applications read, if it is not there."""
    if data.exists():
        return
    part = data.with_name("part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    maker = Tenant(cluster, "maker", part, {})
    for name, sql in statements("table").items():
        maker.run(WRITE.format(out=part / f"{name}.parquet") + sql.format(rows=rows))
    maker.stop()
    part.rename(data)


def measure(options: argparse.Namespace, python: Path, folder: Path) -> dict[str, Any]:
    """Run all applications. Return the runs."""
    plugin = jar(options.spark)
    with Network(f"{options.rate}mbit", f"{options.rate * 50 // 8}k", "reno") as network:
        cluster = Cluster(network, python, folder)
        data = options.folder / f"hibench-{options.rows}"
        make_tables(cluster, data, options.rows)
        told = f"{0.95 * options.rate:g}mbps"
        coordinator = Coordinator(network, options.covey, folder / "data", told, "fvdf")
        coordinator.start_agents()
        settings: dict[str, dict[str, Any]] = {
            "none": {"spark.shuffle.compress": "false"},
            "lz4": {},
            "zstd": {"spark.io.compression.codec": "zstd"},
            "swallow": {
                **coordinator.settings,
                "spark.jars": plugin,
                "spark.covey.mode": "schedule",
                "spark.covey.codec": "smart",
            },
        }
        base = {"spark.sql.adaptive.enabled": "false", "spark.executor.memory": "1g"}
        tenants = {mode: Tenant(cluster, mode, data, {**base, **settings[mode]}) for mode in MODES}
        logs: dict[str, Log] = {}
        runs: list[dict[str, Any]] = []
        order = random.Random(1)
        applications = statements("application")
        for pair in range(options.pairs + 1):
            for name, sql in applications.items():
                results = set()
                for mode in order.sample(MODES, len(MODES)):
                    tenant, out = tenants[mode], folder / "out" / mode
                    number = tenant.ask(WRITE.format(out=out) + sql)
                    job_s, _ = tenant.hear(number)
                    log = logs.setdefault(mode, Log(tenant))
                    run = measured(name, mode, job_s, log.stages(str(number)))
                    results.add(tenant.run(CHECK.format(out=out))[1])
                    # In the first pair classes are loaded and compiled.
                    if pair:
                        runs.append(run)
                    say(f"{pair}, {name}, {mode}: {job_s:.1f} s, {run['written_bytes'] / 1e6:.1f} MB written")
                if len(results) != 1:
                    raise RuntimeError(f"the results of {name} differ")
        for tenant in tenants.values():
            tenant.stop()
    return {
        "spark": options.spark, "hosts": HOSTS, "link_bps": options.rate * 1e6, "rows": options.rows,
        "pairs": options.pairs, "runs": runs,
    }  # fmt: skip


def main() -> int:
    """Run all of it."""
    parser = arguments("Applications like HiBench's with and without Swallow.", rate=50)
    parser.add_argument("-o", "--output", type=Path, required=True, help="for the runs, in JSON")
    parser.add_argument("--rows", type=int, default=200_000, help="of the largest tables")
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()

    def work(python: Path, folder: Path) -> int:
        runs = measure(options, python, folder)
        options.output.write_text(json.dumps(runs, indent=1) + "\n")
        return 0

    return prepared(options, work)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
