"""Compares policies of Covey with SimGrid's max-min sharing on one topology file and three workloads."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone, this_actor

RATE = 125e6
"""Bytes per second of a link unless it is listed in `CAPACITY`."""
HOSTS = [f"h{n}" for n in range(8)]
RACKS = 4
SPINES = 2
CAPACITY = {("rack0", "spine0"): 50e6, ("spine1", "rack3"): 20e6}
DIGITS = 1e-6
SETTINGS = (
    "network/model:CM02",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/crosstraffic:0",
    "network/weight-S:0",
    "maxmin/concurrency-limit:-1",
    "maxmin/precision:1e-9",
    "surf/precision:1e-9",
)


def rack(host: int) -> str:
    """The switch of a host."""
    return f"rack{host % RACKS}"


def route(src: int, dst: int) -> list[str]:
    """The switches from a host to another, an arbitrary but fixed choice."""
    if rack(src) == rack(dst):
        return [rack(src)]
    return [rack(src), f"spine{(3 * src + dst) % SPINES}", rack(dst)]


def links() -> dict[tuple[str, str], float]:
    """All directed links with their capacities in bytes per second."""
    found = {}
    for number, host in enumerate(HOSTS):
        found[host, rack(number)] = found[rack(number), host] = RATE
    for r in range(RACKS):
        for s in range(SPINES):
            for ends in ((f"rack{r}", f"spine{s}"), (f"spine{s}", f"rack{r}")):
                found[ends] = CAPACITY.get(ends, RATE)
    return found


def topology() -> str:
    """The topology file of Covey."""
    switches = [f"rack{r}" for r in range(RACKS)] + [f"spine{s}" for s in range(SPINES)]
    lines = ["covey-topology 1", f"hosts {' '.join(HOSTS)}", f"switches {' '.join(switches)}"]
    lines += [f"link {a} -> {b} {rate:.0f}B/s" for (a, b), rate in links().items()]
    every = range(len(HOSTS))
    lines += [
        f"route {HOSTS[a]} {HOSTS[b]} {' '.join(route(a, b))}" for a in every for b in every if a != b
    ]
    return "\n".join(lines) + "\n"


Flow = tuple[float, int, int, float]
"""Start in seconds, source, destination, bytes."""


def workloads() -> list[list[Flow]]:
    """A shuffle at one time, many flows over time, and an incast beside long flows."""
    every = range(len(HOSTS))
    shuffle = [(0.0, a, b, 1e7 * (1 + a + 2 * b)) for a in every for b in every if a != b]
    draw = random.Random(1)
    over_time = []
    for _ in range(200):
        src, dst = draw.sample(every, 2)
        over_time.append((round(draw.uniform(0, 5), 3), src, dst, float(draw.randint(1, 10**8))))
    incast = [(0.5, a, 7, 5e7) for a in range(7)] + [(0.0, a, (a + 1) % 7, 2e8) for a in range(7)]
    return [shuffle, sorted(over_time), sorted(incast)]


def with_covey(covey: str, policy: str, flows: list[Flow], folder: Path) -> list[float]:
    """The end of each flow in seconds, by Covey. All flows are of one coflow."""
    (folder / "site.txt").write_text(topology())
    listed = [{"src": a, "dst": b, "bytes": size, "start_s": start} for start, a, b, size in flows]
    header = {"covey_trace": 1, "ports": len(HOSTS)}
    lines = [json.dumps(line) for line in (header, {"id": "c", "arrival_s": 0, "flows": listed})]
    (folder / "trace.jsonl").write_text("\n".join(lines) + "\n")
    command = [covey, "simulate", str(folder / "trace.jsonl"), "--policy", policy]
    command += ["--fabric", f"file:{folder / 'site.txt'}", "--per-flow", str(folder / "out.csv")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with (folder / "out.csv").open() as table:
        return [float(row["completion_s"]) for row in csv.DictReader(table)]


def with_simgrid(flows: list[Flow]) -> list[float]:
    """The end of each flow in seconds, by SimGrid."""
    settings = [f"--cfg={setting}" for setting in SETTINGS]
    engine = Engine(["check", *settings, "--log=root.thres:error"])
    zone = NetZone.create_full_zone("zone")
    hosts = [zone.create_host(host, 1e9) for host in HOSTS]
    made = {}
    for (a, b), rate in links().items():
        made[a, b] = zone.create_link(f"{a}-{b}", rate)
        made[a, b].set_latency(0).seal()
    for a in range(len(HOSTS)):
        for b in range(len(HOSTS)):
            if a != b:
                nodes = [HOSTS[a], *route(a, b), HOSTS[b]]
                crossed = [LinkInRoute(made[ends]) for ends in zip(nodes, nodes[1:], strict=False)]
                zone.add_route(hosts[a].netpoint, hosts[b].netpoint, None, None, crossed, False)
    zone.seal()
    ends = [0.0] * len(flows)

    def receive(number: int) -> None:
        Mailbox.by_name(str(number)).get()
        ends[number] = Engine.clock

    def send(number: int) -> None:
        start, _, _, size = flows[number]
        this_actor.sleep_until(start)
        Mailbox.by_name(str(number)).put("data", int(size))

    for number, (_, src, dst, _) in enumerate(flows):
        Actor.create(f"from {number}", hosts[src], send, number)
        Actor.create(f"to {number}", hosts[dst], receive, number)
    engine.run()
    return ends


def simgrid_apart(number: int) -> list[float]:
    """Runs SimGrid in a process of its own: it has one engine a process."""
    command = [sys.executable, __file__, "--simgrid", str(number)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    """Prints a line for each workload and policy; ends with status 1 if a time differs."""
    if sys.argv[1] == "--simgrid":
        print(json.dumps(with_simgrid(workloads()[int(sys.argv[2])])))
        return
    covey, *policies = sys.argv[1:]
    differ = False
    for number, flows in enumerate(workloads()):
        theirs = simgrid_apart(number)
        for policy in policies:
            with tempfile.TemporaryDirectory() as folder:
                ours = with_covey(covey, policy, flows, Path(folder))
            worst = max(abs(a - b) / max(abs(b), 1e-9) for a, b in zip(ours, theirs, strict=True))
            what = f"{policy}, workload {number + 1}, {len(flows)} flows"
            print(f"{what}: largest relative difference {worst:.1e}")
            differ |= worst > DIGITS
    sys.exit(differ)


if __name__ == "__main__":
    main()
