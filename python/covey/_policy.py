"""Policies that are written in Python."""

from __future__ import annotations

import copy
import difflib
import inspect
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from covey._core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covey._core import Flow, Plan, Regrouping, View

UNCHANGED: Final = True
"""What `Policy.plan` returns when the plan in force is to stay."""


class Policy:
    """A scheduling policy: events in, a plan out. Subclass it, and say what it knows.

    In each scheduling round the simulator first reports all that happened (it calls the handlers, which
    do nothing unless overridden) and then asks for the plan once. Between two plans the allocator
    shares rates again whenever a flow ends. A policy keeps no clock and draws no unseeded random
    number.

    Coflows are small numbers that are used again after a coflow has ended; a flow is the pair of its
    coflow and its number within that; links are numbers (`View.egress`, `View.ingress`).
    """

    knows: ClassVar[Literal["sized", "unsized", "unlabelled"]] = "unsized"
    """Whether it sees sizes, and coflows. A policy that asks for more gets a `KnowledgeError`.

    An unlabelled policy sees neither: it puts flows into groups of its own (`regroup`), which are
    coflows to it.
    """

    conserves_work: bool = False
    """Whether it promises that no flow waits while all its links have capacity to spare."""
    starves_nobody: bool = False
    """Whether it promises that a coflow ends however many others come after it."""
    is_local: bool = False
    """Whether it promises that what happens at a node depends on what passed through it alone."""

    wants_attained: bool = False
    """Whether what coflows have sent is to be brought up to date before every call."""
    link_thresholds: Sequence[float] = ()
    """Numbers of bytes, ascending, at which `link_bytes_reached` is called."""

    def flows_arrived(self, view: View) -> None:
        """Flows have started that are in no group: they are the last of `View.newcomers`."""

    def regroup(self, view: View, regrouping: Regrouping) -> None:
        """Put flows into groups, before the plan is made. Unlabelled policies need this method.

        Newcomers wait until they are in a group.
        """

    def regrouped(self, flows: Sequence[Flow], view: View) -> None:
        """Flows have been put into groups; they have these names now, in the order of `regroup`."""

    def coflow_arrived(self, coflow: int, view: View) -> None:
        """A coflow has arrived and its first flows have started."""

    def flows_started(self, coflow: int, view: View) -> None:
        """More flows of a coflow that is present have started."""

    def flow_restarted(self, flow: Flow, view: View) -> None:
        """An unfinished flow has started again; the bytes that it had sent are lost."""

    def flow_ended(self, flow: Flow, view: View) -> None:
        """A flow has ended. Called (and the plan asked for) for every flow, if it is overridden."""

    def port_drained(self, coflow: int, link: int, view: View) -> None:
        """The coflow has no unfinished flow at a link any more. Called if it is overridden."""

    def coflow_ended(self, coflow: int, view: View) -> None:
        """The coflow's last flow has ended; its number will be used again."""

    def bytes_reached(self, coflow: int, bytes_: float, view: View) -> None:
        """The coflow has sent so many bytes, as `Plan.wake_when_sent` asked."""

    def dag_bytes_reached(self, dag: int, bytes_: float, view: View) -> None:
        """The coflows of a DAG have sent so many bytes, as `Plan.wake_when_dag_sent` asked."""

    def link_bytes_reached(self, coflow: int, link: int, bytes_: float, view: View) -> None:
        """The coflow has sent so many bytes through a link, the next of `link_thresholds`."""

    def flow_bytes_reached(self, coflow: int, bytes_: float, view: View) -> None:
        """A flow of the coflow has sent so many bytes, as `Plan.wake_when_flow_sent` asked."""

    def woke(self, view: View) -> None:
        """A time given to `Plan.wake_at` has come."""

    def plan(self, view: View, plan: Plan) -> bool | None:
        """Fill `plan`, which is empty: it replaces the one in force with its wake-ups.

        Return `UNCHANGED` to let the one in force stay instead.
        """
        raise NotImplementedError


PolicyLike = str | Policy | type[Policy]

NO_POLICY = (
    "policy: expected a name like 'sebf' or 'philae:thin=5', a class derived from covey.Policy, or an "
    "instance of one, found {!r}"
)


def check_class(policy: object) -> None:
    """Refuse what is no policy, has no plan, or has a handler whose name is misspelt."""
    if not isinstance(policy, Policy):
        raise InputError(NO_POLICY.format(policy))
    kind = type(policy)
    for own in kind.__mro__:
        if own not in Policy.__mro__:
            for name, value in vars(own).items():
                check_name(kind.__name__, name, value)
    if kind.plan is Policy.plan:
        message = f"policy {kind.__name__}: expected a method plan(self, view, plan), found none"
        raise InputError(message)
    if (policy.knows == "unlabelled") == (kind.regroup is Policy.regroup):
        expected = (
            "a method regroup(self, view, regrouping), because it is unlabelled, found none"
            if policy.knows == "unlabelled"
            else f"knows = 'unlabelled' with a method regroup, found '{policy.knows}'"
        )
        message = f"policy {kind.__name__}: expected {expected}"
        raise InputError(message)


def check_name(policy: str, name: str, value: object) -> None:
    """Refuse a name that is almost that of a handler, or of an attribute: nobody would look at it."""
    if name.startswith("_") or hasattr(Policy, name):
        return
    known = [each for each in vars(Policy) if callable(value) == callable(getattr(Policy, each))]
    for meant in difflib.get_close_matches(name, known, n=1, cutoff=0.85):
        message = (
            f"policy {policy}: '{name}' is never looked at: did you mean '{meant}'? "
            "A name of your own can begin with an underscore"
        )
        raise InputError(message)


def prepared(policy: PolicyLike) -> str | tuple[str, list[tuple[str, str]], Policy]:
    """What the core takes: a text, or the label, the parameters and an instance for one run.

    Every run gets a copy of an instance, which makes runs alike.
    """
    if isinstance(policy, str):
        return policy
    made = policy() if isinstance(policy, type) and issubclass(policy, Policy) else policy
    check_class(made)
    instance = copy.deepcopy(policy) if made is policy else made
    params = parameters(instance)
    name = type(instance).__name__
    given = ",".join(f"{key}={value}" for key, value in params)
    return (f"{name}:{given}" if given else name), params, instance


def parameters(instance: Policy) -> list[tuple[str, str]]:
    """What the constructor takes, as far as the instance keeps it under the same name."""
    names = inspect.signature(type(instance)).parameters
    return [(name, str(getattr(instance, name))) for name in names if hasattr(instance, name)]
