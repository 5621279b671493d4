"""Coflows over real sockets, with a real coordinator and agents beside them.

They check bytes, order, and errors, never how long something takes.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import threading
import warnings

import covey
import pytest
from live import LONG, system, until

DATA = bytes(range(251)) * 4000


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with system(tmp_path_factory.mktemp("live"), "--policy=sebf") as it:
        yield it


@pytest.fixture
def client(live):
    with covey.Client(**live.options()) as client:
        until("the coordinator is heard", lambda: client.scheduled == "yes")
        yield client


@pytest.fixture
def alone():
    """A client without coordinator and agent, by request."""
    with covey.Client(agent=None, coordinator=None) as client:
        yield client


def in_thread(work):
    """The result of a call in another thread."""
    box = []
    thread = threading.Thread(target=lambda: box.append(work()))
    thread.start()

    def result():
        thread.join(LONG)
        return box[0]

    return result


def test_a_flow_is_scheduled_and_its_coflow_ends(client):
    assert client.port == 0
    coflow = client.register([(0, 0, len(DATA))], name="one")
    assert coflow.is_registered
    assert coflow.status()["state"] == "active"
    with client.listen("127.0.0.1:0") as listener:
        read = in_thread(lambda: listener.accept(LONG).read())
        with coflow.open(0, listener.address, bytes=len(DATA), label="part") as flow:
            assert flow.write(memoryview(DATA)[:1000]) == 1000
            flow.write(bytearray(DATA[1000:]))
        assert read() == DATA
    status = coflow.wait(LONG)
    assert (status["name"], status["state"], status["flows_ended"]) == ("one", "ended", 1)
    assert status["bytes_sent"] == len(DATA)
    assert coflow.id in [each["id"] for each in client.coflows(all=True)]
    assert coflow.id not in [each["id"] for each in client.coflows()]


def test_a_receiver_is_a_file(alone, tmp_path):
    listener = alone.listen(("127.0.0.1", 0))
    to = tmp_path / "copy"

    def receive():
        with listener.accept(LONG) as flow, to.open("wb") as file:
            about = flow.coflow, flow.flow, flow.label, flow.size
            shutil.copyfileobj(flow, file)
            return about

    received = in_thread(receive)
    with alone.join(7).open(3, listener.address, label=b"\xff") as flow:
        for k in range(0, len(DATA), 99_999):
            flow.write(DATA[k : k + 99_999])
    assert received() == (7, 3, b"\xff", None)
    assert to.read_bytes() == DATA


def test_blocks(alone):
    here, there = alone.blocks("127.0.0.1:0"), alone.blocks("127.0.0.1:0")
    coflow = alone.join(9)
    pushed = in_thread(lambda: coflow.push(0, there.address, "a", DATA))
    assert there.pull(9, "a", timeout=LONG) == DATA
    assert pushed() is None
    # The request comes before the block exists.
    got = in_thread(lambda: coflow.get(1, here.address, "b"))
    here.put(9, "b", DATA)
    assert got() == coflow.get(2, here.address, "b") == DATA
    with pytest.raises(TimeoutError):
        there.pull(9, "never", timeout=0.05)


def test_coflows_are_changed_and_given_up(client):
    coflow = client.register([(0, 1, 5)], open=True, weight=2.0)
    coflow.update(add=[(1, 0, 5)], open=False)
    status = coflow.status()
    assert (status["flows"], status["revision"], status["state"]) == (2, 1, "active")
    coflow.update(move=[(1, (0, 1, 5))])
    with pytest.raises(TimeoutError):
        coflow.wait(timeout=0.05)
    client.join(coflow.id).delete()
    assert coflow.wait(LONG)["state"] == "removed"
    assert 60 < client.register([(0, 1, 5)], lease_s=100).status()["kept_s"] <= 100
    assert client.register([(0, 1, 5)]).status()["kept_s"] <= 60
    small = client.register([{"src": 0, "dst": 1, "bytes": 5, "ratio": 0.5}], compress=False)
    assert small.status()["flows"] == 1
    with pytest.raises(covey.CoordinatorError, match=r"flows\[0\]\.ratio: expected above 0"):
        client.register([{"src": 0, "dst": 1, "bytes": 5, "ratio": 2}])
    with pytest.raises(covey.CoordinatorError, match="ratio: expected above 0"):
        client.register([(0, 1, 5)], ratio=0)
    with pytest.raises(covey.CoordinatorError, match="lease_s: expected from 1 to 86400"):
        client.register([(0, 1, 5)], lease_s=0.5)


def test_errors_name_their_cause(client, live, tmp_path):
    with pytest.raises(covey.CoordinatorError, match="port") as refused:
        client.register([(0, 99, 5)])
    assert refused.value.status == 422
    with pytest.raises(covey.InputError, match=r"flows\[0\]\.src: .*\"a\""):
        client.register([("a", 1)])
    with pytest.raises(covey.CoordinatorError, match="not known"):
        client.join(10**6).status()
    with pytest.raises(covey.InputError, match=r"hold_max: .*-1"):
        covey.Client(hold_max=-1)
    with pytest.raises(covey.InputError, match=r"coordinator: .*127\.0\.0\.1:7420.*nowhere"):
        covey.Client(agent=None, coordinator="nowhere")
    with pytest.raises(ConnectionRefusedError):
        client.join(1).open(0, "127.0.0.1:1")
    (tmp_path / "token").write_text("wrong")
    wrong = live.options() | {"credentials": tmp_path}
    with pytest.raises(covey.CoordinatorError, match="401"):
        covey.Client(**wrong, strict=True).register([(0, 1, 5)])
    with pytest.warns(
        covey.UnscheduledWarning, match="refuses: 401 .*: coflows are not registered"
    ):
        assert not covey.Client(**wrong).register([(0, 1, 5)]).is_registered


@pytest.mark.filterwarnings("ignore:no agent")
def test_the_warning_for_a_silent_coordinator_names_the_deadline(tmp_path):
    (tmp_path / "token").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        client = covey.Client(agent=None, coordinator=at, credentials=tmp_path, deadline=0.2)
        with pytest.warns(covey.UnscheduledWarning, match=r"does not answer within 0\.2 s"):
            assert not client.register([(0, 1)]).is_registered


def test_a_flow_that_breaks_off_is_an_error(alone):
    listener = alone.listen("127.0.0.1:0")
    coflow = alone.join(1)
    flow = coflow.open(0, listener.address, bytes=10)
    flow.write(b"12345")
    with pytest.raises(ValueError, match="ended before its last byte"):
        flow.finish()
    with pytest.raises(OSError, match="closed"):
        flow.write(b"67890")
    with pytest.raises(ConnectionError, match="before the flow's end"):
        listener.accept(LONG).read()
    problem = RuntimeError("half way")
    with pytest.raises(RuntimeError, match="half way"), coflow.open(1, listener.address) as flow:
        raise problem
    with pytest.raises(ConnectionError):
        listener.accept(LONG).read()


def test_without_scheduler_all_works_with_one_warning(tmp_path):
    missing = {"agent": tmp_path / "none", "credentials": tmp_path, "coordinator": "127.0.0.1:1"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        client = covey.Client(**missing)
        listener = client.listen("127.0.0.1:0")
        coflow = client.register([(0, 1)])
        client.register([(0, 1)])
        for _ in range(2):
            read = in_thread(lambda: listener.accept(LONG).read())
            with coflow.open(0, listener.address) as flow:
                flow.write(b"abc")
            assert read() == b"abc"
    assert sorted(str(each.message) for each in said) == [
        f"{tmp_path}/token: No such file or directory (os error 2): coflows are not registered",
        "no agent answers: flows are not scheduled",
    ]
    assert {each.category for each in said} == {covey.UnscheduledWarning}
    # The warning names the line of the application.
    assert {each.filename for each in said} == {__file__}
    assert not coflow.is_registered
    assert coflow.status() is coflow.wait() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        covey.Client(agent=None, coordinator=None)


def test_asyncio(live):
    async def run():
        async with await covey.AsyncClient.start(**live.options()) as client:
            coflow = await client.register([(0, 0, len(DATA)), (0, 0, len(DATA))])
            listener = await client.listen("127.0.0.1:0")

            async def receive():
                async with await listener.accept() as flow:
                    return flow.flow, b"".join([piece async for piece in flow])

            async def send(place, size):
                async with await coflow.open(place, listener.address, bytes=size) as flow:
                    await flow.write(DATA)

            received = await asyncio.gather(receive(), receive(), send(0, len(DATA)), send(1, None))
            assert sorted(received[:2]) == [(0, DATA), (1, DATA)]
            assert (await coflow.wait())["state"] == "ended"

            alone = await covey.AsyncClient.start(agent=None, coordinator=None)
            blocks = await alone.blocks("127.0.0.1:0")
            push = asyncio.create_task(alone.join(1).push(0, blocks.address, "x", b"y"))
            assert await blocks.pull(1, "x") == b"y"
            await push
            with pytest.raises(ConnectionRefusedError):
                await coflow.open(0, "127.0.0.1:1")

    asyncio.run(run())


async def write_for_ever(sender):
    while True:
        await sender.write(DATA)


def test_cancelled_calls_are_given_up(alone):
    async def run():
        client = await covey.AsyncClient.start(agent=None, coordinator=None)
        listener = await client.listen("127.0.0.1:0")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(listener.accept(), 0.05)
        # This loses nothing.
        sender = await client.join(1).open(0, listener.address)
        receiver = await listener.accept()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(receiver.read(1), 0.05)
        with pytest.raises(OSError, match="closed"):
            await receiver.read(1)
        with pytest.raises(ConnectionError):
            await write_for_ever(sender)

    asyncio.run(run())


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_waiting(alone):
    listener = alone.listen("127.0.0.1:0")
    # The signal is ignored if a shell has started this process in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            listener.accept(LONG)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_interpreter_is_free_meanwhile(alone):
    listener = alone.listen("127.0.0.1:0")
    waits = in_thread(lambda: listener.accept(LONG))
    # The progress of this thread shows it.
    with alone.join(1).open(0, listener.address) as flow:
        read = in_thread(lambda: waits().read())
        flow.write(b"z")
    assert read() == b"z"


def test_a_coordinator_that_is_away_comes_back(tmp_path):
    with system(tmp_path, "--policy=sebf") as it, covey.Client(**it.options()) as client:
        until("the coordinator is heard", lambda: client.scheduled == "yes")
        coflow = client.register([(0, 1, 3)])
        coordinator = it.processes[0]
        coordinator.kill()
        coordinator.wait()
        until("that is seen", lambda: client.scheduled == "no coordinator")
        with pytest.raises(ConnectionError, match="does not answer"):
            coflow.status()
        listener = client.listen("127.0.0.1:0")
        read = in_thread(lambda: listener.accept(LONG).read())
        with pytest.warns(covey.UnscheduledWarning, match="hears no coordinator"):
            flow = coflow.open(0, listener.address)
        with flow:
            flow.write(b"abc")
        assert read() == b"abc"
        ended = in_thread(lambda: coflow.wait(LONG))
        it.serve("--policy=sebf")
        assert ended()["state"] == "ended"
        until("it is heard again", lambda: client.scheduled == "yes")
        it.processes[-1].kill()
        until("that is seen again", lambda: client.scheduled == "no coordinator")
        read = in_thread(lambda: listener.accept(LONG).read())
        # The coordinator was back in between, so a new warning is due.
        with (
            pytest.warns(covey.UnscheduledWarning, match="hears no coordinator"),
            client.join(7).open(0, listener.address) as flow,
        ):
            flow.write(b"def")
        assert read() == b"def"


def test_without_anybody_in_charge(tmp_path):
    """In mode stream receivers decide: no agent or coordinator is there, and nothing is warned of."""
    nowhere = {"credentials": tmp_path, "agent": tmp_path / "no.sock"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with (
            covey.Client(mode="stream:K=8,q1=100kB", **nowhere) as sender,
            covey.Client(mode="stream:K=8,q1=100kB", **nowhere) as receiver,
            receiver.listen("127.0.0.1:0") as listener,
        ):
            assert sender.scheduled == "by receivers"
            coflow = sender.register([(0, 1)])
            come = in_thread(lambda: listener.accept().read())
            with coflow.open(0, listener.address) as flow:
                flow.write(DATA)
            assert come() == DATA
    with pytest.raises(covey.InputError, match="'stream'"):
        covey.Client(mode="steam", **nowhere)
    with pytest.raises(covey.InputError, match="q1"):
        covey.Client(mode="stream:q1=nothing", **nowhere)
