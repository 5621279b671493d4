"""Policies in Python that tests use."""

import covey


class Sebf(covey.Policy):
    """The registry's sebf."""

    knows = "sized"
    conserves_work = True

    def plan(self, view: covey.View, plan: covey.Plan) -> None:
        plan.backfill = "greedy"
        for coflow in sorted(view.coflows, key=view.bottleneck_s):
            plan.coflow(coflow, "madd")


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
