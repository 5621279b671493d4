"""What `Client` and `AsyncClient` share: arguments, warnings, and everything that does not wait."""

from __future__ import annotations

import asyncio
import json
import os
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from covey import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from covey._core import (
        LiveBlocks,
        LiveClient,
        LiveCoflow,
        LiveListener,
        LiveReceiver,
        Scheduled,
    )

T = TypeVar("T")

Address: TypeAlias = "str | tuple[str, int]"
"""Where somebody listens: "10.0.0.2:9000", or ("10.0.0.2", 9000)."""

FlowSpec: TypeAlias = (
    "tuple[int, int] | tuple[int, int, float | None] | tuple[int, int, float | None, int] "
    "| Mapping[str, float | None]"
)
"""A flow as it is registered: sending port, receiving port, its bytes if anybody knows, and, if it is
another attempt of an earlier flow, that flow's index. Or these by name: src, dst, bytes, attempt; and
ratio, its compressed bytes for each raw byte if anybody knows, 1 if it is not compressible."""

SETTLE_S = 5.0
"""How long the end of a program waits for the coordinator to write the ends of flows down."""
UNSETTLED = "the coordinator has not heard of the ends of all flows"


class UnscheduledWarning(UserWarning):
    """Flows are sent as fast as they can be, because nobody schedules them."""


async def awaited(pending: _core.Pending[T]) -> T:
    """Await what is under way in the client's threads; if that is cancelled, so is this."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    def done() -> None:
        # The loop may have been closed meanwhile: then nobody waits.
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    pending.then(done)
    try:
        await future
    except asyncio.CancelledError:
        pending.cancel()
        raise
    return pending.result()


def address(where: Address) -> str:
    """Text of an address."""
    if isinstance(where, str):
        return where
    host, port = where
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def encoded(name: str | bytes) -> bytes:
    """Bytes of a name."""
    return name.encode() if isinstance(name, str) else name


def frozen(data: Buffer) -> bytes:
    """Bytes that nobody changes while they are sent."""
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def _flow(flow: FlowSpec) -> dict[str, object]:
    if isinstance(flow, Mapping):
        return dict(flow)
    return dict(zip(("src", "dst", "bytes", "attempt"), flow, strict=False))


def registration(
    flows: Iterable[FlowSpec],
    *,
    name: str | None,
    parents: Iterable[int],
    barrier: bool,
    weight: float,
    deadline_s: float | None,
    open: bool,
    lease_s: float | None,
    compress: bool,
    ratio: float | None,
) -> str:
    """Body of a request that registers a coflow."""
    body = {
        "flows": [_flow(flow) for flow in flows],
        "name": name,
        "parents": list(parents),
        "barrier": barrier,
        "weight": weight,
        "deadline_s": deadline_s,
        "open": open,
        "lease_s": lease_s,
        "compress": compress,
        "ratio": ratio,
    }
    return json.dumps(body)


def change(
    *,
    add: Iterable[FlowSpec],
    move: Iterable[tuple[int, FlowSpec]],
    restart: Iterable[int],
    cancel: Iterable[int],
    take: Iterable[int],
    open: bool | None,
) -> str:
    """Body of a request that changes a coflow."""
    body = {
        "add": [_flow(flow) for flow in add],
        "move": [{"flow": flow, "to": _flow(to)} for flow, to in move],
        "restart": list(restart),
        "cancel": list(cancel),
        "take": list(take),
        "open": open,
    }
    return json.dumps(body)


def connect(
    *,
    mode: str,
    agent: str | os.PathLike[str] | None,
    coordinator: str | None,
    credentials: str | os.PathLike[str],
    hold_max: float | None,
    lease: float,
    deadline: float,
    strict: bool,
    tls: str | os.PathLike[str] | None,
) -> _core.Pending[_core.LiveClient]:
    """Begin to find agent and coordinator."""
    agent = None if agent is None else os.fspath(agent)
    credentials = os.fspath(credentials)
    tls = None if tls is None else os.fspath(tls)
    return _core.connect(
        mode, agent, coordinator, credentials, hold_max, lease, deadline, strict, tls
    )


def _settle(core: LiveClient) -> None:
    if core.unsettled:
        try:
            core.settled().wait(SETTLE_S)
        except TimeoutError:
            warnings.warn(UNSETTLED, stacklevel=2)


class Base:
    """The connection to agent and coordinator, and the warnings about it."""

    _core: LiveClient
    _said: set[str]
    _asked: bool

    def _begin(self, core: LiveClient, *, asked: bool) -> None:
        self._core, self._said, self._asked = core, set(), asked
        # Also when the program ends without closing it.
        self._finalizer = weakref.finalize(self, _settle, core)
        self._say(stacklevel=4)

    def _warn(self, what: str, stacklevel: int) -> None:
        if what not in self._said:
            self._said.add(what)
            warnings.warn(what, UnscheduledWarning, stacklevel=stacklevel + 1)

    def _say(self, stacklevel: int) -> None:
        """Say that flows are not scheduled, if they are not and were meant to be."""
        scheduled = self.scheduled
        if self._asked and scheduled == "no agent":
            self._warn("no agent answers: flows are not scheduled", stacklevel)
        elif self._asked and scheduled == "no coordinator":
            self._warn("the agent hears no coordinator: new flows are not scheduled", stacklevel)

    def _registered(self, coflow: LiveCoflow, stacklevel: int) -> None:
        if self._asked and not coflow.is_registered:
            why = self._core.unregistered_because
            self._warn(f"{why}: coflows are not registered", stacklevel)

    @property
    def scheduled(self) -> Scheduled:
        """Whether the flows of this application are scheduled now: "yes" if the coordinator does it.

        With "no coordinator", flows keep the last rates that they were given and others send as fast
        as they can; with "no agent", all do. In mode "stream" it is "by receivers".
        """
        scheduled = self._core.scheduled
        if scheduled == "yes":
            # The cause of the last warning has passed, so the next one is reported again.
            self._said.clear()
        return scheduled

    @property
    def port(self) -> int | None:
        """The port of the fabric that this host is, if there is an agent."""
        return self._core.port


class CoflowBase:
    """A coflow that this application takes part in."""

    _core: LiveCoflow

    @property
    def id(self) -> int:
        """Its number, by which others join it."""
        return self._core.id

    @property
    def is_registered(self) -> bool:
        """Whether a coordinator knows it."""
        return self._core.is_registered


class ListenerBase:
    """An address at which others open flows to this application."""

    _core: LiveListener

    @property
    def address(self) -> str:
        """Where it listens."""
        return self._core.address


class ReceiverBase:
    """The receiving end of a flow."""

    _core: LiveReceiver

    @property
    def coflow(self) -> int:
        """The number of its coflow."""
        return self._core.coflow

    @property
    def flow(self) -> int:
        """Its index in the coflow."""
        return self._core.flow

    @property
    def label(self) -> bytes:
        """The label that the sender has given it."""
        return self._core.label

    @property
    def size(self) -> int | None:
        """How many bytes it has, if the sender said so."""
        return self._core.size


class BlocksBase:
    """The blocks of this application: those pushed to it, and those it has put."""

    _core: LiveBlocks

    def __init__(self, core: LiveBlocks) -> None:
        self._core = core

    @property
    def address(self) -> str:
        """Where it listens."""
        return self._core.address

    def put(self, coflow: int, name: str | bytes, data: Buffer) -> None:
        """Have a block ready for others to get."""
        self._core.put(coflow, encoded(name), frozen(data))

    def remove(self, coflow: int, name: str | bytes) -> None:
        """Take back a block that has been put."""
        self._core.remove(coflow, encoded(name))
