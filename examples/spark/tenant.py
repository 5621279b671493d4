"""An application of Spark that runs the queries which it is told.

    tenant.py NAME TABLES SETTING=VALUE…

TABLES is a folder of Parquet files, a table each. A line of the input is a query in JSON: `sql`, and
`again` if the tables that it joins are to be divided once, when it is first run: after that it only
reads them. Queries run beside each other. The answer to each is a line, too: its `number`, the
`seconds` that it took, and `result`, a digest of its rows in order; of a query that is run again, the
number of rows. A query that fails has an `error`. A line with `kill`, a number of seconds, kills a
random task after that time, if one runs; its answer is the `result` 1 or 0.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


WRITES = threading.Lock()
MAX_TASKS = 1000


def say(answer: dict[str, Any]) -> None:
    """Write an answer."""
    with WRITES:
        print(json.dumps(answer), flush=True)


class Tenant:
    """A session, and what its queries have divided."""

    def __init__(self, name: str, tables: Path, settings: list[str]) -> None:
        builder = SparkSession.builder.appName(name)
        for setting in settings:
            builder = builder.config(*setting.split("=", 1))
        self.spark = builder.getOrCreate()
        self._divided: dict[str, Any] = {}
        self._random = random.Random(name)
        for table in sorted(tables.glob("*.parquet")):
            self.spark.read.parquet(str(table)).createOrReplaceTempView(table.stem)

    def run(self, sql: str, again: bool = False) -> str:
        """Run a query. Return its result."""
        if again:
            if sql not in self._divided:
                self._divided[sql] = self.spark.sql(sql)._jdf.queryExecution().toRdd()
            return str(self._divided[sql].count())
        *before, last = [part for part in sql.split(";") if part.strip()]
        for part in before:
            self.spark.sql(part)
        rows = sorted(str(tuple(row)) for row in self.spark.sql(last).collect())
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def kill(self, after_s: float) -> int:
        """Kill a random task that runs after some seconds. Return the number of those killed."""
        time.sleep(after_s)
        context = self.spark.sparkContext._jsc.sc()
        store = context.statusStore()
        stages = [(it.stageId(), it.attemptId()) for it in each(store.activeStages())]
        tasks = [it for stage in stages for it in each(store.taskList(*stage, MAX_TASKS))]
        running = [it.taskId() for it in tasks if it.status() == "RUNNING"]
        if not running:
            return 0
        return int(context.killTaskAttempt(self._random.choice(running), True, "to see what happens"))


def each(scala: Any) -> list[Any]:
    """Return what a sequence of Scala has."""
    return [scala.apply(k) for k in range(scala.size())]


def answer(tenant: Tenant, number: int, query: dict[str, Any]) -> None:
    """Run a query, and say its result."""
    # The event log has it with each job of the query.
    tenant.spark.sparkContext.setLocalProperty("covey.query", str(number))
    begin = time.monotonic()
    try:
        said = {"result": tenant.kill(query["kill"]) if "kill" in query else tenant.run(**query)}
    except Exception as error:  # Whatever it is, the next query may do.
        said = {"error": (str(error).splitlines() or [repr(error)])[0]}
    say({**said, "number": number, "seconds": time.monotonic() - begin})


def main() -> None:
    """Run what the input says."""
    name, tables, *settings = sys.argv[1:]
    tenant = Tenant(name, Path(tables), settings)
    say({"application": tenant.spark.sparkContext.applicationId})
    queries = []
    for number, line in enumerate(sys.stdin):
        queries.append(threading.Thread(target=answer, args=(tenant, number, json.loads(line))))
        queries[-1].start()
    for query in queries:
        query.join()
    tenant.spark.stop()


if __name__ == "__main__":
    main()
