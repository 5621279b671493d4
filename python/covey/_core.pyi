"""What the Rust crates give."""

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, Literal, TypedDict, TypeVar

import pandas as pd
import polars as pl
import pyarrow as pa
from matplotlib.axes import Axes
from typing_extensions import NotRequired

from covey._policy import Policy

T_co = TypeVar("T_co", covariant=True)

__version__: str

def page_styles(labels: list[str], baseline: int | None) -> list[tuple[str, list[float]]]: ...

Scheduled = Literal["yes", "no coordinator", "no agent", "by receivers"]

Flow = tuple[int, int]
"""The number of its coflow, and its own within that."""

Sharing = Literal[
    "maxmin",
    "equal",
    "all-or-none",
    "matching",
    "matching-by-load",
    "oldest-first",
    "hold",
    "rate",
    "madd",
    "proportional",
    "by-size",
    "shortest-first",
]

class InputError(ValueError):
    """A trace, a policy or an argument is wrong; the message says where, and what was expected."""

class SimulationError(RuntimeError):
    """A simulation could not go on, most often because of what a policy planned."""

class KnowledgeError(AttributeError):
    """A policy asked for what its level of knowledge does not grant."""

class ConformanceError(RuntimeError):
    """A policy does not keep to what every policy must; the message has a workload that shows it."""

class CoordinatorError(RuntimeError):
    """A coordinator refuses what it was asked; `status` is that of HTTP."""

    status: int

class ParamInfo(TypedDict):
    """A parameter of a policy."""

    name: str
    default: str
    help: str

class PolicyInfo(TypedDict):
    """A policy of the registry."""

    name: str
    knows: str
    params: list[ParamInfo]
    source: str
    summary: str

class Frame:
    """A table: named columns of the same length, with the unit at the end of each name.

    It has the Arrow PyCapsule interface: ``polars.DataFrame(frame)`` and ``pyarrow.table(frame)``
    share its memory.
    """

    def __new__(cls, columns: Mapping[str, Sequence[object]]) -> Frame: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]:
        """A column as a list of Python's values."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_pyarrow(self) -> pa.Table:
        """As a `pyarrow.Table`, which shares its memory."""

    def to_pandas(self) -> pd.DataFrame:
        """As a `pandas.DataFrame`; columns of numbers are not copied. Needs pyarrow."""

    def to_polars(self) -> pl.DataFrame:
        """As a `polars.DataFrame`, which shares its memory."""

    def _repr_html_(self) -> str: ...

class Trace:
    """What is to be sent, when, and between which ports. It never changes, and can be pickled."""

    @staticmethod
    def from_flows(
        frame: object,
        *,
        ports: int | None = None,
        name: str = "a frame",
        columns: Mapping[str, str] | None = None,
    ) -> Trace:
        """Make a trace of a table with a row for each flow.

        `frame` is a data frame of pandas, polars or pyarrow, a `Frame`, or a dict of columns:

        - coflow: the coflow's name, a text or a whole number;
        - arrival_s: when the coflow arrives, in seconds or as a date, the same in all its rows;
        - src, dst: the ports that send and receive, from 0, or the names of hosts;
        - bytes: the size of the flow.

        `columns` says which column has what, such as ``{"src": "client"}``; without it, columns have
        these names. Without arrival_s a coflow arrives with its first flow; start_s are on one clock.

        These columns may be left out: start_s (start of the flow, seconds after the arrival or a date),
        restart_s (when it loses what it has sent), attempt (the number, among the coflow's rows, of
        an earlier flow that carries the same bytes) and ratio (compressed bytes for each raw byte;
        1: not compressible); and, the same in all rows of a coflow, weight, deadline_s (time
        allowed after the arrival), job and tenant (names), parents (a list of coflows that end before
        this one is released) and compress (False: never). Other columns are not looked at.

        Coflows are in the order in which they first appear. There are `ports` ports, or else as many
        as are named; messages call the trace `name`. Raises `InputError` with row (from 0) and column.
        """

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def ports(self) -> int:
        """Number of ports."""

    @property
    def origin(self) -> Decimal:
        """Where times begin on the clock of the trace: exact seconds, and mostly 0."""

    @property
    def flows(self) -> int:
        """Number of flows of all coflows."""

    @property
    def bytes(self) -> float:
        """Bytes of all flows."""

    @property
    def coflows(self) -> Frame:
        """A row for each coflow: coflow_id, arrival_s, width, size_bytes, length_bytes."""

    def __len__(self) -> int:
        """Count the coflows."""

    def info(self, *, fabric: str | None = None, port_rate: str | None = None) -> dict[str, Any]:
        """Statistics, as of ``covey trace info --json``.

        With `fabric` also how busy the trace keeps the links of that network by tier, under the keys
        fabric and tiers. `port_rate` is the speed of ports with its unit (default "1gbps").
        """

    def dumps(self) -> builtins.bytes:
        """Write the trace as Covey JSON lines."""

    def _repr_html_(self) -> str: ...
    def filter(self, min_width: int | None = None, min_skew: float | None = None) -> Trace:
        """Keep coflows of at least so many flows, and of more than so much skew (Philae 8.1)."""

    def mantri(self, cv_p50: float = 0.34, cv_p90: float = 3.1, seed: int = 1) -> Trace:
        """Let mappers send unequally (Philae 8.1); what reducers receive stays.

        The coefficients of variation over the mappers of a coflow are `cv_p50` at the median and
        `cv_p90` at the 90th percentile.
        """

    def skew(self, sigma: float = 1.0, seed: int = 1) -> Trace:
        """Multiply each flow by exp(sigma * normal); the size of each coflow stays."""

    def scale(self, time: float = 1.0, size: float = 1.0, ports: int | None = None) -> Trace:
        """Multiply all times and sizes; fold ports, p becoming p modulo `ports`."""

    def burst(self, group: int = 20) -> Trace:
        """Let so many coflows that follow each other arrive together."""

    def waves(self, max: int = 4, rate: str = "1gbps", seed: int = 1, of: str = "coflows") -> Trace:
        """Divide coflows into at most `max` waves of senders (Aalo 7.3, Table 4).

        With `of="flows"`, the percentages are of each coflow's flows (Stream, Table 2).
        A wave begins when the one before would be over, alone on ports of this rate.
        """

    def split_receivers(self) -> Trace:
        """Make each receiver of a coflow a coflow (Stream IV, many-to-one); its job is the coflow."""

    def dag(self, shape: str = "q42") -> Trace:
        """Make each coflow a job of six stages (Stream IV): "q42" or "tao"."""

    def replicate(self, copies: int) -> Trace:
        """Put copies side by side, each on ports of its own; the original counts."""

class Result:
    """One policy simulated on one trace."""

    @property
    def label(self) -> str:
        """The policy as it was written."""

    @property
    def policy(self) -> str:
        """The policy's name."""

    @property
    def mean_cct_s(self) -> float:
        """The mean completion time of its coflows."""

    @property
    def per_coflow(self) -> Frame:
        """A row for each coflow in the order of the trace, as in ``--per-coflow``.

        coflow_id, arrival_s, completion_s, cct_s, width (flows), size_bytes, length_bytes (longest
        flow), release_s, job, weight, deadline_s, deadline_met, saved_bytes, cpu_s, tenant. Columns
        in which no coflow has a value are left out.
        """

    @property
    def per_flow(self) -> Frame:
        """A row for each flow in the order of the trace, as in ``--per-flow``.

        coflow_id, flow (from 0 within its coflow), src and dst (ports), bytes, start_s,
        completion_s, fct_s.
        """

    @property
    def timeline(self) -> Frame:
        """A row for each time in which a coflow sends out of a port at one rate.

        coflow_id, port, start_s, end_s, bytes_per_s, duration_s. Needs
        ``simulate(..., timeline=True)``.
        """

    def explain(self, coflow: str) -> dict[str, Any]:
        """What the CCT of a coflow went to, as of ``covey explain --json``, and a sentence as `text`.

        The parts add up to it. The policy is simulated again, so it must have been given by name.
        """

    def summary(self) -> dict[str, Any]:
        """Statistics, as of ``covey simulate --json``."""

    def _drawing(self, ports: set[int] | None, coflows: set[str] | None, columns: int) -> Frame: ...
    def _repr_html_(self) -> str: ...

class Comparison:
    """Several policies simulated on one trace. Iterating gives their results in order."""

    @property
    def baseline(self) -> str:
        """The label of the policy that the others are measured against."""

    @property
    def table(self) -> Frame:
        """A row for each policy, as in the table of ``covey compare``.

        policy, mean_cct_s, p50_cct_s, p95_cct_s, p99_cct_s, max_cct_s, speedup_of_mean, speedup_median,
        mean_over_bound (null without a bound), speedup_low and speedup_high (the 95 % interval of
        speedup_of_mean over the coflows; null for the baseline).
        """

    def to_pandas(self) -> pd.DataFrame:
        """`table` as a `pandas.DataFrame`. Needs pyarrow."""

    def to_polars(self) -> pl.DataFrame:
        """`table` as a `polars.DataFrame`."""

    def plot(self, kind: str = "cct", *, axes: Axes | None = None) -> Axes:
        """Draw the distribution of completion times ("cct") or of speed-ups ("speedup").

        Needs matplotlib.
        """

    @property
    def speedups(self) -> Frame:
        """A row for each policy and coflow: policy, coflow_id, speedup.

        The speed-up is the baseline's CCT over the policy's: above 1 is faster.
        """

    @property
    def by_bin(self) -> Frame:
        """A row for each policy and kind of coflow (Aalo, Table 3).

        policy, bin, coflows, mean_cct_s, speedup (of the mean CCT over the baseline's).
        """

    def summary(self) -> dict[str, Any]:
        """Statistics, as of ``covey compare --json``."""

    def report(self, path: str | os.PathLike[str], command: str = "a Python program") -> None:
        """Write a page with table and plots that needs no other file.

        `command` is what the page says made it.
        """

    def __len__(self) -> int: ...
    def __getitem__(self, policy: int | str) -> Result:
        """Give the result of a policy, by its place or as it was written."""

    def _repr_html_(self) -> str: ...

class OverSeeds:
    """Several policies on several traces, which differ by their seed."""

    @property
    def baseline(self) -> str:
        """The label of the policy that the others are measured against."""

    @property
    def seeds(self) -> list[int]:
        """The seeds."""

    @property
    def ranking(self) -> str:
        """The policies by their mean CCT, the fastest first: ``sebf < covey ~ fair``.

        Where there is a ``<``, it is certain at 95 % that the first is faster than the second.
        """

    @property
    def table(self) -> Frame:
        """A row for each policy, as in the table of ``covey compare --seeds``.

        policy, mean_cct_s (the mean over the seeds), speedup_of_mean and speedup_median (geometric
        means over the seeds), speedup_low and speedup_high (the 95 % interval of speedup_of_mean;
        null for the baseline).
        """

    @property
    def by_seed(self) -> Frame:
        """A row for each policy and seed: policy, seed, speedup.

        The speed-up is that of the mean CCT over the baseline: above 1 is faster.
        """

    def summary(self) -> dict[str, Any]:
        """Statistics, as of ``covey compare --seeds --json``."""

    def to_pandas(self) -> pd.DataFrame:
        """`table` as a `pandas.DataFrame`. Needs pyarrow."""

    def to_polars(self) -> pl.DataFrame:
        """`table` as a `polars.DataFrame`."""

    def report(self, path: str | os.PathLike[str], command: str = "a Python program") -> None:
        """Write a page with table and plot that needs no other file.

        `command` is what the page says made it.
        """

    def _repr_html_(self) -> str: ...

class Reproduction:
    """What was found of a paper's evaluation: published values, ours, and whether they hold."""

    def summary(self) -> dict[str, Any]:
        """Give what was found, as of ``covey reproduce --json``."""

    def report(self, path: str | os.PathLike[str], command: str = "a Python program") -> None:
        """Write a page with tables and figures that needs no other file."""

    def _repr_html_(self) -> str: ...

class Identification:
    """The coflows that were found in flow records."""

    @property
    def groups(self) -> Frame:
        """A table with a row for each group, in the order of the groups' numbers.

        group, flows, bytes, first_start_s, last_end_s, sources, destinations.
        """

    @property
    def flows(self) -> Frame:
        """A table with a row for each flow, in order of starts.

        group, src, dst (hosts), sport, dport, protocol (numbers), bytes, start_s, label (never used to
        find groups).
        """

    @property
    def trace(self) -> Trace:
        """The groups as a trace, whose ports are the hosts. Flows without bytes are left out."""

    def summary(self) -> dict[str, Any]:
        """Give what was found, as of ``covey identify --json``."""

    def report(self, path: str | os.PathLike[str], command: str = "a Python program") -> None:
        """Write a page with a picture of the groups, and their table."""

    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

class WhatIf:
    """What applications would have gained, and what their logs say."""

    @property
    def answer(self) -> str:
        """The answer in a sentence or two."""

    @property
    def logs(self) -> Frame:
        """A table with a row for each log: its status, the reason, and its sums."""

    @property
    def coflows(self) -> Frame:
        """A table with a row for each coflow of each log: what an attempt of a stage read."""

    @property
    def hosts(self) -> Frame:
        """A table with a row for each host of each coflow. What it sent is null if that is unknown."""

    @property
    def replays(self) -> Frame:
        """A table with a row for each link rate, codec and policy, with times of jobs."""

    @property
    def jobs(self) -> Frame:
        """A table with the times of each job in each row of `replays`, in the first draw."""

    def summary(self) -> dict[str, Any]:
        """Give all that was found, as of ``covey whatif --json``."""

    def report(self, path: str | os.PathLike[str], command: str = "a Python program") -> None:
        """Write a page with the answer, stages and links over time, and the times of jobs."""

    def _repr_html_(self) -> str: ...

class Newcomer:
    """A flow that belongs to no group yet, as a host sees it."""

    @property
    def number(self) -> int:
        """Its number, which is that of no other flow."""

    @property
    def start_s(self) -> float:
        """When it has started."""

    @property
    def src(self) -> str:
        """Address of the host that sends; the number of a port of the trace if no address is known."""

    @property
    def dst(self) -> str:
        """Address of the host that receives."""

    @property
    def sport(self) -> int:
        """The sender's transport port; 0 if it is unknown."""

    @property
    def dport(self) -> int:
        """The receiver's transport port; 0 if it is unknown."""

    @property
    def protocol(self) -> int:
        """Number of the transport protocol: 6 is TCP, 17 UDP."""

class NewGroup:
    """A group that begins in a regrouping. Then it is a coflow, which `Policy.regrouped` names."""

class Regrouping:
    """Which flows are put into which groups. Every flow may be put once."""

    def begin(self, *, arrival_s: float | None = None) -> NewGroup:
        """Begin a group, which must get flows in this call.

        `View.coflows` has it in the order of `arrival_s`, by default now.
        """

    def put(self, flow: int | Flow, group: NewGroup | int) -> None:
        """Put a flow into a group: a newcomer by its number, or a flow of another group."""

class View:
    """The network at one time, as far as the policy's level of knowledge grants it.

    It shows something only during the call that it is an argument of.
    """

    @property
    def now_s(self) -> float:
        """The present time."""

    @property
    def coflows(self) -> list[int]:
        """Coflows present, in order of arrival; ties in the order of the trace."""

    @property
    def newcomers(self) -> list[Newcomer]:
        """Flows that are in no group yet, in order of their starts; for unlabelled policies."""

    @property
    def ports(self) -> int:
        """Number of ports."""

    @property
    def capacity(self) -> list[float]:
        """Capacity of each link, in bytes per second."""

    def egress(self, port: int) -> int:
        """Give the link out of a port."""

    def ingress(self, port: int) -> int:
        """Give the link into a port."""

    def processor(self, port: int) -> float:
        """Share of a port's processor, 0 to 1, that is there for compressing."""

    def arrival_s(self, coflow: int) -> float:
        """When it arrived."""

    def weight(self, coflow: int) -> float:
        """Weight in a weighted mean of completion times; 1 unless given."""

    def deadline_s(self, coflow: int) -> float | None:
        """Time allowed from arrival to completion, if any."""

    def lineage(self, coflow: int) -> tuple[int, int]:
        """Give the number of its DAG, and its own among the coflows that it depends on."""

    def inherited(self, coflow: int) -> float:
        """Bytes that coflows of the same DAG which had ended when this one arrived had sent."""

    def width(self, coflow: int) -> int:
        """Count the flows started so far."""

    def unfinished(self, coflow: int) -> int:
        """Count the flows that have started and not ended."""

    def senders(self, coflow: int) -> int:
        """Count the ports from which it sends, finished flows included."""

    def receivers(self, coflow: int) -> int:
        """Count the ports at which it receives, finished flows included."""

    def loads(self, coflow: int) -> list[tuple[int, int]]:
        """Links it uses, with the number of its unfinished flows there."""

    def flows(self, coflow: int) -> list[Flow]:
        """Give its unfinished flows, sender by sender."""

    def ends(self, flow: Flow) -> tuple[int, int]:
        """Give the links (egress, ingress) at the two ends of a flow."""

    def flow_number(self, flow: Flow) -> int:
        """Give the number of a flow, which stays the same when it goes to another group."""

    def is_active(self, flow: Flow) -> bool:
        """Whether a flow has started and not ended."""

    def finished_size(self, flow: Flow) -> float | None:
        """Size in bytes of a flow that has ended; None while it has not."""

    def finished(self, coflow: int) -> tuple[int, float]:
        """Number of its flows that have ended, and their bytes."""

    def attained(self, coflow: int) -> tuple[float, float]:
        """Bytes it has sent as last reported, and when that was true in seconds."""

    def size(self, flow: Flow) -> float:
        """Size in bytes; for sized policies."""

    def left(self, flow: Flow) -> float:
        """Bytes left, 0 when it has ended; for sized policies."""

    def raw_left(self, flow: Flow) -> float:
        """Raw bytes among those left; for sized policies."""

    def left_at(self, coflow: int) -> list[tuple[int, float]]:
        """Links and bytes left there, in the order of `loads`; for sized policies."""

    def total(self, coflow: int) -> float:
        """Bytes of all flows, those that are yet to start included; for sized policies."""

    def left_of(self, coflow: int) -> float:
        """Bytes left of all started flows; for sized policies."""

    def bottleneck_s(self, coflow: int) -> float:
        """Seconds that the rest takes when it is alone (Varys 5.1); for sized policies."""

class Plan:
    """The coflows and flows that are served, their order, and how each shares what those before leave.

    Ways to share: "maxmin" (exact max-min fairness), "equal" (one pass of equal shares),
    "all-or-none" (the same rate for every flow), "matching" (one flow per port at full rate),
    "matching-by-load" (the same, ports with most flows first), "oldest-first" (all flows in one
    line), "hold" (nothing), "rate" (`value` bytes per second for each flow). For sized policies also
    "madd" (all flows end together; with a `value` no earlier than after so many seconds),
    "proportional" (max-min fairness in proportion to bytes left), "by-size", and "shortest-first".
    """

    layers: Literal["strict", "weighted", "by-node"]
    """How layers share: what those before leave, or by weight, or as `give` says."""
    backfill: Literal["none", "greedy", "skipped"]
    """Which coflows are offered what is left over: none, all in order, or those that got nothing."""

    def everything(self, share: Sharing = "maxmin") -> None:
        """Serve every flow as one group; then nothing else can be in the plan."""

    def coflow(self, coflow: int, share: Sharing = "maxmin", value: float | None = None) -> None:
        """Serve a coflow behind all others."""

    def coflow_at(
        self, coflow: int, link: int, share: Sharing = "maxmin", value: float | None = None
    ) -> None:
        """Serve the flows of a coflow that cross a link."""

    def flow(self, flow: Flow, share: Sharing = "maxmin", value: float | None = None) -> None:
        """Serve a single flow."""

    def open_layer(self, weight: float = 1.0) -> None:
        """Open a layer behind all others."""

    def give(self, coflow: int, link: int, share: float) -> None:
        """Give a coflow a share, 0 to 1, of a link for its own, with layers "by-node"."""

    def compress(self, codec: str, overlap: bool = False) -> None:
        """Have what is added from now on compressed: "lz4", or SPEED:RATIO like "785MB/s:0.62"."""

    def wake_at(self, time_s: float) -> None:
        """Ask for `Policy.woke` at a time. Wake-ups are gone with the plan."""

    def wake_when_sent(self, coflow: int, bytes_: float, /) -> None:
        """Ask for `Policy.bytes_reached`."""

    def wake_when_dag_sent(self, dag: int, bytes_: float, /) -> None:
        """Ask for `Policy.dag_bytes_reached`."""

    def wake_when_flow_sent(self, coflow: int, bytes_: float, /) -> None:
        """Ask for `Policy.flow_bytes_reached`."""

class Stop:
    """Stops simulations in other threads that were given it."""

    def __new__(cls) -> Stop: ...
    def set(self) -> None:
        """Stop them now."""

def open(
    names: list[str], seed: int | None = None, columns: str | None = None, anonymise: bool = False
) -> Trace: ...
def parse(text: bytes, name: str) -> Trace: ...
def run_command(arguments: list[str], program: str) -> int: ...
def policies() -> list[PolicyInfo]: ...
def parse_rows(text: bytes, name: str, rows: Sequence[Sequence[int]]) -> Trace: ...
def split_list(list: str) -> list[str]: ...
def uses_seed(
    trace: str, policy: str | None, seed: int | None, rung: str | None = None, sim: str = "exact"
) -> bool: ...
def units(name: str) -> dict[str, str]: ...
def check(make: Callable[[], Policy], cases: int) -> None: ...
def reproduce(
    paper: str,
    *,
    table: str | None,
    figure: str | None,
    trace: str | None,
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> Reproduction: ...
def identify(
    files: list[str],
    *,
    format: str | None,
    columns: str | None,
    stitch_s: float | None,
    metric: str | None,
    algorithm: str,
    min_points: int,
    skip_bad: bool,
    strict: bool,
    anonymise: bool,
) -> Identification: ...
def bound(trace: Trace, *, fabric: str, port_rate: str | None) -> dict[str, Any]: ...
def whatif(
    logs: list[str],
    *,
    link_rates: str,
    fabric: str,
    hosts: int | None,
    policies: str,
    offsets: str,
    codecs: str,
    seed: int,
    jobs: int | None,
    anonymise: bool,
) -> WhatIf: ...

class Seeds:
    """Comparisons, one a seed, while they are made."""

    def __init__(self, trace: str) -> None: ...
    def add(self, seed: int, comparison: Comparison) -> None:
        """Add what was found with a seed."""

    def finish(self) -> OverSeeds:
        """What all of them say."""

def run(
    trace: Trace,
    policies: Sequence[str | tuple[str, list[tuple[str, str]], Policy]],
    *,
    fabric: str,
    port_rate: str | None,
    cpu: str,
    sim: str,
    barrier: bool,
    seed: int | None,
    bound: bool,
    rung: str | None,
    metric: str | None,
    tenants: str | None,
    timeline: bool,
    baseline: str | None,
    jct_shares: int | None,
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
    stop: Stop | None,
) -> Comparison: ...

class CoflowStatus(TypedDict):
    """How a coflow is doing; times are on the coordinator's clock, `rate` is in bytes per second."""

    id: int
    name: str | None
    lineage: str
    state: Literal["active", "stalled", "ended", "removed"]
    revision: int
    arrival_s: float
    end_s: float | None
    flows: int
    flow_ids: NotRequired[list[list[int]]]
    flows_ended: int
    flows_stalled: int
    flows_idle: int
    idle_why: Literal["idle", "unopened", "closed", "expired"] | None
    idle_s: float | None
    kept_s: float | None
    bytes_sent: float
    rate: float

class Pending(Generic[T_co]):
    """Something that is under way in the client's threads."""

    def wait(self, timeout: float | None = None) -> T_co:
        """Wait for it; when that takes longer, or a signal comes, it is cancelled."""

    def then(self, callback: Callable[[], None]) -> None:
        """Have `callback` called in another thread when it is done; at once if it is."""

    def result(self) -> T_co:
        """Return what came of it, once."""

    def cancel(self) -> None:
        """Say that nobody wants it any more."""

def connect(
    mode: str,
    agent: str | None,
    coordinator: str | None,
    credentials: str,
    hold_max: float | None,
    lease: float,
    deadline: float,
    strict: bool,
    tls: str | None,
) -> Pending[LiveClient]:
    """Find the agent on this host, and the coordinator."""

class LiveClient:
    """`covey_client::Client`."""

    @property
    def scheduled(self) -> Scheduled: ...
    @property
    def unregistered_because(self) -> str | None: ...
    @property
    def port(self) -> int | None: ...
    @property
    def unsettled(self) -> int: ...
    def settled(self) -> Pending[None]: ...
    def register(self, spec: str) -> Pending[LiveCoflow]: ...
    def join(self, id: int) -> LiveCoflow: ...
    def coflows(self, all: bool) -> Pending[list[CoflowStatus]]: ...
    def listen(self, address: str) -> Pending[LiveListener]: ...
    def blocks(self, address: str) -> Pending[LiveBlocks]: ...

class LiveCoflow:
    """`covey_client::Coflow`."""

    @property
    def id(self) -> int: ...
    @property
    def is_registered(self) -> bool: ...
    def status(self) -> Pending[CoflowStatus | None]: ...
    def ended(self) -> Pending[CoflowStatus | None]: ...
    def update(self, update: str) -> Pending[None]: ...
    def deregister(self) -> Pending[None]: ...
    def open(
        self, flow: int, to: str, bytes: int | None, label: builtins.bytes
    ) -> Pending[LiveSender]: ...
    def push(self, flow: int, to: str, name: bytes, data: bytes) -> Pending[None]: ...
    def get(self, flow: int, from_: str, name: bytes, /) -> Pending[bytes]: ...

class LiveListener:
    """`covey_client::Listener`."""

    @property
    def address(self) -> str: ...
    def accept(self) -> Pending[LiveReceiver]: ...
    def close(self) -> Pending[None]: ...

class LiveSender:
    """`covey_client::FlowSender`."""

    def write(self, data: bytes) -> Pending[None]: ...
    def finish(self) -> Pending[None]: ...
    def close(self) -> Pending[None]: ...

class LiveReceiver:
    """`covey_client::FlowReceiver`."""

    @property
    def coflow(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def label(self) -> bytes: ...
    @property
    def size(self) -> int | None: ...
    def read(self, most: int) -> Pending[bytes]: ...
    def read_all(self) -> Pending[bytes]: ...
    def close(self) -> Pending[None]: ...

class LiveBlocks:
    """`covey_client::Blocks`."""

    @property
    def address(self) -> str: ...
    def pull(self, coflow: int, name: bytes) -> Pending[bytes]: ...
    def put(self, coflow: int, name: bytes, data: bytes) -> None: ...
    def remove(self, coflow: int, name: bytes) -> None: ...
