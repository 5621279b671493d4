#!/usr/bin/env python3
"""Measures what isolation of tenants costs and gives; prints the tables of docs/tenants.md.

    scripts/tenants.py COVEY [TRACE] [--coflows N] [--policies LIST]
    scripts/tenants.py COVEY [TRACE] --deal [--every N] [--policies LIST]

COVEY is the program, TRACE a trace without tenants; the default is builtin:fb-like. Of its coflows, in order of
arrival, every other one belongs to `honest` and the others to `hostile`. As long as it is not hostile, that tenant has
the coflows of the trace. When it is, it deals the flows of each of its coflows out to fifty coflows, and registers
twenty coflows of a kilobyte before each. With --deal, `covey trace tenants` deals the coflows to two and to five
tenants instead, and nobody is hostile; with --every N, the first coflow and every N-th after it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PARTS, TINY, TINY_BYTES = 50, 20, 1000
WEIGHTS = "honest=1,hostile=1"
TENANTS = (2, 5)


def coflows(covey: str, trace: str, most: int | None) -> tuple[dict, list[dict]]:
    """Read a trace: its header, and its coflows in order of arrival, each with its tenant."""
    text = subprocess.run([covey, "trace", "convert", trace, "-"], check=True, stdout=subprocess.PIPE)
    header, *lines = map(json.loads, text.stdout.decode().splitlines())
    lines = sorted(lines, key=lambda line: line["arrival_s"])[:most]
    for k, line in enumerate(lines):
        line["tenant"] = ("honest", "hostile")[k % 2]
    return {"covey_trace": 1, "ports": header["ports"]}, lines


def turned(lines: list[dict]) -> list[dict]:
    """Make the second tenant hostile."""
    made: list[dict] = []
    for line in lines:
        if line["tenant"] == "honest":
            made.append(line)
            continue
        flows = line["flows"]
        for k in range(TINY):
            flow = {**flows[k % len(flows)], "bytes": TINY_BYTES}
            made.append({**line, "id": f"{line['id']}.tiny{k}", "flows": [flow]})
        parts = [flows[k::PARTS] for k in range(PARTS)]
        for k, part in enumerate(part for part in parts if part):
            made.append({**line, "id": f"{line['id']}.{k}", "flows": part})
    return made


def means(covey: str, file: Path, policy: str, *more: str) -> dict[str, float]:
    """Simulate; the mean CCT of each tenant, and the seconds that it took."""
    command = [covey, "simulate", str(file), "--policy", policy, "--json", *more]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    by_tenant = {tenant["tenant"]: tenant["mean_cct_s"] for tenant in found["tenants"]}
    return {**by_tenant, "all": found["cct_s"]["mean"], "wall": found["wall_s"]}


def deal(covey: str, trace: str, every: int, policies: list[str], folder: Path) -> None:
    """Print the mean CCT of all coflows without tenants, and with each number of tenants of equal weights."""
    header, lines = coflows(covey, trace, None)
    sample, dealt = folder / "sample.jsonl", []
    sample.write_text("\n".join(map(json.dumps, [header, *lines[::every]])) + "\n")
    for number in TENANTS:
        file, weights = folder / f"{number}.jsonl", ",".join(f"t{k}=1" for k in range(number))
        drawn = ["--shares", weights, "--by", "coflow", "--seed", "1"]
        subprocess.run([covey, "trace", "tenants", str(sample), *drawn, "-o", str(file)], check=True)
        dealt.append((file, weights))
    print("| policy | without tenants |" + "".join(f" {number} tenants | ratio |" for number in TENANTS))
    print("|---|--:|" + "--:|--:|" * len(TENANTS))
    for policy in policies:
        free = means(covey, dealt[0][0], policy)
        divided = [means(covey, file, policy, "--tenants", weights) for file, weights in dealt]
        cells = [f"{free['all']:.2f}"]
        for found in divided:
            cells += [f"{found['all']:.2f}", f"{found['all'] / free['all']:.3f}"]
        print(f"| `{policy}` | " + " | ".join(cells) + " |", flush=True)
        times = [f"{found['wall']:.1f}" for found in (free, *divided)]
        print(f"{policy}: {' '.join(times)} s", file=sys.stderr)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    arguments.add_argument("covey")
    arguments.add_argument("trace", nargs="?", default="builtin:fb-like")
    arguments.add_argument("--coflows", type=int, help="use the first so many coflows only")
    arguments.add_argument("--policies", default="covey,sebf,aalo,philae,fair")
    arguments.add_argument("--deal", action="store_true", help="deal coflows to two and to five tenants")
    arguments.add_argument("--every", type=int, default=1, help="of the coflows, with --deal")
    given = arguments.parse_args()
    if given.deal:
        with tempfile.TemporaryDirectory() as folder:
            return deal(given.covey, given.trace, given.every, given.policies.split(","), Path(folder))
    header, lines = coflows(given.covey, given.trace, given.coflows)
    with tempfile.TemporaryDirectory() as folder:

        def written(name: str, lines: list[dict]) -> Path:
            file = Path(folder) / f"{name}.jsonl"
            file.write_text("\n".join(map(json.dumps, [header, *lines])) + "\n")
            return file

        both = written("both", lines)
        hostile = written("hostile", turned(lines))
        alone = written("alone", [line for line in lines if line["tenant"] == "honest"])
        price, isolation = [], []
        for policy in given.policies.split(","):
            free = means(given.covey, both, policy)
            divided = means(given.covey, both, policy, "--tenants", WEIGHTS)
            attacked = means(given.covey, hostile, policy)
            defended = means(given.covey, hostile, policy, "--tenants", WEIGHTS)
            half = means(given.covey, alone, policy, "--port-rate", "500mbps")
            cells = [free["all"], divided["all"], divided["all"] / free["all"]]
            cells += [free["honest"], divided["honest"], free["hostile"], divided["hostile"]]
            price.append(f"| `{policy}` | " + " | ".join(f"{x:.2f}" for x in cells) + " |")
            cells = [free["honest"], attacked["honest"], half["honest"], defended["honest"]]
            cells += [defended["honest"] / half["honest"]]
            isolation.append(f"| `{policy}` | " + " | ".join(f"{x:.2f}" for x in cells) + " |")
            times = [f"{x['wall']:.1f}" for x in (free, divided, attacked, defended)]
            print(f"{policy}: {' '.join(times)} s", file=sys.stderr)
    print("| policy | all | all, divided | ratio | first | divided | second | divided |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    print(*price, sep="\n")
    print("\n| policy | both honest | hostile | its part alone | hostile, divided | over its part |")
    print("|---|--:|--:|--:|--:|--:|")
    print(*isolation, sep="\n")


main()
