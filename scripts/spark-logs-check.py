#!/usr/bin/env python3
"""Checks `covey whatif` against Spark's own metrics: runs queries on three workers at loopback addresses, and compares.

Usage: spark-logs-check.py COVEY [CODEC …]

PySpark must be importable, and Java installed. For each codec an application runs two joins and two aggregations. The
numbers of its event log must be those of Spark's REST interface, to the byte. Prints the bytes that each codec wrote.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import pyspark

HOSTS = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def start(home, folder, name, *arguments):
    log = open(folder / f"{name}.out", "wb")
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(folder / "work")}
    environment |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOG_DIR": str(folder)}
    command = [str(home / "bin" / "spark-class"), *arguments]
    return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)


def wait_for(what, is_there, seconds=240):
    end = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > end:
            sys.exit(f"spark-logs-check: {what}: not there after {seconds} s")
        time.sleep(0.5)


def get(url):
    with urllib.request.urlopen(url, timeout=180) as answer:
        return json.load(answer)


def is_up(url):
    try:
        get(url)
    except OSError:
        return False
    return True


def run_application(master, folder, codec):
    """Runs queries; returns what Spark's REST interface says of each stage that ran."""
    session = (
        pyspark.sql.SparkSession.builder.master(master)
        .appName("spark-logs-check")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{folder}")
        .config("spark.io.compression.codec", codec)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", "600m")
        .config("spark.sql.shuffle.partitions", "12")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .getOrCreate()
    )
    context = session.sparkContext
    try:
        orders = session.range(300_000).selectExpr(
            "id", "id % 5000 as customer", "concat('order ', id, ' of ', id % 5000) as text"
        )
        customers = session.range(5_000).selectExpr("id as customer", "concat('name ', id) as name")
        joined = orders.repartition(9).join(customers, "customer")
        joined.groupBy("name").count().collect()
        joined.groupBy("customer").agg({"text": "max"}).collect()
        url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        time.sleep(5)  # the interface follows the events
        return context.applicationId, get(f"{url}/stages")
    finally:
        session.stop()


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
    home = pathlib.Path(pyspark.__file__).parent
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        port, ui = free_port(), free_port()
        master = f"spark://127.0.0.1:{port}"
        deploy = "org.apache.spark.deploy"
        processes = [
            start(
                home,
                folder,
                "master",
                f"{deploy}.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--webui-port",
                str(ui),
            )
        ]
        try:
            wait_for("the master", lambda: is_up(f"http://127.0.0.1:{ui}/json/"))
            for host in HOSTS:
                processes.append(
                    start(
                        home,
                        folder,
                        host,
                        f"{deploy}.worker.Worker",
                        "--host",
                        host,
                        "--cores",
                        "1",
                        "--memory",
                        "1g",
                        "--webui-port",
                        "0",
                        master,
                    )
                )
            alive = lambda: get(f"http://127.0.0.1:{ui}/json/")["aliveworkers"] >= len(HOSTS)  # noqa: E731
            wait_for("three workers", alive)
            for codec in codecs or ["lz4"]:
                application, stages = run_application(master, folder, codec)
                log = check(covey, folder, application, stages)
                print(
                    f"Spark {pyspark.__version__} {codec}: {log['coflows']} coflows, {log['remote']} bytes remote, "
                    f"{log['written']} written, raw {log['raw']} for {log['raw_written']}: equal to the byte",
                    flush=True,
                )
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait()


main()
