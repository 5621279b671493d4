"""What the package does, as functions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, overload

from covey import _core
from covey._core import InputError, Trace
from covey._policy import PolicyLike, prepared
from covey._progress import bar

if TYPE_CHECKING:
    from covey._core import (
        Comparison,
        Identification,
        OverSeeds,
        PolicyInfo,
        Reproduction,
        Result,
        WhatIf,
    )

POLICIES = "covey,fair,fifo,aalo,philae,sebf,sincronia"
"""What is compared if nothing is named, as on the command line."""

MOST_SEEDS = 1000
"""More seeds say nothing new."""

Sim = Literal["exact", "coflowsim", "philae-authors"]


def load_trace(
    path: str | os.PathLike[str],
    *more: str | os.PathLike[str],
    seed: int | None = None,
    columns: Mapping[str, str] | None = None,
    anonymise: bool = False,
) -> Trace:
    """Read a trace, or flow records, in any of the formats; `builtin:NAME` makes one.

    Several files are one trace, on one clock. `columns` says which column of a table of flows has
    what, such as `{"start": "ts", "src": "client", "dst": "server", "bytes": "n"}`; without it,
    columns have common names. `anonymise` takes the names of hosts, coflows, jobs and tenants out.
    `seed` is for builtin traces that say no other.

    Raises `InputError` with file, line and field if a file is none of these.
    """
    names = [os.fspath(name) for name in (path, *more)]
    if seed is not None and not names[0].startswith("builtin:"):
        message = f"seed: expected none for a trace that is read, found {seed}"
        raise InputError(message)
    return _core.open(names, seed, pairs(columns), anonymise)


def pairs(columns: Mapping[str, str] | None) -> str | None:
    """Write names of columns as on the command line."""
    return None if columns is None else ",".join(f"{key}={name}" for key, name in columns.items())


def parse_trace(text: str | bytes, name: str = "a text") -> Trace:
    """Read a trace from text in any of the formats; messages and reports call it `name`."""
    return _core.parse(text.encode() if isinstance(text, str) else text, name)


def generate(name: str, **params: object) -> Trace:
    """Make a workload: "fb-like" or "coflowsim-custom", with parameters.

    The first has seed, coflows, ports and duration_s, the second seed, jobs and ports.
    """
    return _core.open([f"builtin:{spec(name, **params)}"])


def policies() -> list[PolicyInfo]:
    """Every policy: name, what it knows, parameters with defaults and help, source, summary."""
    return _core.policies()


def spec(name: str, **params: object) -> str:
    """A name with parameters as text: ``spec("philae", thin=5)`` is ``"philae:thin=5"``.

    A number is in bytes or seconds where the parameter is a size or a duration:
    ``spec("aalo", q1=1048576)`` is ``"aalo:q1=1048576B"``. A text has its unit: ``q1="1MiB"``.
    """
    units = _core.units(name)
    given = ",".join(f"{key}={_text(value, units.get(key, ''))}" for key, value in params.items())
    return f"{name}:{given}" if given else name


def _text(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value}{unit}" if isinstance(value, Real) and value != 0 else str(value)


def opened(trace: Trace | str | os.PathLike[str], seed: int | None = None) -> Trace:
    """Give the trace that is meant: itself, or the one that `load_trace` reads."""
    if isinstance(trace, Trace):
        return trace
    if isinstance(trace, (str, os.PathLike)):
        is_made = os.fspath(trace).startswith("builtin:")
        return load_trace(trace, seed=seed if is_made else None)
    message = (
        f"trace: expected a covey.Trace, a file, or a name like 'builtin:fb-like', found {trace!r}"
    )
    raise InputError(message)


def _rate(port_rate: str | None) -> str | None:
    """Give the speed of ports as it is written, which is with its unit."""
    if port_rate is None or isinstance(port_rate, str):
        return port_rate
    message = (
        "port_rate: expected a text with its unit, like '10gbps' or '100mbps' (bits per second), "
        f"'125MB/s' or '128MiB/s' (bytes per second), found {port_rate!r}"
    )
    if isinstance(port_rate, (int, float)):
        number = int(port_rate) if port_rate == port_rate // 1 else port_rate
        message += f": did you mean '{number}bps' or '{number}B/s'?"
    raise InputError(message)


def simulate(
    trace: Trace | str | os.PathLike[str],
    policy: PolicyLike = "covey",
    *,
    fabric: str = "big-switch",
    port_rate: str | None = None,
    cpu: str | float = 1,
    sim: Sim = "exact",
    barrier: bool = True,
    seed: int | None = None,
    rung: str | None = None,
    metric: str | os.PathLike[str] | None = None,
    tenants: Mapping[str, float] | None = None,
    bound: bool = False,
    timeline: bool = False,
    progress: bool | None = None,
    stop: _core.Stop | None = None,
) -> Result:
    """Simulate one policy: a text like "philae:thin=5", a `Policy` class, or an instance of one.

    `trace` is a `Trace`, or what `load_trace` takes: a file, or a name like "builtin:fb-like".
    `fabric` is the network: "big-switch", in which only ports limit rates, "fat-tree:k=8", or what else
    docs/fabrics.md lists; the trace's ports become its hosts, and results are by host.
    `port_rate` is the speed of ports with its unit ("10gbps", "128MiB/s"; default "1gbps"). `cpu` is
    the share of processors that is there for compressing, or a CSV file of changes. `sim` is the
    simulator. `barrier` says whether coflows wait for their parents. `seed` is for policies that take
    one, and for the rung.
    `rung` is a name of the ladder of ``covey trace records``: it changes when coflows arrive and flows
    start, and gives flows the addresses and ports that policies without labels see. `metric` is a file
    that ``covey identify --train`` wrote; "coda" compares flows by it.
    `tenants` are weights of the trace's tenants, by name: every link is divided among them by weight,
    and each has an instance of the policy. Without weights tenants count for nothing.
    `bound` also computes a mean CCT that no schedule can beat. `timeline` records who sends when,
    which takes much longer than the simulation itself. `progress` shows a bar, or not; by default
    after a second, on a terminal or in a notebook. `stop` stops it from another thread.

    The global interpreter lock is free meanwhile. Ctrl-C stops the simulation with a
    `KeyboardInterrupt`, also while a policy in Python computes.
    """
    with bar(progress, "coflows") as tell:
        return _core.run(
            opened(trace, seed),
            [prepared(policy)],
            fabric=fabric,
            port_rate=_rate(port_rate),
            cpu=str(cpu),
            sim=sim,
            barrier=barrier,
            seed=seed,
            rung=rung,
            metric=None if metric is None else os.fspath(metric),
            tenants=weights(tenants),
            bound=bound,
            timeline=timeline,
            baseline=None,
            jct_shares=None,
            jobs=None,
            progress=tell,
            stop=stop,
        )[0]


def weights(tenants: Mapping[str, float] | None) -> str | None:
    """Write the weights of tenants as on the command line."""
    if tenants is None:
        return None
    if not isinstance(tenants, Mapping):
        message = f"tenants: expected weights by name, like {{'etl': 3}}, found {tenants!r}"
        raise InputError(message)
    for name in tenants:
        if "," in name:
            message = f"tenants: expected names without a comma, found {name!r}"
            raise InputError(message)
    return ",".join(f"{name}={weight}" for name, weight in tenants.items())


def listed(policies: str | Iterable[PolicyLike]) -> list[PolicyLike]:
    """Give the policies of a list, or of a text as on the command line."""
    if isinstance(policies, str):
        return [*_core.split_list(policies)]
    if isinstance(policies, Iterable):
        return [*policies]
    message = (
        f"policies: expected a list of policies, or a text like 'fair,sebf', found {policies!r}"
    )
    raise InputError(message)


@overload
def compare(
    trace: Trace | str | os.PathLike[str],
    policies: str | Iterable[PolicyLike] = POLICIES,
    *,
    baseline: str | None = None,
    fabric: str = "big-switch",
    port_rate: str | None = None,
    cpu: str | float = 1,
    sim: Sim = "exact",
    barrier: bool = True,
    seed: int | None = None,
    seeds: None = None,
    rung: str | None = None,
    metric: str | os.PathLike[str] | None = None,
    tenants: Mapping[str, float] | None = None,
    jct_shares: int | None = None,
    timeline: bool = False,
    jobs: int | None = None,
    progress: bool | None = None,
    stop: _core.Stop | None = None,
) -> Comparison: ...
@overload
def compare(
    trace: Trace | str | os.PathLike[str],
    policies: str | Iterable[PolicyLike] = POLICIES,
    *,
    baseline: str | None = None,
    fabric: str = "big-switch",
    port_rate: str | None = None,
    cpu: str | float = 1,
    sim: Sim = "exact",
    barrier: bool = True,
    seed: int | None = None,
    seeds: int,
    rung: str | None = None,
    metric: str | os.PathLike[str] | None = None,
    tenants: Mapping[str, float] | None = None,
    jct_shares: int | None = None,
    timeline: bool = False,
    jobs: int | None = None,
    progress: bool | None = None,
    stop: _core.Stop | None = None,
) -> OverSeeds: ...
def compare(
    trace: Trace | str | os.PathLike[str],
    policies: str | Iterable[PolicyLike] = POLICIES,
    *,
    baseline: str | None = None,
    fabric: str = "big-switch",
    port_rate: str | None = None,
    cpu: str | float = 1,
    sim: Sim = "exact",
    barrier: bool = True,
    seed: int | None = None,
    seeds: int | None = None,
    rung: str | None = None,
    metric: str | os.PathLike[str] | None = None,
    tenants: Mapping[str, float] | None = None,
    jct_shares: int | None = None,
    timeline: bool = False,
    jobs: int | None = None,
    progress: bool | None = None,
    stop: _core.Stop | None = None,
) -> Comparison | OverSeeds:
    """Simulate several policies, `jobs` at a time (default: the number of cores), and the bound.

    `policies` is a list of what `simulate` takes, or a text as on the command line. `baseline` is the
    one that the others are measured against: by default "fair" if it is there, else the first.
    `jct_shares` is a seed for job completion times as if each coflow were the shuffle of a job that
    computes as well (Philae 9.2). The rest is as for `simulate`.

    `seeds` compares on so many traces, which differ by their seed: that of `seed` (by default 1), and
    those after it. The result is an `OverSeeds`, which says how certain each difference is. A trace
    that is the same for every seed is refused.
    """
    given = listed(policies)
    if not given:
        message = "policies: expected at least one, found none"
        raise InputError(message)
    options: dict[str, Any] = {
        "fabric": fabric,
        "port_rate": _rate(port_rate),
        "cpu": str(cpu),
        "sim": sim,
        "barrier": barrier,
        "rung": rung,
        "metric": None if metric is None else os.fspath(metric),
        "tenants": weights(tenants),
        "bound": sim == "exact",
        "timeline": timeline,
        "baseline": baseline,
        "jct_shares": jct_shares,
        "jobs": jobs,
        "stop": stop,
    }
    if seeds is None:
        with bar(progress, "coflows") as tell:
            ready = [prepared(policy) for policy in given]
            return _core.run(opened(trace, seed), ready, seed=seed, progress=tell, **options)
    _check_seeds(trace, given, seeds, rung, sim)
    if timeline or jct_shares is not None:
        message = (
            f"seeds: expected none with {'timeline' if timeline else 'jct_shares'}, found {seeds}"
        )
        raise InputError(message)
    all_seeds = _core.Seeds(trace.name if isinstance(trace, Trace) else os.fspath(trace))
    first = 1 if seed is None else seed
    with bar(progress, "seeds") as tell:
        for done, own in enumerate(range(first, first + seeds), start=1):
            ready = [prepared(policy) for policy in given]
            found = _core.run(opened(trace, own), ready, seed=own, progress=None, **options)
            all_seeds.add(own, found)
            if tell is not None:
                tell(done, seeds)
    return all_seeds.finish()


def _check_seeds(
    trace: Trace | str | os.PathLike[str],
    policies: list[PolicyLike],
    seeds: int,
    rung: str | None,
    sim: Sim,
) -> None:
    """Refuse seeds that are too few or too many, or that change nothing."""
    if not 2 <= seeds <= MOST_SEEDS:
        message = f"seeds: expected a number from 2 to {MOST_SEEDS}, found {seeds}"
        raise InputError(message)
    # A trace that is there already is the same for every seed.
    name = "" if isinstance(trace, Trace) else os.fspath(trace)
    specs = [policy if isinstance(policy, str) else None for policy in policies]
    if not any(_core.uses_seed(name, spec, None, rung, sim) for spec in specs):
        message = (
            "seeds: expected the name of a builtin trace that names no seed, a policy that draws at "
            "random, or a rung, found a trace that is the same for every seed"
        )
        raise InputError(message)


def bound(
    trace: Trace | str | os.PathLike[str],
    *,
    fabric: str = "big-switch",
    port_rate: str | None = None,
) -> dict[str, Any]:
    """Give lower bounds of the mean completion time under any schedule, as ``covey bound --json`` does.

    `trace`, `fabric` and `port_rate` are as for `simulate`.
    """
    return _core.bound(opened(trace), fabric=fabric, port_rate=_rate(port_rate))


def identify(
    *files: str | os.PathLike[str],
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    stitch_s: float | None = None,
    metric: str | os.PathLike[str] | None = None,
    algorithm: Literal["rough", "dbscan"] = "rough",
    min_points: int = 1,
    skip_bad: bool = False,
    strict: bool = False,
    anonymise: bool = False,
) -> Identification:
    """Find the coflows in recorded flows, without labels (CODA).

    `files` are flow records in any format that ``covey identify`` reads, or tables; `columns` is as for
    `load_trace`, and `format` is for files that are not recognised. Records of one five-tuple are put
    together across gaps of up to `stitch_s`: by default where records show that an exporter cut
    them, 0 puts none together. `metric` is a file that ``covey identify --train`` wrote. `skip_bad`
    passes over broken lines, and counts them; `strict` refuses what else would be repaired. What was
    repaired is a warning. `anonymise` takes the names of hosts, labels and files out.
    """
    if not files:
        message = "files: expected at least one, found none"
        raise InputError(message)
    if min_points < 1:
        message = f"min_points: expected a number above 0, found {min_points}"
        raise InputError(message)
    if stitch_s is not None and not 0 <= stitch_s < math.inf:
        message = f"stitch_s: expected a number of seconds, found {stitch_s}"
        raise InputError(message)
    return _core.identify(
        [os.fspath(file) for file in files],
        format=format,
        columns=pairs(columns),
        stitch_s=stitch_s,
        metric=None if metric is None else os.fspath(metric),
        algorithm=algorithm,
        min_points=min_points,
        skip_bad=skip_bad,
        strict=strict,
        anonymise=anonymise,
    )


def reproduce(
    paper: str,
    *,
    table: int | str | None = None,
    figure: int | str | None = None,
    trace: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Repeat the evaluation of a paper ("philae", "swallow", "aalo", "coda", "stream"), or a part.

    `trace` is the Facebook trace, which the papers used. Without it a synthetic hour stands in, and
    what is found on that cannot be compared with published values.
    """
    if table is not None and figure is not None:
        message = "figure: expected a table or a figure, found both"
        raise InputError(message)
    with bar(progress, "coflows") as tell:
        return _core.reproduce(
            paper,
            table=None if table is None else str(table),
            figure=None if figure is None else str(figure),
            trace=None if trace is None else os.fspath(trace),
            jobs=jobs,
            progress=tell,
        )


def whatif(
    *logs: str | os.PathLike[str],
    link_rates: Sequence[str] = ("10gbps", "1gbps"),
    fabric: str = "big-switch",
    hosts: int | None = None,
    policies: Sequence[str] = ("fair", "covey", "sebf"),
    offsets: str = "clock",
    codecs: Sequence[str] = (),
    seed: int = 1,
    jobs: int | None = None,
    anonymise: bool = False,
) -> WhatIf:
    """Say what scheduling or a faster network would have saved, from event logs of Spark.

    `logs` are files, rolling folders or folders of logs. The first of `link_rates` is that of the
    cluster. `offsets` lays several applications over one another: "clock", "random:20", or a time
    for each such as "0s,30s". `anonymise` takes the names of hosts, applications and files out.
    ``docs/whatif.md`` says what is exact and what is estimated.

    Raises `InputError` if a path cannot be read. What is wrong with a log is in its status.
    """
    if not logs:
        message = "logs: expected at least one event log, found none"
        raise InputError(message)
    return _core.whatif(
        [os.fspath(log) for log in logs],
        link_rates=",".join(link_rates),
        fabric=fabric,
        hosts=hosts,
        policies=",".join(policies),
        offsets=offsets,
        codecs=",".join(codecs),
        seed=seed,
        jobs=jobs,
        anonymise=anonymise,
    )
