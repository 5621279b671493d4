"""Simulates flows with SimGrid's max-min sharing.

Reads a JSON object: `links`, each as its two ends and bytes per second; `routes`, each as the
nodes from one host to another; and `flows`, each as start in seconds, two hosts, and bytes. Prints
the end of each flow in seconds.
"""

import json
import sys

from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone, this_actor

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

given = json.load(sys.stdin)
flows = given["flows"]
ends = [0.0] * len(flows)


def receive(number):
    Mailbox.by_name(str(number)).get()
    ends[number] = Engine.clock


def send(number):
    this_actor.sleep_until(flows[number][0])
    Mailbox.by_name(str(number)).put("data", int(flows[number][3]))


engine = Engine(["simgrid", *(f"--cfg={it}" for it in SETTINGS), "--log=root.thres:error"])
zone = NetZone.create_full_zone("zone")
links = {(a, b): zone.create_link(f"{a}-{b}", rate) for a, b, rate in given["links"]}
for link in links.values():
    link.set_latency(0).seal()
names = sorted({route[0] for route in given["routes"]})
hosts = {name: zone.create_host(name, 1e9) for name in names}
for route in given["routes"]:
    src, dst = hosts[route[0]].netpoint, hosts[route[-1]].netpoint
    crossed = [LinkInRoute(links[pair]) for pair in zip(route, route[1:])]
    zone.add_route(src, dst, None, None, crossed, False)
zone.seal()
for number, (_, src, dst, _) in enumerate(flows):
    Actor.create(f"from {number}", hosts[src], send, number)
    Actor.create(f"to {number}", hosts[dst], receive, number)
engine.run()
print(json.dumps(ends))
