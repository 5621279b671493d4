#!/usr/bin/env python3
"""Checks the plug-in for Spark against a real coordinator: runs queries on three workers at loopback addresses.

Usage: spark-plugin-check.py COVEY JAR TESTS_JAR [CALLBACK …]

PySpark must be importable, and Java installed. Queries run without the plug-in, with it, with a coordinator that is
away, and with a fault in each callback, or in those that are named. Results must be the same, and what goes wrong is
one line in the log. The coflows that the coordinator has heard of must all have ended, and their bytes must be those
that Spark read from other hosts, up to 5 %: how a shuffle divides over tasks is rounded in Spark.
"""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import pyspark

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from spark_cluster import HOSTS, cluster, free_port, get, queries, session, wait_for  # noqa: E402

CALLBACKS = [
    "init",
    "registerMetrics",
    "onJobStart",
    "onStageSubmitted",
    "onTaskStart",
    "onTaskEnd",
    "onStageCompleted",
    "shutdown",
    "the thread that tells the coordinator",
]
PLUGIN, FAULTY = "org.covey.spark.CoveyPlugin", "org.covey.spark.FaultyPlugin"


class Coordinator:
    """A coordinator for three hosts, and a server before it that adds up the bytes of flows by coflow."""

    def __init__(self, covey, folder):
        self.port = free_port()
        self.data = folder / "data"
        self.added = {}
        command = [covey, "serve", "--data", self.data, "--ports", str(len(HOSTS)), "--policy", "fair"]
        command += ["--clients", f"127.0.0.1:{self.port}", "--agents", f"127.0.0.1:{free_port()}"]
        log = open(folder / "serve.out", "wb")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for("the coordinator", self.is_up)
        self.front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        threading.Thread(target=self.front.serve_forever, daemon=True).start()

    def is_up(self):
        with contextlib.suppress(OSError):
            return bool(self.ask("GET", "/v1/coordinator"))
        return False

    def ask(self, method, path, body=None, headers=None):
        token = (self.data / "token").read_text().strip()
        headers = headers or {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def handler(coordinator):
        class Handler(http.server.BaseHTTPRequestHandler):
            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                kept = ("Authorization", "Content-Type", "Idempotency-Key")
                headers = {name: self.headers[name] for name in kept if name in self.headers}
                try:
                    status, answer = 200, coordinator.ask(self.command, self.path, body or None, headers)
                except urllib.error.HTTPError as error:
                    status, answer = error.code, error.read()
                if self.command == "PATCH" and status == 200:
                    coflow = int(self.path.rsplit("/", 1)[1])
                    added = sum(flow["bytes"] for flow in json.loads(body)["add"])
                    coordinator.added[coflow] = coordinator.added.get(coflow, 0) + added
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PATCH = do_DELETE = forward

            def log_message(self, *_):
                pass

        return Handler

    def coflows(self, application):
        found, path = [], "/v1/coflows?state=all&limit=1000"
        while path:
            page = json.loads(self.ask("GET", path))
            found += [it for it in page["items"] if (it.get("name") or "").startswith(application)]
            path = page.get("next") and f"/v1/coflows?state=all&limit=1000&cursor={page['next']}"
        return found

    def settings(self, plugin=PLUGIN, port=None):
        hosts = ",".join(f"{host}={place}" for place, host in enumerate(HOSTS))
        return {
            "spark.plugins": plugin,
            "spark.covey.coordinator": f"http://127.0.0.1:{port or self.front.server_port}",
            "spark.covey.token.file": str(self.data / "token"),
            "spark.covey.hosts": hosts,
        }


class Runs:
    """Runs of the same queries in one JVM, and its log."""

    def __init__(self, master, log):
        self.master, self.log = master, log
        self.results = None

    def run(self, name, settings, fault=None):
        """Gives the application's id, its stages as Spark counts them, and the plug-in's lines in the log."""
        if fault:
            pyspark.SparkContext._jvm.java.lang.System.setProperty("covey.fault", fault)
        begin = self.log.stat().st_size
        spark = session(self.master, name, settings)
        context = spark.sparkContext
        try:
            results = queries(spark)
            time.sleep(3)  # the interface follows the events
            stages = get(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages")
            return context.applicationId, stages
        finally:
            spark.stop()
            self.results = self.results or results
            if results != self.results:
                sys.exit(f"spark-plugin-check: {name}: the results differ")
            with open(self.log) as log:
                log.seek(begin)
                self.lines = [line.strip() for line in log if " covey: " in line and " WARN " in line]


def check_coflows(coordinator, application, stages):
    """The coflows of an application are the shuffles that its stages have read."""
    coflows = coordinator.coflows(application)
    remote = sum(stage["shuffleRemoteBytesRead"] for stage in stages if stage["status"] != "SKIPPED")
    found = sum(coordinator.added.get(coflow["id"], 0) for coflow in coflows)
    left = [coflow["name"] for coflow in coflows if coflow["state"] not in ("done", "removed")]
    if not coflows or left or not 0.95 * remote <= found <= 1.05 * remote:
        sys.exit(f"spark-plugin-check: {len(coflows)} coflows, not ended: {left}, {found} bytes for {remote}")
    return f"{len(coflows)} coflows, {found:.0f} bytes for {remote} that Spark read from other hosts"


def check(master, coordinator, log, callbacks):
    runs = Runs(master, log)
    runs.run("alone", {})
    application, stages = runs.run("observe", coordinator.settings())
    if runs.lines:
        sys.exit(f"spark-plugin-check: observe: unexpected lines {runs.lines}")
    print(f"Spark {pyspark.__version__}: {check_coflows(coordinator, application, stages)}", flush=True)
    cases = [("no coordinator", coordinator.settings(port=free_port()), None)]
    cases += [(f"fault in {name}", coordinator.settings(FAULTY), name) for name in callbacks]
    for name, settings, fault in cases:
        runs.run(name, settings, fault)
        if len(runs.lines) != 1:
            sys.exit(f"spark-plugin-check: {name}: expected one line in the log, found {runs.lines}")
        print(f"{name}: the same results, and {runs.lines[0].split(' covey: ')[1]}", flush=True)


def main():
    covey, jar, tests, *callbacks = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {jar},{tests} pyspark-shell"
        # The driver's log is what its JVM, which PySpark starts, says on standard error.
        log = folder / "driver.log"
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        coordinator = Coordinator(covey, folder)
        try:
            with cluster(folder) as master:
                check(master, coordinator, log, callbacks or CALLBACKS)
        except SystemExit as error:
            print(error.code, flush=True)
            raise
        finally:
            coordinator.process.terminate()
            coordinator.process.wait()


main()
