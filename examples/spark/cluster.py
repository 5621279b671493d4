"""Spark's master and workers, tenants, a coordinator and agents, between emulated hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from lib.network import HOSTS, SWITCH, Network, run  # noqa: E402

MASTER = f"spark://{SWITCH}:7077"
IDLE_AFTER = "200ms"
CORES = 4
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """A master on the switch, and a worker on each host."""

    def __init__(self, network: Network, python: Path, folder: Path) -> None:
        self.network, self.python, self.folder = network, python, folder
        where = "import pyspark, pathlib; print(pathlib.Path(pyspark.__file__).parent)"
        home = subprocess.check_output([python, "-c", where], text=True).strip()
        self.environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "PYTHONUNBUFFERED": "1",
        }
        self._java("s", "master.Master", "--host", SWITCH, "--port", 7077, "--webui-port", 0)
        for host in range(HOSTS):
            self.add_worker(host)

    def add_worker(self, host: int) -> None:
        """Start the worker of a host."""
        what = ["--host", self.network.address(host), "--cores", 16, "--memory", "16g"]
        what += ["--work-dir", self.folder / "work", "--webui-port", 0, MASTER]
        self._java(host, "worker.Worker", *what)

    def _java(self, where: object, name: str, *words: object) -> None:
        command = [f"{self.environment['SPARK_HOME']}/bin/spark-class"]
        log = (self.folder / f"{name}-{where}.log").open("w")
        self.network.start(
            where, *command, f"org.apache.spark.deploy.{name}", *words,
            stdout=log, stderr=log, env=self.environment,
        )  # fmt: skip


class Tenant:
    """An application on the cluster, with an executor on each host."""

    def __init__(self, cluster: Cluster, name: str, tables: Path, settings: dict[str, Any]) -> None:
        self.name = name
        logs = cluster.folder / "logs"
        logs.mkdir(exist_ok=True)
        given = {
            "spark.master": MASTER,
            "spark.driver.host": SWITCH,
            "spark.driver.bindAddress": SWITCH,
            "spark.driver.memory": "600m",
            "spark.driver.extraJavaOptions": QUICK,
            "spark.executor.memory": "600m",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.executor.cores": CORES,
            "spark.cores.max": CORES * HOSTS,
            "spark.scheduler.minRegisteredResourcesRatio": 1.0,
            "spark.sql.shuffle.partitions": 2 * HOSTS,
            "spark.sql.autoBroadcastJoinThreshold": -1,
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": logs.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            **settings,
        }
        self._error = cluster.folder / f"{name}.log"
        words = [name, tables, *(f"{setting}={value}" for setting, value in given.items())]
        self._process = cluster.network.start(
            "s", cluster.python, HERE / "tenant.py", *words,
            stdin=subprocess.PIPE, stderr=self._error.open("w"), env=cluster.environment,
        )  # fmt: skip
        self._logs, self._application = logs, ""
        self._asked, self._answers = 0, dict[int, dict[str, Any]]()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            last = self._error.read_text().strip().splitlines()[-1:]
            raise RuntimeError(f"{self.name} has ended: {''.join(last)}")
        return json.loads(line)

    @property
    def log(self) -> Path:
        """The event log."""
        found = sorted(self._logs.glob(f"{self.application}*"))
        return found[0]

    @property
    def application(self) -> str:
        """The id of the application; waits until it has one."""
        if not self._application:
            self._application = self._answer()["application"]
        return self._application

    def ask(self, sql: str, again: bool = False) -> int:
        """Begin a query. Return its number."""
        return self._tell({"sql": sql, "again": again})

    def kill(self, after_s: float) -> int:
        """Have a random task killed. Return the number of this request."""
        return self._tell({"kill": after_s})

    def _tell(self, what: dict[str, Any]) -> int:
        assert self.application
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        self._asked += 1
        return self._asked - 1

    def hear(self, number: int) -> tuple[float, Any]:
        """Wait for the end of a request. Return the seconds that it took, and its result."""
        while number not in self._answers:
            answer = self._answer()
            self._answers[answer["number"]] = answer
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer["seconds"], answer["result"]

    def run(self, sql: str, again: bool = False) -> tuple[float, str]:
        """Run a query. Return the seconds that it took, and its result."""
        return self.hear(self.ask(sql, again))

    def stop(self) -> None:
        """End the application."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


class Coordinator:
    """A coordinator on the switch, and agents that attach to hosts."""

    def __init__(
        self, network: Network, covey: Path, folder: Path, rate: str, policy: str, port: int = 7420
    ) -> None:
        self._network, self._covey, self._folder, self._port = network, covey, folder, port
        self._words = ["--ports", HOSTS, "--port-rate", rate, "--policy", policy]
        self._words += ["--idle-after", IDLE_AFTER]
        self.agents: list[subprocess.Popen[str]] = []
        run(covey, "serve", "--data", folder, "--init", "--name", SWITCH, "--agent", "0-2")
        self.start()

    def start(self) -> None:
        """Start it."""
        what = [*self._words, "--clients", f"{SWITCH}:{self._port}"]
        what += ["--agents", f"{SWITCH}:{self._port + 1}"]
        log = (self._folder.parent / "coordinator.log").open("a")
        self.process = self._network.start(
            "s", self._covey, "serve", "--data", self._folder, *what, stderr=log
        )
        assert self.process.stdout
        self.process.stdout.readline()

    @property
    def settings(self) -> dict[str, Any]:
        """The plug-in's."""
        return {
            "spark.plugins": "org.covey.spark.CoveyPlugin",
            "spark.covey.coordinator": f"https://{SWITCH}:{self._port}",
            "spark.covey.hosts": ",".join(f"{Network.address(k)}={k}" for k in range(HOSTS)),
            "spark.covey.token.file": self._folder / "token",
            "spark.covey.ca.file": self._folder / "ca.pem",
            "spark.driver.extraJavaOptions": QUICK,
        }

    def attach(self) -> None:
        """Start agents that attach to hosts."""
        self._start_agents("attach", "--host")

    def start_agents(self) -> None:
        """Start agents that do nothing to flows."""
        self._start_agents("agent", "--enforcer", "none")

    def _start_agents(self, *words: object) -> None:
        for host in range(HOSTS):
            what = ["--port", host, "--coordinator", f"{SWITCH}:{self._port + 1}"]
            shown = ["--credentials", self._folder / "agents" / str(host)]
            log = (self._folder.parent / f"agent-{host}.log").open("a")
            command = [self._covey, *words, *what, *shown]
            self.agents.append(self._network.start(host, *command, stderr=log))
        time.sleep(1)

    def detach(self) -> None:
        """End the agents, which release all flows."""
        for agent in self.agents:
            agent.terminate()
        for agent in self.agents:
            agent.wait()
        self.agents.clear()
