#!/usr/bin/env python3
"""Two tenants of Spark on shaped links: an analyst's small joins beside a large one.

    examples/spark/demo.py COVEY [--spark 4.2.0] [--pairs 5] [--rate 20] [--scale 0.2]
        [--one|--check|--overhead]

Three hosts and a switch are network namespaces; each host has a link of RATE Mbit/s, a worker of
Spark, and `covey attach`. The tables are those of TPC-H. Both joins have divided their tables
before, so that what is measured is the reading of shuffles. In each pair they run twice, in random
order: without Covey (`off`), and with the plug-in's mode `label` under `coda`. With --one both are
jobs of one application. Prints a table, with 95 % intervals over the pairs, timelines, and what
`covey whatif` predicts from the logs of `off`.

With --check the queries of TPC-H run in all modes of the plug-in on fast links, while an executor, an
agent and the coordinators are killed; their results are compared. With --overhead a join runs in
random order in all modes, and the times are compared with those without the plug-in.

Needs Linux, root, iproute2, util-linux, BPF, Java 17, Maven, and what pip fetches. All
else is gone at the end.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster import ROOT, Cluster, Coordinator, Tenant
from lib.network import Network, run
from modes import Modes, interval

LARGE = """
select l.*, o_comment from lineitem l join orders on l_orderkey = o_orderkey
where pmod(xxhash64(l_comment, o_comment, l_extendedprice), 2) = 0"""
SMALL = """
select c_name, o_orderkey, o_totalprice from customer join orders on c_custkey = o_custkey
where pmod(xxhash64(c_name, o_orderkey, o_totalprice), 2) = 0"""
SMALLS = 3
HEAD_START_S = 3.0
MODES = ("off", "label")


def missing() -> list[str]:
    """Return what the machine lacks."""
    commands = ["ip", "tc", "nsenter", "java", "mvn"]
    lacks = [command for command in commands if not shutil.which(command)]
    return lacks if os.geteuid() == 0 else ["root", *lacks]


def environment(folder: Path, version: str) -> Path:
    """Make an environment with PySpark and tpchgen-cli, if it is not there. Return its Python."""
    home = folder / f"spark-{version}"
    done = home / "done"
    if not done.exists():
        venv.create(home, with_pip=True, clear=True)
        packages = [f"pyspark=={version}", "tpchgen-cli==4.0.0"]
        run(home / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages)
        done.touch()
    return home / "bin/python"


def tables(folder: Path, python: Path, scale: str) -> Path:
    """Make the tables of TPC-H, if they are not there. Return their folder."""
    made = folder / f"tpch-{scale}"
    if not made.exists():
        part = folder / "tpch-part"
        shutil.rmtree(part, ignore_errors=True)
        command = [python.parent / "tpchgen-cli", "parquet", "-s", scale, "--output-dir", part]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        part.rename(made)
    return made


def jar(version: str) -> Path:
    """Build the plug-in. Return its jar."""
    scala = "2.12" if version.startswith("3.") else "2.13"
    how = ["--batch-mode", "--quiet", "--no-transfer-progress", "-Dstyle.color=never"]
    run("mvn", *how, "--file", ROOT / "jvm/pom.xml", f"-Pscala-{scala}", "-DskipTests", "package")
    return next((ROOT / "jvm/target").glob(f"covey-spark_{scala}-*.jar"))


def say(text: str) -> None:
    """Say what happens."""
    print(text, file=sys.stderr, flush=True)


class Round:
    """A large join with small ones beside it: when each began and ended, in seconds."""

    def __init__(self, large: Tenant, analyst: Tenant) -> None:
        begin = time.monotonic()
        number = large.ask(LARGE, again=True)
        time.sleep(HEAD_START_S)
        self.small, results = [], []
        for _ in range(SMALLS):
            at = time.monotonic() - begin
            took, result = analyst.run(SMALL, again=True)
            self.small.append((at, at + took))
            results.append(result)
        took, result = large.hear(number)
        self.large = (0.0, took)
        self.results = [*results, result]

    def mean(self) -> float:
        """Return the mean time of the small joins."""
        return statistics.mean(end - begin for begin, end in self.small)

    def large_s(self) -> float:
        """Return the time of the large join."""
        return self.large[1]

    def timeline(self, width_s: float) -> list[str]:
        """Return a line for each join."""
        spans = {"large": self.large} | {f"small {k + 1}": it for k, it in enumerate(self.small)}
        places = 60 / width_s

        def bar(begin: float, end: float) -> str:
            return " " * round(begin * places) + "█" * max(1, round((end - begin) * places))

        return [f"  {name:8} {bar(*span)} {span[1] - span[0]:.1f} s" for name, span in spans.items()]


def rounds(
    tenants: dict[tuple[str, str], Tenant], coordinator: Coordinator, pairs: int
) -> list[dict[str, Round]]:
    """Run pairs, each in random order."""
    order = random.Random(1)
    done = []
    for pair in range(pairs):
        both = {}
        for mode in order.sample(MODES, 2):
            if mode == "label":
                coordinator.attach()
            both[mode] = Round(tenants[mode, "large"], tenants[mode, "analyst"])
            coordinator.detach()
            large_s, small_s = both[mode].large[1], both[mode].mean()
            say(f"pair {pair + 1}, {mode}: large {large_s:.1f} s, small {small_s:.2f} s")
        done.append(both)
    return done


def report(done: list[dict[str, Round]]) -> None:
    """Print the table and the timelines of the last pair."""
    print("| join | off, s | label, s | off / label, 95 % |")
    print("|---|--:|--:|--:|")
    for k in range(SMALLS):
        times = {m: [it[m].small[k][1] - it[m].small[k][0] for it in done] for m in MODES}
        row(f"small {k + 1}", times)
    row("small, mean", {mode: [it[mode].mean() for it in done] for mode in MODES})
    row("large", {mode: [it[mode].large[1] for it in done] for mode in MODES})
    last = done[-1]
    width_s = max(round_.large[1] for round_ in last.values())
    for mode in MODES:
        print(f"\n{mode}:", *last[mode].timeline(width_s), sep="\n")


def row(name: str, times: dict[str, list[float]]) -> None:
    """Print a row of the table."""
    ratios = [off / label for off, label in zip(times["off"], times["label"], strict=True)]
    means = [f"{statistics.mean(times[mode]):.2f}" for mode in MODES]
    print(f"| {name} | {' | '.join(means)} | {interval(ratios)} |")


def measure(options: argparse.Namespace, python: Path, folder: Path) -> int:
    """Measure, and print what was found."""
    data = tables(options.folder, python, options.scale)
    plugin = jar(options.spark)
    # A queue of 50 ms. Without a congestion control of its own a network namespace has the machine's.
    queue = f"{max(64, options.rate * 50 // 8)}k"
    with Network(f"{options.rate}mbit", queue, "reno") as network:
        cluster = Cluster(network, python, folder)
        told = f"{0.95 * options.rate:g}mbps"
        coordinator = Coordinator(network, options.covey, folder / "data", told, "coda:labels=told")
        tenants: dict[tuple[str, str], Tenant] = {}
        for mode in MODES:
            settings: dict[str, Any] = {"spark.sql.adaptive.enabled": "false"}
            if mode != "off":
                settings |= {"spark.jars": plugin, "spark.covey.mode": mode, **coordinator.settings}
            for who in ("large", "analyst"):
                is_same = options.one and who == "analyst"
                tenants[mode, who] = (
                    tenants[mode, "large"]
                    if is_same
                    else Tenant(cluster, f"{who}-{mode}", data, settings)
                )
        say("tables are divided")
        results = set()
        for sql, who in ((LARGE, "large"), (SMALL, "analyst")):
            for mode in MODES:
                tenants[mode, who].run(sql, again=True)
        for (mode, who), tenant in tenants.items():
            took, result = tenant.run(LARGE if who == "large" else SMALL, again=True)
            results.add((who, result))
            say(f"{who} alone, {mode}: {took:.2f} s")
        done = rounds(tenants, coordinator, options.pairs)
        report(done)
        results |= {("analyst", it) for pair in done for r in pair.values() for it in r.results[:-1]}
        results |= {("large", r.results[-1]) for pair in done for r in pair.values()}
        for tenant in {id(it): it for it in tenants.values()}.values():
            tenant.stop()
        print("\nThe results are equal." if len(results) == 2 else f"\nResults differ: {results}")
        off = [tenants["off", who].log for who in ("large", "analyst")]
        if not options.one:
            predict(options, off, done)
    return 0 if len(results) == 2 else 1


def predict(options: argparse.Namespace, logs: list[Path], done: list[dict[str, Round]]) -> None:
    """Print what `covey whatif` says of the logs of `off` alone, beside what was measured."""
    jobs = logs[0].parent / "jobs.csv"
    what = ["--link-rate", f"{options.rate}mbps", "--policies", "fair,coda:labels=true"]
    command = [options.covey, "whatif", *logs, *what, "--per-job", jobs]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    with jobs.open() as rows:
        read = list(csv.DictReader(rows))

    def mean_s(log: Path, policy: str, count: int) -> float:
        of = [it for it in read if it["file"] == str(log) and it["policy"] == policy]
        last = sorted(of, key=lambda it: int(it["job"]))[-count:]
        return statistics.mean((float(it["job_s_least"]) + float(it["job_s_most"])) / 2 for it in last)

    print("\n| join | off / label by whatif | measured | error, % |\n|---|--:|--:|--:|")
    for name, log, count in (("large", logs[0], 1), ("small", logs[1], SMALLS)):
        off, label = (mean_s(log, it, count * len(done)) for it in ("fair", "coda:labels=true"))
        took = Round.mean if name == "small" else Round.large_s
        found = statistics.geometric_mean(took(it["off"]) / took(it["label"]) for it in done)
        error = 100 * (off / label / found - 1)
        print(f"| {name} | {off / label:.2f} | {found:.2f} | {error:+.0f} |")


def arguments(description: str, rate: int) -> argparse.ArgumentParser:
    """Return a parser with the arguments of all programs that run Spark on shaped links."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("covey", type=lambda it: Path(it).resolve(), metavar="COVEY")
    parser.add_argument("--spark", default="4.2.0", help="a version on PyPI")
    parser.add_argument("--rate", type=int, default=rate, help="of each link, in Mbit/s")
    where = ROOT / "target/spark-demo"
    parser.add_argument("--folder", type=Path, default=where, help="for what was fetched and made")
    parser.add_argument("--logs", type=Path, help="a folder that keeps the logs of Spark and Covey")
    return parser


def prepared(options: argparse.Namespace, work: Callable[[Path, Path], int]) -> int:
    """Do some work with a Python that has Spark, in a folder for logs. Return the exit status."""
    if lacks := missing():
        say(f"{Path(sys.argv[0]).stem}: this machine lacks {', '.join(lacks)}")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.folder.mkdir(parents=True, exist_ok=True)
    python = environment(options.folder, options.spark)
    with tempfile.TemporaryDirectory() as name:
        folder = options.logs or Path(name)
        (folder / "work").mkdir(parents=True)
        return work(python, folder)


def main() -> int:
    """Run all of it."""
    parser = arguments("Two tenants of Spark on shaped links.", rate=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scale", default="0.2", help="of TPC-H; 1 is a gigabyte")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--one", action="store_true", help="both are jobs of one application")
    how.add_argument("--check", action="store_true", help="compare the results of TPC-H in all modes")
    how.add_argument("--overhead", action="store_true", help="measure what idle modes cost")
    options = parser.parse_args()

    def work(python: Path, folder: Path) -> int:
        if options.check or options.overhead:
            data = tables(options.folder, python, options.scale)
            with Modes(options.covey, python, folder, data, jar(options.spark)) as modes:
                return modes.check() if options.check else modes.overhead(SMALL, options.pairs)
        return measure(options, python, folder)

    return prepared(options, work)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
