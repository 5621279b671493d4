"""All modes of the plug-in on fast links: whether results are the same, and what modes cost."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import statistics
import time
from pathlib import Path

from cluster import HERE, Cluster, Coordinator, Tenant
from lib.network import Network

# Quantiles of Student's t, at 0.975, by degrees of freedom.
T = [math.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14]

# Times in each query at which a task of each application is killed, if one runs.
KILLS = 3
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def interval(ratios: list[float]) -> str:
    """Return the geometric mean, and its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.2f}"
    half = T[min(len(logs), len(T)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"


class Modes(contextlib.ExitStack):
    """An application in each mode, on links of 1 Gbit/s."""

    def __init__(self, covey: Path, python: Path, folder: Path, data: Path, plugin: Path) -> None:
        super().__init__()
        self._network = self.enter_context(Network("1gbit", "1m", "reno"))
        cluster = Cluster(self._network, python, folder)
        self._named = Coordinator(self._network, covey, folder / "data", "950mbps", "sebf")
        told = "coda:labels=told"
        self._told = Coordinator(self._network, covey, folder / "told", "950mbps", told, 7430)
        self._named.start_agents()
        given = {
            "off": {},
            "observe": self._named.settings,
            "schedule": self._named.settings,
            "label": self._told.settings,
        }
        self._tenants = {
            mode: Tenant(
                cluster, mode, data,
                {**settings, "spark.covey.mode": mode, "spark.jars": plugin} if settings else {},
            )
            for mode, settings in given.items()
        }  # fmt: skip

    def check(self) -> int:
        """Run the queries of TPC-H in all modes, tasks killed at random. Return the exit status."""
        self._told.attach()
        when = random.Random(1)
        killed = 0
        kills = {7: self._kill_executors, 12: self._kill_agents, 17: self._kill_coordinators}
        queries = [text.strip() for text in (HERE / "tpch.sql").read_text().split(";")]
        status = 0
        for number, query in enumerate(queries[:-1], 1):
            asked = {mode: tenant.ask(query) for mode, tenant in self._tenants.items()}
            tasks = {
                mode: [tenant.kill(when.uniform(0, 6)) for _ in range(KILLS)]
                for mode, tenant in self._tenants.items()
            }
            if number in kills:
                time.sleep(1)
                print(kills[number](), flush=True)
            found = {mode: self._tenants[mode].hear(it) for mode, it in asked.items()}
            killed += sum(self._tenants[mode].hear(it)[1] for mode, of in tasks.items() for it in of)
            differ = [mode for mode, it in found.items() if it[1] != found["off"][1]]
            status |= bool(differ)
            times = ", ".join(f"{mode} {took:.1f} s" for mode, (took, _) in found.items())
            result = f"not the same: {', '.join(differ)}" if differ else "the same"
            print(f"{number:2}: {result} ({times})", flush=True)
        print(f"killed {killed} tasks at random")
        return status

    def _kill_executors(self) -> str:
        killed = 0
        for pid in self._network.pids(1):
            with contextlib.suppress(OSError):
                if EXECUTOR in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        return f"killed the {killed} executors of a host"

    def _kill_agents(self) -> str:
        self._named.agents[2].kill()
        self._told.agents[2].kill()
        return "killed the agents of a host"

    def _kill_coordinators(self) -> str:
        self._named.process.kill()
        self._told.process.kill()
        return "killed the coordinators"

    def overhead(self, sql: str, pairs: int) -> int:
        """Run a query in random order with and without the plug-in, and print ratios. Return 0."""
        modes = ("off", "observe", "schedule", "label")
        for _ in range(5):
            for mode in modes:
                self._tenants[mode].run(sql)
        order = random.Random(1)
        times: dict[str, list[float]] = {mode: [] for mode in modes}
        for _ in range(pairs):
            for mode in order.sample(modes, len(modes)):
                if mode == "label":
                    self._told.attach()
                times[mode].append(self._tenants[mode].run(sql)[0])
                self._told.detach()
        print("| mode | median, s | mode / off, 95 % |\n|---|--:|--:|")
        for mode in modes:
            ratios = [a / b for a, b in zip(times[mode], times["off"], strict=True)]
            print(f"| {mode} | {statistics.median(times[mode]):.3f} | {interval(ratios)} |")
        return 0
