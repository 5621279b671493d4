"""A cluster of Spark in standalone mode: a master and three workers at loopback addresses of their own."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
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
            sys.exit(f"spark: {what}: not there after {seconds} s")
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


@contextlib.contextmanager
def cluster(folder):
    """Starts it, gives the master's address, and ends it. What the processes say is in `folder`."""
    # `timeout` ends a program in this way: the processes below are to end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("spark: ended by a signal"))
    home = pathlib.Path(pyspark.__file__).parent
    port, ui = free_port(), free_port()
    master, url = f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{ui}/json/"
    classes = "org.apache.spark.deploy"
    at = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui)]
    processes = [start(home, folder, "master", f"{classes}.master.Master", *at)]
    try:
        wait_for("the master", lambda: is_up(url))
        for host in HOSTS:
            at = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0", master]
            processes.append(start(home, folder, host, f"{classes}.worker.Worker", *at))
        wait_for("three workers", lambda: get(url)["aliveworkers"] >= len(HOSTS))
        yield master
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


def session(master, name, settings):
    """Starts an application on the cluster."""
    builder = pyspark.sql.SparkSession.builder.master(master).appName(name)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "12",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    } | settings
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def queries(spark):
    """Runs two joins and two aggregations; gives their results in an order of their own."""
    orders = spark.range(300_000).selectExpr(
        "id", "id % 5000 as customer", "concat('order ', id, ' of ', id % 5000) as text"
    )
    customers = spark.range(5_000).selectExpr("id as customer", "concat('name ', id) as name")
    joined = orders.repartition(9).join(customers, "customer")
    counts = joined.groupBy("name").count().collect()
    greatest = joined.groupBy("customer").agg({"text": "max"}).collect()
    return sorted(map(tuple, counts)), sorted(map(tuple, greatest))
