"""Coflow scheduling: published policies in one exact simulator, and for real hosts.

>>> import covey
>>> trace = covey.generate("fb-like", coflows=20)
>>> covey.simulate(trace, "sebf").summary()["coflows"]
20

`Client` and `AsyncClient` take part in the live system: coflows that a coordinator schedules.

Units: times are seconds, sizes bytes, rates bytes per second unless a name says another. Tables are
`Frame` objects, which pandas, polars and pyarrow take over. ``docs/python.md`` has recipes.
"""

from covey._api import (
    bound,
    compare,
    generate,
    identify,
    load_trace,
    parse_trace,
    policies,
    reproduce,
    simulate,
    spec,
    whatif,
)
from covey._async_client import (
    AsyncBlocks,
    AsyncClient,
    AsyncCoflow,
    AsyncFlowReceiver,
    AsyncFlowSender,
    AsyncListener,
)
from covey._check import check_policy
from covey._client import Blocks, Client, Coflow, FlowReceiver, FlowSender, Listener
from covey._core import (
    Comparison,
    ConformanceError,
    CoordinatorError,
    Frame,
    Identification,
    InputError,
    KnowledgeError,
    Newcomer,
    NewGroup,
    OverSeeds,
    Plan,
    Regrouping,
    Reproduction,
    Result,
    SimulationError,
    Trace,
    View,
    WhatIf,
    __version__,
)
from covey._live import UnscheduledWarning
from covey._policy import UNCHANGED, Policy
from covey._sweep import sweep

__all__ = [
    "UNCHANGED",
    "AsyncBlocks",
    "AsyncClient",
    "AsyncCoflow",
    "AsyncFlowReceiver",
    "AsyncFlowSender",
    "AsyncListener",
    "Blocks",
    "Client",
    "Coflow",
    "Comparison",
    "ConformanceError",
    "CoordinatorError",
    "FlowReceiver",
    "FlowSender",
    "Frame",
    "Identification",
    "InputError",
    "KnowledgeError",
    "Listener",
    "NewGroup",
    "Newcomer",
    "OverSeeds",
    "Plan",
    "Policy",
    "Regrouping",
    "Reproduction",
    "Result",
    "SimulationError",
    "Trace",
    "UnscheduledWarning",
    "View",
    "WhatIf",
    "__version__",
    "bound",
    "check_policy",
    "compare",
    "generate",
    "identify",
    "load_trace",
    "parse_trace",
    "policies",
    "reproduce",
    "simulate",
    "spec",
    "sweep",
    "whatif",
]
