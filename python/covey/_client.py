"""Coflows that a coordinator schedules, and their flows over real sockets."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from covey import _core
from covey._live import (
    Base,
    BlocksBase,
    CoflowBase,
    ListenerBase,
    ReceiverBase,
    address,
    change,
    connect,
    encoded,
    frozen,
    registration,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Buffer, Self

    from covey._core import CoflowStatus
    from covey._live import Address, FlowSpec


class Client(Base):
    """An application's part in coflow scheduling.

    It finds the agent of its host at the socket `agent`, and the `coordinator`; `credentials` is a
    folder with `token`, and `ca.pem` where the coordinator speaks TLS. `hold_max` is how many
    seconds a flow waits each time before it is sent unscheduled (None: for ever). A coflow stays
    for `lease` seconds when the application that registered it is not heard of any more; it is kept
    again in time. A call of the coordinator takes at most `deadline` seconds. Without agent or
    coordinator all works, but flows are sent as fast as they can be; an `UnscheduledWarning` says
    so, once. The same holds while the coordinator is stopping or full, or refuses the credential,
    unless `strict`: then it is an error. With `agent=None` and `coordinator=None` that is what is
    wanted, and nothing is said.

    With `tls`, the connections of flows have TLS, and both ends show certificates. It is a folder
    with `agent.pem`, `agent.key` and `ca.pem`, as `covey serve --init` makes it for an agent. All
    applications need it then.

    With `mode="stream"` (or `"stream:K=8,…"`, settings of the policy `stream`) nobody is in charge:
    receivers decide, senders mark packets, and neither agent nor coordinator is needed. All
    applications of a coflow need the same mode.

    Methods wait without the interpreter's lock, and Ctrl-C ends that. As a context manager, or by
    `close`, it waits at the end until the coordinator knows that the flows have ended.
    """

    def __init__(
        self,
        *,
        mode: str = "coordinator",
        agent: str | os.PathLike[str] | None = "covey-data/agent.sock",
        coordinator: str | None = "127.0.0.1:7420",
        credentials: str | os.PathLike[str] = "covey-data",
        hold_max: float | None = 60.0,
        lease: float = 60.0,
        deadline: float = 2.0,
        strict: bool = False,
        tls: str | os.PathLike[str] | None = None,
    ) -> None:
        pending = connect(
            mode=mode,
            agent=agent,
            coordinator=coordinator,
            credentials=credentials,
            hold_max=hold_max,
            lease=lease,
            deadline=deadline,
            strict=strict,
            tls=tls,
        )
        asked = mode == "coordinator" and (agent is not None or coordinator is not None)
        self._begin(pending.wait(), asked=asked)

    def register(
        self,
        flows: Iterable[FlowSpec],
        *,
        name: str | None = None,
        parents: Iterable[int] = (),
        barrier: bool = False,
        weight: float = 1.0,
        deadline_s: float | None = None,
        open: bool = False,
        lease_s: float | None = None,
        compress: bool = True,
        ratio: float | None = None,
    ) -> Coflow:
        """Register a coflow: `(src, dst)` or `(src, dst, bytes)` of each of its flows, or a dict.

        Ports are the numbers of hosts. `parents` are numbers of the coflows that it depends on:
        with `barrier`, its flows wait until those have ended. An `open` coflow does not end with
        its last flow, because `Coflow.update` will add more. `lease_s` is the client's `lease` if
        nothing is said. `compress=False` keeps a policy from compressing the flows; `ratio` is their
        compressed bytes for each raw byte, 1 if they are not compressible. A dict may have a `ratio`
        of its own.
        Raises `CoordinatorError` if the coordinator refuses.
        """
        spec = registration(
            flows,
            name=name,
            parents=parents,
            barrier=barrier,
            weight=weight,
            deadline_s=deadline_s,
            open=open,
            lease_s=lease_s,
            compress=compress,
            ratio=ratio,
        )
        coflow = self._core.register(spec).wait()
        self._registered(coflow, stacklevel=3)
        return Coflow(self, coflow)

    def join(self, coflow: int) -> Coflow:
        """Take part in a coflow that somebody else has registered."""
        return Coflow(self, self._core.join(coflow))

    def coflows(self, *, all: bool = False) -> list[CoflowStatus]:
        """Tell of the coflows that are present, or of `all` that the coordinator remembers."""
        return self._core.coflows(all).wait()

    def listen(self, where: Address = "0.0.0.0:0") -> Listener:
        """Listen for flows; port 0 is one that is free."""
        return Listener(self._core.listen(address(where)).wait())

    def blocks(self, where: Address = "0.0.0.0:0") -> Blocks:
        """Listen for blocks that others push here, and for who gets those that are put here."""
        return Blocks(self._core.blocks(address(where)).wait())

    def close(self) -> None:
        """Wait until the coordinator knows that the flows have ended; for five seconds at most."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Coflow(CoflowBase):
    """A coflow that this application takes part in: made by `Client.register` or `Client.join`."""

    def __init__(self, client: Client, core: _core.LiveCoflow) -> None:
        self._client, self._core = client, core

    def status(self) -> CoflowStatus | None:
        """Tell how it is doing; nothing is known of a coflow that no coordinator knows."""
        return self._core.status().wait()

    def wait(self, timeout: float | None = None) -> CoflowStatus | None:
        """Wait until it has ended or was removed, for so many seconds at most (`TimeoutError`).

        A coflow that no coordinator knows is not waited for. Where flows are sent unscheduled, their
        coordinator never hears that they have ended: then see `Client.scheduled` first.
        """
        return self._core.ended().wait(timeout)

    def update(
        self,
        *,
        add: Iterable[FlowSpec] = (),
        move: Iterable[tuple[int, FlowSpec]] = (),
        restart: Iterable[int] = (),
        cancel: Iterable[int] = (),
        take: Iterable[int] = (),
        open: bool | None = None,
    ) -> None:
        """Change it: add flows, take flows of others, start flows again here or elsewhere, end some.

        `move` has pairs of a flow's index and where it goes, `restart` and `cancel` indices, `take` ids
        of other coflows' flows.
        """
        body = change(add=add, move=move, restart=restart, cancel=cancel, take=take, open=open)
        self._core.update(body).wait()

    def delete(self) -> None:
        """Deregister it before its last flow has ended."""
        self._core.deregister().wait()

    def open(
        self, flow: int, to: Address, *, bytes: int | None = None, label: str | bytes = b""
    ) -> FlowSender:
        """Open the flow at place `flow` of the coflow to a `Listener`.

        It has so many `bytes`, if that is known; `label` is what the receiver is told of it.
        """
        self._client._say(stacklevel=3)
        return FlowSender(self._core.open(flow, address(to), bytes, encoded(label)).wait())

    def push(self, flow: int, to: Address, name: str | bytes, data: Buffer) -> None:
        """Send a block to `Blocks`, as the flow at place `flow`; return when it is pulled there."""
        self._client._say(stacklevel=3)
        self._core.push(flow, address(to), encoded(name), frozen(data)).wait()

    def get(self, flow: int, from_: Address, name: str | bytes) -> bytes:
        """Get a block that is put in the `Blocks` there, as the flow at place `flow`.

        Waits if it has not been put yet.
        """
        return self._core.get(flow, address(from_), encoded(name)).wait()


class Listener(ListenerBase):
    """Where others open flows to this application. Iteration gives them one after the other."""

    def __init__(self, core: _core.LiveListener) -> None:
        self._core = core

    def accept(self, timeout: float | None = None) -> FlowReceiver:
        """Wait for the next flow, for so many seconds at most (`TimeoutError`)."""
        return FlowReceiver(self._core.accept().wait(timeout))

    def close(self) -> None:
        """Listen no more."""
        self._core.close().wait()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> FlowReceiver:
        return self.accept()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FlowSender:
    """The sending end of a flow; what is written is sent when and as fast as the schedule says.

    A context manager: at its end the flow ends, or is given up if there was an exception.
    """

    def __init__(self, core: _core.LiveSender) -> None:
        self._core = core

    def write(self, data: Buffer) -> int:
        """Send bytes; all of them. If that is interrupted, the flow is given up."""
        data = frozen(data)
        self._core.write(data).wait()
        return len(data)

    def finish(self) -> None:
        """End the flow: wait until the receiver has said that it has had all."""
        self._core.finish().wait()

    def close(self) -> None:
        """Give the flow up if it has not ended."""
        self._core.close().wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if exception is None:
            self.finish()
        else:
            self.close()


class FlowReceiver(ReceiverBase, io.RawIOBase):
    """The receiving end of a flow: a file to read, of which `read()` gives all there is.

    A sender that goes before the end is a `ConnectionError`, not an end.
    """

    def __init__(self, core: _core.LiveReceiver) -> None:
        super().__init__()
        self._core = core

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come into a buffer; 0 at the end."""
        view = memoryview(buffer).cast("B")
        data = self._core.read(len(view)).wait()
        view[: len(data)] = data
        return len(data)

    def readall(self) -> Any:
        """Read all there is."""
        return self._core.read_all().wait()

    def close(self) -> None:
        """Close it: its sender gets an error if there is more."""
        if not self.closed:
            super().close()
            self._core.close().wait()


class Blocks(BlocksBase):
    """Where this application's blocks come and go: made by `Client.blocks`.

    A block that is pushed here waits in its connection until it is pulled. One that is put here stays
    until others have got it as often as they like, and it is removed.
    """

    def pull(self, coflow: int, name: str | bytes, timeout: float | None = None) -> bytes:
        """Receive a block that is, or will be, pushed here."""
        return self._core.pull(coflow, encoded(name)).wait(timeout)
