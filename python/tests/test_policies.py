"""Policies in Python."""

import time

import covey
import pytest
from policies import LeastServed, Sebf

TWO = (
    '{"covey_trace":1,"ports":2}\n'
    '{"id":"a","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":3000000}]}\n'
    '{"id":"b","arrival_s":0.5,"flows":[{"src":0,"dst":1,"bytes":1000000}]}\n'
)


def test_the_small_coflow_overtakes_the_large_one() -> None:
    result = covey.simulate(covey.parse_trace(TWO), LeastServed, port_rate="1MB/s")
    assert result.per_coflow["completion_s"] == [4.0, 2.0]
    assert result.label == "LeastServed:step=1000000.0"


def test_an_instance_is_a_pattern(hour: covey.Trace) -> None:
    policy = LeastServed(step=1e10)
    first, second = (covey.simulate(hour, policy).per_coflow["cct_s"] for _ in range(2))
    assert first == second
    assert policy.steps == {}


def same_as_sebf_and_at_most_20_times_slower(trace: covey.Trace) -> None:
    def timed(policy: covey.Policy | str) -> tuple[list[float], float]:
        start = time.process_time()
        table = covey.simulate(trace, policy).per_coflow
        return table["cct_s"], time.process_time() - start

    expected, fast_s = timed("sebf")
    found, slow_s = timed(Sebf())
    assert found == expected
    assert slow_s <= 20 * fast_s, f"{slow_s} s against {fast_s} s"


def test_sebf_in_python_is_sebf(hour: covey.Trace) -> None:
    same_as_sebf_and_at_most_20_times_slower(hour)


def test_sebf_in_python_is_sebf_on_the_facebook_trace(facebook: covey.Trace) -> None:
    same_as_sebf_and_at_most_20_times_slower(facebook)


def test_policies_are_compared_and_keep_to_the_rules(hour: covey.Trace) -> None:
    comparison = covey.compare(hour, ["sebf", Sebf, LeastServed(step=1e10)])
    assert comparison["Sebf"].per_coflow["cct_s"] == comparison["sebf"].per_coflow["cct_s"]
    covey.check_policy(Sebf, cases=20)
    covey.check_policy(LeastServed(step=2.0), cases=20)


@pytest.mark.parametrize("what", ["size", "left", "raw_left", "left_at", "total", "bottleneck_s"])
def test_an_unsized_policy_sees_no_sizes(tiny: covey.Trace, what: str) -> None:
    class Peek(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            coflow = view.coflows[0]
            of_flow = what in ("size", "left", "raw_left")
            getattr(view, what)(view.flows(coflow)[0] if of_flow else coflow)

    with pytest.raises(covey.KnowledgeError, match=f"no View.{what}"):
        covey.simulate(tiny, Peek)


@pytest.mark.parametrize("share", ["madd", "by-size", "shortest-first"])
def test_an_unsized_policy_asks_for_no_sharing_by_size(tiny: covey.Trace, share: str) -> None:
    class Plans(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            plan.coflow(view.coflows[0], share)  # type: ignore[arg-type]

    with pytest.raises(covey.KnowledgeError, match=f"no share '{share}'"):
        covey.simulate(tiny, Plans)


def test_exceptions_and_bad_plans_come_out(tiny: covey.Trace) -> None:
    class Breaks(covey.Policy):
        def coflow_arrived(self, coflow: int, view: covey.View) -> None:
            message = "as it happens"
            raise ZeroDivisionError(message)

    class Strays(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            plan.flow((0, 99))

    class Idles(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            pass

    with pytest.raises(ZeroDivisionError, match="as it happens"):
        covey.simulate(tiny, Breaks)
    with pytest.raises(ZeroDivisionError, match="as it happens"):
        covey.check_policy(Breaks)
    with pytest.raises(IndexError, match=r"no flow has the number \(0, 99\)"):
        covey.simulate(tiny, Strays)
    with pytest.raises(
        covey.SimulationError, match=r"policy Idles, at 0\.5 s: coflow '1' has work"
    ):
        covey.simulate(tiny, Idles)
    with pytest.raises(NotImplementedError):
        covey.simulate(tiny, covey.Policy)


def test_a_view_shows_nothing_afterwards(tiny: covey.Trace) -> None:
    kept = []

    class Keeps(LeastServed):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            kept.append(view)
            super().plan(view, plan)

    covey.simulate(tiny, Keeps)
    with pytest.raises(RuntimeError, match="only during the call"):
        _ = kept[0].coflows


def test_the_rules_find_those_who_break_them() -> None:
    class LastOnly(covey.Policy):
        conserves_work = True

        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            for coflow in view.coflows[-1:]:
                plan.coflow(coflow)

    class ByPort(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            for coflow in sorted(view.coflows, key=view.loads):
                plan.coflow(coflow)

    class Remembers(covey.Policy):
        runs = 0

        def __init__(self) -> None:
            Remembers.runs += 1
            self.odd = Remembers.runs % 2 == 1

        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            for coflow in sorted(view.coflows, reverse=self.odd):
                plan.coflow(coflow)

    for policy, words in [
        (LastOnly, "promises to conserve work"),
        (ByPort, "with ports called"),
        (Remembers, "the same run gives"),
    ]:
        with pytest.raises(covey.ConformanceError, match=words) as error:
            covey.check_policy(policy, cases=200)
        assert '{"covey_trace":1' in str(error.value)
