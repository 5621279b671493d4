"""Table 3 of Philae (ATC 2019): its speed-up over Aalo under four orders of coflows."""

import sys

import covey

trace = covey.load_trace(sys.argv[1] if len(sys.argv) > 1 else "builtin:fb-like")
orders = [covey.spec("philae", order=order) for order in "ABCD"]
comparison = covey.compare(trace, ["aalo", *orders], baseline="aalo")
print("order    P50    P90   mean")
for speedup in comparison.summary()["speedups"][1:]:
    p50, p90, mean = (speedup[key] for key in ("p50", "p90", "mean_of_means"))
    print(f"{speedup['label'][-1]:5} {p50:6.2f} {p90:6.2f} {mean:6.2f}")
