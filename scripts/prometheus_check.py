#!/usr/bin/env python3
"""Checks the metrics, the alert rules and the dashboard against a real Prometheus and coordinator.

    scripts/prometheus_check.py COVEY

Starts a coordinator, a relay, and agents of which some join through the relay, registers coflows,
and has Prometheus scrape it. `promtool` must accept the metrics and the rules, and the tests of the
rules must pass. Prometheus must carry out every expression of the rules and of the dashboard, and
have every metric that they name. Then an agent is killed; Prometheus must raise the alerts on the
coflow that stalls and on the agent. Exit status 1 if anything of that is not so.

Needs `prometheus` and `promtool` (Debian's package `prometheus` has both). All is on loopback.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent
RULES = SCRIPTS / "prometheus" / "covey.rules.yml"
DASHBOARD = SCRIPTS / "grafana" / "covey.json"
METRIC = re.compile(r"\b(?:covey|process)_[a-z_]+\b")
# What Grafana would put in.
VARIABLES = {"$__rate_interval": "20s", "$job": ".+", "$instance": ".+"}
DIRECT, RELAYED = 3, 2


class Processes(contextlib.ExitStack):
    """Processes that end with this one."""

    def start(
        self, *arguments: str | Path, addresses: int = 0
    ) -> tuple[subprocess.Popen, list[str]]:
        """Starts one, and reads the addresses that it prints."""
        out = subprocess.PIPE if addresses else subprocess.DEVNULL
        process = subprocess.Popen(
            [str(it) for it in arguments], stdout=out, stderr=subprocess.DEVNULL, text=True
        )

        def end() -> None:
            process.kill()
            process.wait()

        self.callback(end)
        lines = [process.stdout.readline() for _ in range(addresses)] if process.stdout else []
        return process, [line.split()[1] for line in lines]


def ask(
    url: str, token: str | None = None, body: Any = None, tls: ssl.SSLContext | None = None
) -> bytes:
    """Asks, and returns the body of the answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=10, context=tls) as answer:
        return answer.read()


def until(what: str, seconds: float, holds: Any) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if holds():
                return
        if time.monotonic() > end:
            sys.exit(f"{what}: not after {seconds:.0f} s")
        time.sleep(0.2)


def promtool(*arguments: str | Path, stdin: bytes | None = None) -> None:
    """Runs promtool, which must be content and must not say anything against it."""
    ran = subprocess.run(
        ["promtool", *(str(it) for it in arguments)], input=stdin, capture_output=True, check=False
    )
    said = (ran.stdout + ran.stderr).decode().strip()
    print(f"promtool {' '.join(str(it) for it in arguments)}: {said or 'not a word'}")
    if ran.returncode != 0:
        sys.exit(1)


def dashboard_expressions() -> list[str]:
    """The expressions of the dashboard, with values for its variables."""
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    expressions += [annotation["expr"] for annotation in dashboard["annotations"]["list"]]
    for name, value in VARIABLES.items():
        expressions = [it.replace(name, value) for it in expressions]
    return expressions


def main() -> None:
    """Runs all checks."""
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[2].strip())
    covey = Path(sys.argv[1]).resolve()
    promtool("check", "rules", RULES)
    promtool("test", "rules", SCRIPTS / "prometheus" / "covey.rules.test.yml")
    with tempfile.TemporaryDirectory() as folder, Processes() as processes:
        check(covey, Path(folder), processes)
    print("all holds")


def check(covey: Path, folder: Path, processes: Processes) -> None:
    """The checks that need a coordinator."""
    data = folder / "data"
    local = "127.0.0.1:0"
    # With certificates, which have a metric of their own.
    init = [covey, "serve", "--init", "--data", data, "--relay", "127.0.0.1"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    times = ("--heartbeat", "200ms", "--lost-after", "1s")
    _, (clients, agents) = processes.start(
        covey, "serve", "--data", data, "--ports", "8", "--clients", local, "--agents", local,
        *times, addresses=2,
    )  # fmt: skip
    _, (relay,) = processes.start(
        covey,
        "relay",
        "--coordinator",
        agents,
        "--listen",
        local,
        "--credentials",
        data / "relays" / "127.0.0.1",
        addresses=1,
    )
    hosts = []
    for port in range(DIRECT + RELAYED):
        to = agents if port < DIRECT else relay
        hosts += processes.start(
            covey, "agent", "--port", str(port), "--coordinator", to, "--credentials", data,
            "--socket", folder / f"{port}.sock",
        )[:1]  # fmt: skip
    token = (data / "token").read_text().strip()
    tls = ssl.create_default_context(cafile=data / "ca.pem")
    for port in range(3):
        flows = [
            {"src": port, "dst": port + 1, "bytes": 1e9},
            {"src": 3, "dst": port, "bytes": 1e9},
        ]
        ask(f"https://{clients}/v1/coflows", token, {"flows": flows}, tls=tls)
    with contextlib.suppress(urllib.error.HTTPError):
        ask(f"https://{clients}/v1/coflows/99", token, tls=tls)

    def metrics() -> str:
        return ask(f"https://{clients}/metrics", token, tls=tls).decode()

    until("agents join", 20, lambda: f"\ncovey_agents {DIRECT + RELAYED}\n" in metrics())
    promtool("check", "metrics", stdin=metrics().encode())

    (folder / "token").write_text(token)
    rules = RULES.read_text()
    # Not for minutes, because nobody wants to wait.
    (folder / "covey.rules.yml").write_text(re.sub(r"for: \d+m", "for: 2s", rules))
    config = (SCRIPTS / "prometheus" / "prometheus.yml").read_text()
    config = config.replace("127.0.0.1:7420", clients).replace("_interval: 5s", "_interval: 1s")
    config = config.replace("global:", "global:\n  evaluation_interval: 1s")
    encrypted = f"scheme: https\n    tls_config:\n      ca_file: {data}/ca.pem\n    authorization:"
    config = config.replace("authorization:", encrypted)
    (folder / "prometheus.yml").write_text(config)
    promtool("check", "config", folder / "prometheus.yml")
    # A port that is free now.
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        at = f"127.0.0.1:{server.getsockname()[1]}"
    prometheus, _ = processes.start(
        "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address={at}",
    )  # fmt: skip

    def query(expression: str) -> list[Any]:
        asked = urllib.parse.urlencode({"query": expression})
        return json.loads(ask(f"http://{at}/api/v1/query?{asked}"))["data"]["result"]

    def scraped() -> bool:
        return prometheus.poll() is None and query("covey_agents") != []

    until("Prometheus scrapes", 30, scraped)
    time.sleep(5)
    groups = json.loads(ask(f"http://{at}/api/v1/rules"))["data"]["groups"]
    alerts = [rule["query"] for group in groups for rule in group["rules"]]
    wrong, empty = [], []
    names = set()
    for expression in alerts + dashboard_expressions():
        names |= set(METRIC.findall(expression))
        try:
            if not query(expression) and expression not in alerts:
                empty.append(expression)
        except urllib.error.HTTPError as error:
            wrong.append(f"{expression}: {error.read().decode()}")
    missing = sorted(name for name in names if not query(name))
    print(
        f"{len(alerts)} rules; {len(dashboard_expressions())} expressions of the dashboard, of which"
    )
    print(f"{len(empty)} have no value here: {empty}")
    print(f"{len(names)} metrics are named")
    if wrong or missing:
        sys.exit(f"wrong: {wrong}; metrics that the coordinator does not have: {missing}")

    def firing() -> set[str]:
        data = json.loads(ask(f"http://{at}/api/v1/alerts"))["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in data if alert["state"] == "firing"}

    print(f"firing before: {sorted(firing())}")
    hosts[1].kill()
    until("alerts", 40, lambda: {"CoveyAgentsLost", "CoveyCoflowsStalled"} <= firing())
    print(f"firing after an agent was killed: {sorted(firing())}")


if __name__ == "__main__":
    main()
