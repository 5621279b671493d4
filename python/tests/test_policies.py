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


@pytest.mark.parametrize("share", ["madd", "proportional", "by-size", "shortest-first"])
def test_an_unsized_policy_asks_for_no_sharing_by_size(tiny: covey.Trace, share: str) -> None:
    class Plans(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            plan.coflow(view.coflows[0], share)  # type: ignore[arg-type]

    with pytest.raises(covey.KnowledgeError, match=f"no share '{share}'"):
        covey.simulate(tiny, Plans)


class Breaks(covey.Policy):
    def coflow_arrived(self, coflow: int, view: covey.View) -> None:
        message = "as it happens"
        raise ZeroDivisionError(message)

    def plan(self, view: covey.View, plan: covey.Plan) -> None:
        plan.everything()


def test_exceptions_come_out(tiny: covey.Trace) -> None:
    with pytest.raises(ZeroDivisionError, match="as it happens"):
        covey.simulate(tiny, Breaks)
    with pytest.raises(ZeroDivisionError, match="as it happens"):
        covey.compare(tiny, ["fair", Breaks, LeastServed])


class BreaksAtTheEnd(Breaks):
    starves_nobody = True

    def coflow_arrived(self, coflow: int, view: covey.View) -> None:
        pass

    def coflow_ended(self, coflow: int, view: covey.View) -> None:
        if view.now_s > 0:
            raise KeyError(coflow)


def test_a_check_shows_the_workload_on_which_a_policy_raises() -> None:
    with pytest.raises(covey.ConformanceError) as error:
        covey.check_policy(Breaks)
    said = str(error.value)
    assert said.startswith("the policy raised ZeroDivisionError: as it happens\nlinks of [")
    assert '{"covey_trace":1,"ports":1,"coflows":1}' in said
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    with pytest.raises(covey.ConformanceError, match="a large coflow is followed by 4000 small"):
        covey.check_policy(BreaksAtTheEnd)


PLANS = [
    (lambda v, p: None, r"policy Mine, at 0\.5 s: coflow '1' has work"),
    (
        lambda v, p: p.wake_at(v.now_s),
        "at 0 s: .* no time passes: expected a wake-up later than now",
    ),
    (lambda v, p: p.wake_at(float("nan")), "time_s: expected seconds, found nan"),
    (lambda v, p: p.wake_when_sent(0, float("nan")), "bytes_: expected bytes, found nan"),
    (
        lambda v, p: v.coflows,
        r"plan: expected None or covey.UNCHANGED .*, found <class 'list'>: serve",
    ),
    (lambda v, p: p.coflow(999), "no coflow has the number 999: View.coflows has those that are"),
    (lambda v, p: p.coflow(-1), "no coflow has the number -1"),
    (lambda v, p: v.width(-1), "no coflow has the number -1"),
    (lambda v, p: p.flow((0, 99)), r"no flow has the number \(0, 99\)"),
    (lambda v, p: p.flow((0, -1)), r"no flow has the number \(0, -1\)"),
    (lambda v, p: p.give(0, 6, 0.5), "no link has the number 6: there are 6, from 0"),
    (lambda v, p: v.egress(3), "no port has the number 3: there are 3, from 0"),
]


@pytest.mark.parametrize(("plans", "words"), PLANS)
def test_the_error_of_a_bad_plan_names_its_cause(tiny: covey.Trace, plans, words: str) -> None:
    class Mine(covey.Policy):
        def plan(self, view: covey.View, plan: covey.Plan) -> object:
            return plans(view, plan)

    with pytest.raises((covey.SimulationError, covey.InputError, IndexError), match=words):
        covey.simulate(tiny, Mine)


def test_other_values_than_policies_are_refused(tiny: covey.Trace) -> None:
    class Misspelt(Breaks):
        def coflow_arive(self, coflow: int, view: covey.View) -> None:
            pass

    class Promises(Breaks):
        conserve_work = True

    class Helped(LeastServed):
        limits = (1, 2)

        def order(self) -> None:
            pass

    class Plans(covey.Policy):
        def plans(self, view: covey.View, plan: covey.Plan) -> None:
            pass

    for policy, words in [
        (None, "policy: expected a name like 'sebf' .*, found None"),
        (3, "found 3"),
        (int, "found <class 'int'>"),
        (covey.Policy, r"policy Policy: expected a method plan\(self, view, plan\), found none"),
        (Plans, "policy Plans: 'plans' is never looked at: did you mean 'plan'?"),
        (Misspelt, "'coflow_arive' is never looked at: did you mean 'coflow_arrived'?"),
        (Promises(), "'conserve_work' is never looked at: did you mean 'conserves_work'?"),
    ]:
        for run in (
            lambda policy: covey.simulate(tiny, policy),
            lambda policy: covey.compare(tiny, ["fair", policy]),
            covey.check_policy,
        ):
            with pytest.raises(covey.InputError, match=words):
                run(policy)
    covey.simulate(tiny, Helped)


def test_a_view_shows_nothing_afterwards(tiny: covey.Trace) -> None:
    kept = []

    class Keeps(LeastServed):
        def plan(self, view: covey.View, plan: covey.Plan) -> None:
            kept.append(view)
            super().plan(view, plan)

    covey.simulate(tiny, Keeps)
    with pytest.raises(RuntimeError, match="only during the call"):
        _ = kept[0].coflows


def test_the_rules_find_policies_that_break_them() -> None:
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
