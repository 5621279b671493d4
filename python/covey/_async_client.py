"""`covey._client` for asyncio: methods are awaited, and can be cancelled.

Everything that does not wait is in `covey._live`. Signatures stand here again in full, because editors
and type checkers show them to users.
"""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING

from covey import _core
from covey._live import (
    SETTLE_S,
    UNSETTLED,
    Base,
    BlocksBase,
    CoflowBase,
    ListenerBase,
    ReceiverBase,
    address,
    awaited,
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

MAX_READ = 1 << 20
"""Bytes that one `read` may return, unless it says another number."""


class AsyncClient(Base):
    """`Client` for asyncio; made by `await AsyncClient.start(…)`, and an async context manager."""

    @classmethod
    async def start(
        cls,
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
    ) -> Self:
        """Find agent and coordinator; the arguments are those of `Client`."""
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
        client = cls()
        asked = mode == "coordinator" and (agent is not None or coordinator is not None)
        client._begin(await awaited(pending), asked=asked)
        return client

    async def register(
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
    ) -> AsyncCoflow:
        """See `Client.register`."""
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
        coflow = await awaited(self._core.register(spec))
        self._registered(coflow, stacklevel=3)
        return AsyncCoflow(self, coflow)

    def join(self, coflow: int) -> AsyncCoflow:
        """See `Client.join`."""
        return AsyncCoflow(self, self._core.join(coflow))

    async def coflows(self, *, all: bool = False) -> list[CoflowStatus]:
        """See `Client.coflows`."""
        return await awaited(self._core.coflows(all))

    async def listen(self, where: Address = "0.0.0.0:0") -> AsyncListener:
        """See `Client.listen`."""
        return AsyncListener(await awaited(self._core.listen(address(where))))

    async def blocks(self, where: Address = "0.0.0.0:0") -> AsyncBlocks:
        """See `Client.blocks`."""
        return AsyncBlocks(await awaited(self._core.blocks(address(where))))

    async def close(self) -> None:
        """Wait until the coordinator knows that the flows have ended; for five seconds at most."""
        try:
            await asyncio.wait_for(awaited(self._core.settled()), SETTLE_S)
        except asyncio.TimeoutError:
            warnings.warn(UNSETTLED, stacklevel=2)
        self._finalizer.detach()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncCoflow(CoflowBase):
    """See `Coflow`."""

    def __init__(self, client: AsyncClient, core: _core.LiveCoflow) -> None:
        self._client, self._core = client, core

    async def status(self) -> CoflowStatus | None:
        """See `Coflow.status`."""
        return await awaited(self._core.status())

    async def wait(self) -> CoflowStatus | None:
        """See `Coflow.wait`; for a limit there is `asyncio.wait_for`."""
        return await awaited(self._core.ended())

    async def update(
        self,
        *,
        add: Iterable[FlowSpec] = (),
        move: Iterable[tuple[int, FlowSpec]] = (),
        restart: Iterable[int] = (),
        cancel: Iterable[int] = (),
        take: Iterable[int] = (),
        open: bool | None = None,
    ) -> None:
        """See `Coflow.update`."""
        body = change(add=add, move=move, restart=restart, cancel=cancel, take=take, open=open)
        await awaited(self._core.update(body))

    async def delete(self) -> None:
        """See `Coflow.delete`."""
        await awaited(self._core.deregister())

    async def open(
        self, flow: int, to: Address, *, bytes: int | None = None, label: str | bytes = b""
    ) -> AsyncFlowSender:
        """See `Coflow.open`."""
        self._client._say(stacklevel=3)
        core = await awaited(self._core.open(flow, address(to), bytes, encoded(label)))
        return AsyncFlowSender(core)

    async def push(self, flow: int, to: Address, name: str | bytes, data: Buffer) -> None:
        """See `Coflow.push`."""
        self._client._say(stacklevel=3)
        await awaited(self._core.push(flow, address(to), encoded(name), frozen(data)))

    async def get(self, flow: int, from_: Address, name: str | bytes) -> bytes:
        """See `Coflow.get`."""
        return await awaited(self._core.get(flow, address(from_), encoded(name)))


class AsyncListener(ListenerBase):
    """See `Listener`; its iteration is asynchronous."""

    def __init__(self, core: _core.LiveListener) -> None:
        self._core = core

    async def accept(self) -> AsyncFlowReceiver:
        """Wait for the next flow."""
        return AsyncFlowReceiver(await awaited(self._core.accept()))

    async def close(self) -> None:
        """Listen no more."""
        await awaited(self._core.close())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AsyncFlowReceiver:
        return await self.accept()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncFlowSender:
    """See `FlowSender`."""

    def __init__(self, core: _core.LiveSender) -> None:
        self._core = core

    async def write(self, data: Buffer) -> int:
        """Send bytes; all of them. If that is cancelled, the flow is given up."""
        data = frozen(data)
        await awaited(self._core.write(data))
        return len(data)

    async def finish(self) -> None:
        """See `FlowSender.finish`."""
        await awaited(self._core.finish())

    async def close(self) -> None:
        """See `FlowSender.close`."""
        await awaited(self._core.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exception: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if exception is None:
            await self.finish()
        else:
            await self.close()


class AsyncFlowReceiver(ReceiverBase):
    """See `FlowReceiver`. A `read` that is cancelled closes the flow."""

    def __init__(self, core: _core.LiveReceiver) -> None:
        self._core = core

    async def read(self, most: int = -1) -> bytes:
        """Read what has come, at most so many bytes, or all there is; nothing at the end."""
        if most < 0:
            return await awaited(self._core.read_all())
        return await awaited(self._core.read(most))

    async def close(self) -> None:
        """See `FlowReceiver.close`."""
        await awaited(self._core.close())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await self.read(MAX_READ)
        if not data:
            raise StopAsyncIteration
        return data

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncBlocks(BlocksBase):
    """See `Blocks`."""

    async def pull(self, coflow: int, name: str | bytes) -> bytes:
        """See `Blocks.pull`."""
        return await awaited(self._core.pull(coflow, encoded(name)))
