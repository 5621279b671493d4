"""Policies in Python that tests use."""

from collections.abc import Sequence

import covey


class Sebf(covey.Policy):
    """The registry's sebf."""

    knows = "sized"
    conserves_work = True

    def plan(self, view: covey.View, plan: covey.Plan) -> None:
        plan.backfill = "greedy"
        for coflow in sorted(view.coflows, key=view.bottleneck_s):
            plan.coflow(coflow, "madd")


class ByStart(covey.Policy):
    """Flows that start together are a group; groups go in order of their starts."""

    knows = "unlabelled"

    def __init__(self) -> None:
        self.groups: dict[float, covey.NewGroup | int] = {}
        self.starts: list[float] = []

    def regroup(self, view: covey.View, regrouping: covey.Regrouping) -> None:
        for flow in view.newcomers:
            if flow.start_s not in self.groups:
                self.groups[flow.start_s] = regrouping.begin()
            regrouping.put(flow.number, self.groups[flow.start_s])
            self.starts.append(flow.start_s)

    def regrouped(self, flows: Sequence[tuple[int, int]], view: covey.View) -> None:
        self.groups |= zip(self.starts, (group for group, _ in flows), strict=True)
        self.starts.clear()

    def coflow_ended(self, coflow: int, view: covey.View) -> None:
        self.groups = {start: group for start, group in self.groups.items() if group != coflow}

    def plan(self, view: covey.View, plan: covey.Plan) -> None:
        for group in view.coflows:
            plan.coflow(group)


class LeastServed(covey.Policy):
    """The coflow that has sent the fewest whole steps goes first (CONTRIBUTING.md)."""

    def __init__(self, step: float = 1e6) -> None:
        self.step = step
        self.steps: dict[int, int] = {}

    def coflow_arrived(self, coflow: int, view: covey.View) -> None:
        self.steps[coflow] = 0

    def bytes_reached(self, coflow: int, bytes_: float, view: covey.View) -> None:
        self.steps[coflow] += 1

    def plan(self, view: covey.View, plan: covey.Plan) -> None:
        for coflow in sorted(view.coflows, key=self.steps.__getitem__):
            plan.coflow(coflow)
            plan.wake_when_sent(coflow, self.step * (self.steps[coflow] + 1))
