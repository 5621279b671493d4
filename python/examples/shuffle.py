"""A shuffle whose flows Covey schedules: docs/quickstart-live.md shows how it is used.

    python shuffle.py receive 127.0.0.1:9000
    python shuffle.py send 127.0.0.1:9000 --name report --megabytes 200

The receiver takes flows of any coflow, until it is stopped, and tells the checksum of each. The sender
is the driver of an application: it registers a coflow of a few flows from its host to the receiver's,
sends them, and waits for its end.
"""

import argparse
import threading
import zlib
from array import array
from concurrent.futures import ThreadPoolExecutor

import covey

PIECE = 1 << 16
WORDS = int.from_bytes(array("Q", range(PIECE // 8)).tobytes(), "little")


def receive(arguments: argparse.Namespace) -> None:
    """Read flows as they come, each in a thread of its own."""
    # A receiver needs neither agent nor coordinator: flows are scheduled where they are sent.
    client = covey.Client(agent=None, coordinator=None)
    with client.listen(arguments.address) as listener:
        print("listening at", listener.address, flush=True)
        for flow in listener:
            threading.Thread(target=read, args=[flow], daemon=True).start()


def read(flow: covey.FlowReceiver) -> None:
    """Read a flow to its end."""
    with flow:
        got = crc = 0
        while data := flow.read(1 << 20):
            got += len(data)
            crc = zlib.crc32(data, crc)
    print(f"flow {flow.flow} of coflow {flow.coflow}: {got} bytes, crc {crc:08x}", flush=True)


def piece(coflow: int, flow: int, number: int) -> bytes:
    """Return a piece of what a flow sends. No other flow has the same, and no other place in it."""
    mark = (coflow * 0x9E3779B97F4A7C15 + flow * 0xC2B2AE3D27D4EB4F + number) % 2**64
    marks = int.from_bytes(mark.to_bytes(8, "little") * (PIECE // 8), "little")
    return (WORDS ^ marks).to_bytes(PIECE, "little")


def send(arguments: argparse.Namespace) -> None:
    """Register a coflow, send its flows side by side, and wait for its end."""
    size = arguments.megabytes * 1_000_000 // arguments.flows
    with covey.Client(
        agent=arguments.agent,
        coordinator=arguments.coordinator,
        credentials=arguments.credentials,
    ) as client:
        # The agent knows which port of the fabric this host is.
        flows = [(client.port or 0, arguments.to_port, size)] * arguments.flows
        coflow = client.register(flows, name=arguments.name)
        if coflow.is_registered:
            print(
                f"{arguments.name}: coflow {coflow.id}, scheduled: {client.scheduled}", flush=True
            )
        else:
            print(f"{arguments.name}: not registered, scheduled: no", flush=True)
        with ThreadPoolExecutor(arguments.flows) as threads:
            places = range(arguments.flows)
            sent = [threads.submit(send_flow, coflow, k, arguments.address, size) for k in places]
        try:
            for each in sent:
                each.result()
        except OSError:
            # A flow that will not be sent must not hold up others.
            coflow.delete()
            raise
        # Of flows that nobody schedules the coordinator never hears that they have ended.
        if coflow.is_registered and client.scheduled == "yes" and (status := coflow.wait()):
            cct = status["end_s"] - status["arrival_s"]
            print(f"{arguments.name}: {status['state']} after {cct:.3f} s")


def send_flow(coflow: covey.Coflow, place: int, to: str, size: int) -> None:
    """Send one flow of so many bytes."""
    with coflow.open(place, to, bytes=size) as flow:
        for number, begin in enumerate(range(0, size, PIECE)):
            flow.write(piece(coflow.id, place, number)[: size - begin])


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
commands = parser.add_subparsers(required=True)
receiver = commands.add_parser("receive", help="take flows that others send")
receiver.add_argument("address", help="where to listen, such as 127.0.0.1:9000")
receiver.set_defaults(run=receive)
sender = commands.add_parser("send", help="register a coflow and send its flows")
sender.add_argument("address", help="where the receiver listens")
sender.add_argument("--name", default="shuffle", help="what the coflow is called")
sender.add_argument("--megabytes", type=int, default=100, help="of all flows together")
sender.add_argument("--flows", type=int, default=2, help="how many there are")
sender.add_argument("--to-port", type=int, default=1, help="port of the receiver's host")
sender.add_argument("--agent", default="covey-data/agent.sock", help="socket of this host's agent")
sender.add_argument("--coordinator", default="127.0.0.1:7420", help="its address for clients")
sender.add_argument("--credentials", default="covey-data", help="folder with the token")
sender.set_defaults(run=send)
if __name__ == "__main__":
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        raise SystemExit(f"shuffle: {error}") from None
