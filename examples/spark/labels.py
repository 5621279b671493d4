#!/usr/bin/env python3
"""How well `covey identify` finds the coflows of Spark, by what the plug-in says they are.

    examples/spark/labels.py COVEY -o labelled.csv [--spark 4.2.0] [--scale 0.1] [--rate 50]

Two applications run the queries of TPC-H beside each other, between hosts that are network namespaces
with links of RATE Mbit/s. `covey attach --observe` writes a record of each connection, as it does for
programs that it knows nothing of. The plug-in's report says which stage of which application had it,
and that becomes the record's label. Labels are not used to find groups: `covey identify` says how well
they agree.

Needs what demo.py needs.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

from cluster import HERE, Cluster, Coordinator, Tenant
from demo import arguments, jar, prepared, say, tables
from lib.network import HOSTS, Network


def join(records: list[Path], reports: dict[str, Path]) -> list[dict[str, str]]:
    """Return the records of labelled connections, with their labels, in the order of their starts."""
    labels = {}
    for name, report in reports.items():
        for it in json.loads(report.read_text())["connections"]:
            labels[it["from"], it["to"]] = f"{name} {it['stage']} {it['attempt']}"
    found = []
    for record in records:
        with record.open() as lines:
            for row in csv.DictReader(lines):
                ends = (f"{row['src']}:{row['sport']}", f"{row['dst']}:{row['dport']}")
                if ends in labels:
                    found.append({**row, "label": labels[ends]})
    say(f"{len(found)} records of {len(labels)} labelled connections")
    return sorted(found, key=lambda row: float(row["start_s"]))


def observe(options: argparse.Namespace, python: Path, folder: Path) -> list[dict[str, str]]:
    """Run the applications, and return the records of their connections."""
    data, plugin = tables(options.folder, python, options.scale), jar(options.spark)
    with Network(f"{options.rate}mbit", f"{options.rate * 50 // 8}k", "reno") as network:
        cluster = Cluster(network, python, folder)
        told = f"{0.95 * options.rate:g}mbps"
        coordinator = Coordinator(network, options.covey, folder / "data", told, "coda:labels=told")
        reports = {name: folder / f"{name}.json" for name in ("one", "other")}
        tenants = [
            Tenant(
                cluster, name, data,
                {
                    **coordinator.settings, "spark.jars": plugin, "spark.covey.mode": "label",
                    "spark.covey.report": report,
                },
            )
            for name, report in reports.items()
        ]  # fmt: skip
        records = [folder / f"flows-{host}.csv" for host in range(HOSTS)]
        watch = [options.covey, "attach", "--observe", "--host", "--output"]
        watchers = [network.start(host, *watch, file) for host, file in enumerate(records)]
        queries = (HERE / "tpch.sql").read_text().split(";")[:-1]
        for number, query in enumerate(queries, 1):
            asked = [tenant.ask(query) for tenant in tenants]
            took = [tenant.hear(it)[0] for tenant, it in zip(tenants, asked, strict=True)]
            say(f"query {number}: {took[0]:.1f} s and {took[1]:.1f} s")
        for tenant in tenants:
            tenant.stop()
        time.sleep(1)
        for watcher in watchers:
            watcher.terminate()
            watcher.wait()
        return join(records, reports)


def main() -> int:
    """Run all of it."""
    parser = arguments("How well covey identify finds Spark's coflows.", rate=50)
    parser.add_argument("-o", "--output", type=Path, required=True, help="for the labelled records")
    parser.add_argument("--scale", default="0.1", help="of TPC-H; 1 is a gigabyte")
    options = parser.parse_args()

    def work(python: Path, folder: Path) -> int:
        rows = observe(options, python, folder)
        with options.output.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return subprocess.run([options.covey, "identify", options.output], check=False).returncode

    return prepared(options, work)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
