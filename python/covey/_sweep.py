"""Parameters, seeds and traces crossed: one tidy table."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from covey import _core
from covey._api import opened, simulate, spec, weights
from covey._core import Frame, Trace
from covey._extras import library
from covey._policy import Policy, prepared
from covey._progress import bar

if TYPE_CHECKING:
    from covey._policy import PolicyLike

Engine = Literal["threads", "ray", "dask"]
Point = dict[str, Any]
"""A point of the grid: a value for each name."""
Row = dict[str, Any]
"""What was measured there, with the names and values of the point first."""

OPTIONS = (
    "fabric",
    "port_rate",
    "cpu",
    "sim",
    "barrier",
    "seed",
    "rung",
    "metric",
    "tenants",
    "bound",
)
"""Names in a grid that are options of `simulate`; others are parameters of the policy."""


def sweep(
    grid: Mapping[str, object],
    *,
    engine: Engine = "threads",
    jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Frame:
    """Simulate every combination of a grid; a row for each, in the order of the grid.

    `grid` gives a value, or several, for each name. "trace" (a `Trace`, or a name as for
    `load_trace`) and "policy" must be there; options of `simulate` may be ("seed", "fabric",
    "port_rate", "cpu", "sim", "barrier", "rung", "metric", "tenants", "bound"). Every other name is a
    parameter of the policy: ``{"trace": ..., "policy": "aalo", "K": [5, 10], "seed": range(3)}``. In
    rows, "tenants" has the text that the command line takes.

    Several seeds are refused where no row depends on the seed: a trace that is read is the same for
    every seed, and most policies draw nothing at random.

    Columns: the names of the grid, then mean_cct_s, p50_cct_s, p90_cct_s, p95_cct_s, p99_cct_s,
    max_cct_s, mean_fct_s, makespan_s, lower_bound_mean_cct_s (with "bound"), events, wall_s.

    `engine` does `jobs` (default: the number of cores) at a time: "threads" of this process, "ray"
    (the cluster that is connected, or one on this machine) or "dask" (the client that is there, or
    one on this machine). `resume` is a file that every row is added to as soon as it is known; what
    is in it already is not simulated again.
    """
    points = crossed(grid)
    check_seeds(points)
    done = Done(resume)
    rows: dict[int, Row] = {}
    for place, point in enumerate(points):
        if (row := done.get(point)) is not None:
            rows[place] = row
    missing = [place for place in range(len(points)) if place not in rows]
    # What an engine has begun it ends when it is closed.
    todo = [points[place] for place in missing]
    with (
        bar(progress, "simulations") as tell,
        closing(ENGINES[engine](todo, jobs or os.cpu_count() or 1)) as measured,
    ):
        for number, row in measured:
            place = missing[number]
            rows[place] = row
            done.add(points[place], row)
            if tell:
                tell(len(rows), len(points))
    ordered = [rows[place] for place in range(len(points))]
    names = list(dict.fromkeys(itertools.chain.from_iterable(ordered)))
    return Frame({name: [row.get(name) for row in ordered] for name in names})


def crossed(grid: Mapping[str, object]) -> list[Point]:
    """Give every combination, the last name changing fastest."""
    for name in ("trace", "policy"):
        if name not in grid:
            message = f"grid: expected '{name}' among the names, found {', '.join(grid) or 'none'}"
            raise _core.InputError(message)
    axes = [_values(values) for values in grid.values()]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*axes)]


def check_seeds(points: list[Point]) -> None:
    """Refuse several seeds where no seed changes anything: equal rows would look like certainty."""
    if len({point["seed"] for point in points if "seed" in point}) < 2:
        return
    unused = [point for point in points if not _uses_seed(point)]
    same = f"{len(unused)} of {len(points)} rows do not depend on the seed: a trace that is read"
    same += " is the same for every seed, and only a policy such as 'philae:ports=random' draws"
    if len(unused) == len(points):
        message = f"grid: seed: {same}; expected a builtin trace, such a policy, or a rung"
        raise _core.InputError(message)
    if unused:
        warnings.warn(f"grid: seed: {same}", UserWarning, stacklevel=3)


def _uses_seed(point: Point) -> bool:
    trace, policy, seed = point["trace"], point["policy"], point.get("seed")
    if seed is None:
        return False
    policy = with_params(policy, _params(point))
    return _core.uses_seed(
        os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else "",
        policy if isinstance(policy, str) else None,
        seed,
        point.get("rung"),
        point.get("sim", "exact"),
    )


def _params(point: Point) -> dict[str, object]:
    others = ("trace", "policy", *OPTIONS)
    return {name: value for name, value in point.items() if name not in others}


def _values(values: object) -> list[object]:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Trace, Mapping)):
        return list(values)
    return [values]


def measure(point: Point, stop: _core.Stop | None = None) -> Row:
    """Simulate one point."""
    options = {name: point[name] for name in OPTIONS if name in point}
    if not _uses_seed(point):
        options.pop("seed", None)
    params = _params(point)
    trace, policy = opened(point["trace"], options.get("seed")), point["policy"]
    result = simulate(trace, with_params(policy, params), progress=False, stop=stop, **options)
    summary = result.summary()
    row = {**point, "trace": trace.name, "policy": _label(policy)}
    if "tenants" in point:
        row["tenants"] = weights(point["tenants"])
    row |= {f"{name}_cct_s": value for name, value in summary["cct_s"].items()}
    row["mean_fct_s"] = summary["fct_s"]["mean"]
    for name in ("makespan_s", "lower_bound_mean_cct_s", "events", "wall_s"):
        row[name] = summary[name]
    return row


def with_params(policy: PolicyLike, params: Mapping[str, object]) -> PolicyLike:
    """Give a policy its parameters: a text gets them as text, a class as its arguments."""
    if not params:
        return policy
    if isinstance(policy, str):
        name, _, given = policy.partition(":")
        more = spec(name, **params).partition(":")[2]
        return f"{name}:{given},{more}" if given else f"{name}:{more}"
    if isinstance(policy, type):
        return policy(**params)
    message = f"grid: expected a class for parameters of a policy, found an instance of {policy!r}"
    raise _core.InputError(message)


def _label(policy: PolicyLike) -> str:
    if isinstance(policy, str):
        return policy
    return policy.__name__ if isinstance(policy, type) else prepared(policy)[0]


class Done:
    """The rows that are known already, in a file of JSON lines."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: dict[str, Row] = {}
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            try:
                known = json.loads(line)
            except json.JSONDecodeError:
                continue  # it was cut off when the sweep was
            self.rows[known["point"]] = known["row"]

    def get(self, point: Point) -> Row | None:
        return self.rows.get(self._key(point)) if self.path else None

    def add(self, point: Point, row: Row) -> None:
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps({"point": self._key(point), "row": row}) + "\n")

    @staticmethod
    def _key(point: Point) -> str:
        return json.dumps({name: _known_as(value) for name, value in point.items()})


def _known_as(value: object) -> str:
    """Tell values of a grid apart, in this run of Python and in others."""
    if isinstance(value, Trace):
        return f"{value.name} {hashlib.sha256(value.dumps()).hexdigest()}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, Policy):
        return f"{_known_as(type(value))} {prepared(value)[0]}"
    return str(value)


Measured = Generator[tuple[int, Row], None, None]
"""The number of a point and its row, as soon as it is known."""


def _threads(points: list[Point], jobs: int) -> Measured:
    stop = _core.Stop()
    pool = ThreadPoolExecutor(jobs)
    try:
        futures: dict[Future[Row], int] = {
            pool.submit(measure, point, stop): number for number, point in enumerate(points)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _ray(points: list[Point], jobs: int) -> Measured:
    ray = library("ray", "ray")

    started = not ray.is_initialized()
    if started:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    try:
        shared = {key: ray.put(trace) for key, trace in _traces(points)}
        task: Any = ray.remote(_measure_apart)
        running = {
            task.remote(shared.get(id(point["trace"])), _without_trace(point)): number
            for number, point in enumerate(points)
        }
        while running:
            for one in ray.wait(list(running))[0]:
                yield running.pop(one), ray.get(one)
    finally:
        if started:
            ray.shutdown()


def _dask(points: list[Point], jobs: int) -> Measured:
    distributed = library("distributed", "dask")

    with _dask_client(jobs) as client:
        shared = {key: client.scatter(trace, broadcast=True) for key, trace in _traces(points)}
        futures = {
            client.submit(
                _measure_apart, shared.get(id(point["trace"])), _without_trace(point), pure=False
            ): number
            for number, point in enumerate(points)
        }
        for future, row in distributed.as_completed(list(futures), with_results=True):
            yield futures[future], row


@contextmanager
def _dask_client(jobs: int) -> Iterator[Any]:
    """Give the client that is there, or one with workers on this machine for the time being."""
    distributed = library("distributed", "dask")

    try:
        client = distributed.get_client()
    except ValueError:
        with (
            distributed.LocalCluster(
                n_workers=jobs, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    else:
        yield client


def _traces(points: list[Point]) -> Iterable[tuple[int, Trace]]:
    """Give the traces that are no names, which go to every machine once."""
    traces = {id(point["trace"]): point["trace"] for point in points}
    return [(key, trace) for key, trace in traces.items() if isinstance(trace, Trace)]


def _without_trace(point: Point) -> Point:
    return {**point, "trace": None} if isinstance(point["trace"], Trace) else point


def _measure_apart(trace: Trace | None, point: Point) -> Row:
    return measure(point if trace is None else {**point, "trace": trace})


ENGINES: dict[str, Callable[[list[Point], int], Measured]] = {
    "threads": _threads,
    "ray": _ray,
    "dask": _dask,
}
