#!/usr/bin/env python3
"""Checks `covey whatif` against Spark's own metrics: runs queries on three workers at loopback addresses, and compares.

Usage: spark-logs-check.py COVEY [CODEC …]

PySpark must be importable, and Java installed. For each codec an application runs two joins and two aggregations. The
numbers of its event log must be those of Spark's REST interface, to the byte. Prints the bytes that each codec wrote.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import pyspark

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from spark_cluster import cluster, get, queries, session  # noqa: E402


def run_application(master, folder, codec):
    """Runs queries; returns what Spark's REST interface says of each stage that ran."""
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.io.compression.codec": codec,
    }
    spark = session(master, "spark-logs-check", settings)
    context = spark.sparkContext
    try:
        queries(spark)
        url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        time.sleep(5)  # the interface follows the events
        return context.applicationId, get(f"{url}/stages")
    finally:
        spark.stop()


def check(covey, folder, application, stages):
    logs = [path for path in folder.iterdir() if application in path.name]
    text = subprocess.run(
        [covey, "whatif", *logs, "--json"], check=True, capture_output=True, text=True
    ).stdout
    (log,) = json.loads(text)["logs"]
    ran = [stage for stage in stages if stage["status"] != "SKIPPED"]
    expected = {
        "remote": sum(stage["shuffleRemoteBytesRead"] for stage in ran),
        "local": sum(stage["shuffleLocalBytesRead"] for stage in ran),
        "written": sum(stage["shuffleWriteBytes"] for stage in ran),
        "wait_ms": sum(stage["shuffleFetchWaitTime"] for stage in ran),
        "rblocks": sum(stage["shuffleRemoteBlocksFetched"] for stage in ran),
        "lblocks": sum(stage["shuffleLocalBlocksFetched"] for stage in ran),
        "run_ms": sum(stage["executorRunTime"] for stage in ran),
        "stages": len(ran),
    }
    found = {key: log[key] for key in expected}
    by_stage = {(stage["stageId"], stage["attemptId"]): stage["shuffleReadBytes"] for stage in ran}
    for coflow in log["coflow_list"]:
        read = sum(coflow["remote_in_by_host"].values()) + sum(coflow["local_by_host"].values())
        if read != by_stage[coflow["stage"], coflow["attempt"]] or not coflow["closed"]:
            sys.exit(
                f"spark-logs-check: stage {coflow['stage']}: read {read}, closed {coflow['closed']}, "
                f"Spark says {by_stage[coflow['stage'], coflow['attempt']]}"
            )
    if found != expected or log["status"] != "success" or log["remote"] == 0:
        sys.exit(
            f"spark-logs-check: {log['status']} {log['reason']}: found {found}, Spark says {expected}"
        )
    return log


def main():
    covey, *codecs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with cluster(folder) as master:
            for codec in codecs or ["lz4"]:
                application, stages = run_application(master, folder, codec)
                log = check(covey, folder, application, stages)
                print(
                    f"Spark {pyspark.__version__} {codec}: {log['coflows']} coflows, {log['remote']} bytes remote, "
                    f"{log['written']} written, raw {log['raw']} for {log['raw_written']}: equal to the byte",
                    flush=True,
                )


main()
