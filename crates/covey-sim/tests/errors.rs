//! Errors of policies name the policy and the time.

use crate::common::flow;
use covey_alloc::PlanError;
use covey_core::{
    Answer, AnyPolicy, CoflowId, Fabric, Group, LinkId, NonClairvoyant, Plan, Policy, Share, Time,
    View,
};
use covey_sim::{SimError, simulate};
use covey_trace::{Coflow, Workload};

/// A policy that is only a function from the present coflows to a plan.
struct Plans<F>(F);

impl<F> Policy<NonClairvoyant> for Plans<F>
where
    F: FnMut(&View<'_, NonClairvoyant>, &mut Plan<NonClairvoyant>) + Send,
{
    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.clear();
        self.0(view, plan);
        Answer::Replaced
    }
}

/// Two coflows of one flow each on one link of rate 1: one at 0, one at 2 seconds.
fn two_coflows() -> Workload {
    let coflow = |id: &str, arrival_s| Coflow::new(id.to_owned(), arrival_s, vec![flow(0, 0, 3.0)]);
    Workload::new(1, vec![coflow("early", 0.0), coflow("late", 2.0)])
}

/// The outcome of the two coflows under a plan.
fn under(
    plan: impl FnMut(&View<'_, NonClairvoyant>, &mut Plan<NonClairvoyant>) + Send + 'static,
) -> SimError {
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let mut policy = AnyPolicy::NonClairvoyant(Box::new(Plans(plan)));
    simulate(&two_coflows(), &fabric, "mine", &mut policy, &mut ()).unwrap_err()
}

fn wrong_plan(time_s: f64, source: PlanError) -> SimError {
    SimError::Plan { policy: "mine".to_owned(), time_s, source }
}

fn stalled(time_s: f64, coflow: &str) -> SimError {
    SimError::Stalled { policy: "mine".to_owned(), time_s, coflow: coflow.to_owned() }
}

#[test]
fn overbooking() {
    // One coflow at rate 0.75 fits, two do not.
    let error = under(|view, plan| {
        for &coflow in view.coflows() {
            plan.push(Group::Coflow(coflow), Share::rate(0.75));
        }
    });
    let source = PlanError::Overbooked { link: LinkId(0), asked: 0.75, free: 0.25 };
    assert_eq!(error, wrong_plan(2.0, source));
    assert_eq!(
        error.to_string(),
        "policy mine, at 2 s: the plan asks for 0.75 bytes/s on link 0 of which 0.25 bytes/s are free"
    );
}

#[test]
fn naming_a_coflow_twice() {
    let error = under(|view, plan| {
        for _ in view.coflows() {
            plan.push(Group::Coflow(view.coflows()[0]), Share::MAX_MIN);
        }
    });
    assert_eq!(error, wrong_plan(2.0, PlanError::Twice(CoflowId(0))));
    assert_eq!(error.to_string(), "policy mine, at 2 s: the plan names coflow 0 twice");
}

#[test]
fn naming_an_unknown_coflow() {
    let error = under(|_, plan| plan.push(Group::Coflow(CoflowId(7)), Share::MAX_MIN));
    assert_eq!(error, wrong_plan(0.0, PlanError::Absent(CoflowId(7))));
    assert_eq!(
        error.to_string(),
        "policy mine, at 0 s: the plan names coflow 7, which is not present"
    );
}

#[test]
fn naming_a_coflow_that_has_ended() {
    let error = under(|_, plan| plan.push(Group::Coflow(CoflowId(0)), Share::MAX_MIN));
    assert_eq!(error, wrong_plan(3.0, PlanError::Absent(CoflowId(0))));
}

#[test]
fn serving_all_flows_beside_a_coflow() {
    let error = under(|view, plan| {
        plan.push(Group::AllFlows, Share::MAX_MIN);
        if view.coflows().len() > 1 {
            plan.push(Group::Coflow(view.coflows()[0]), Share::MAX_MIN);
        }
    });
    assert_eq!(error, wrong_plan(2.0, PlanError::AllFlows));
}

#[test]
fn serving_no_coflow() {
    let error = under(|_, _| {});
    assert_eq!(error, stalled(2.0, "early"));
    assert_eq!(
        error.to_string(),
        "policy mine, at 2 s: coflow 'early' has work left and is never served again"
    );
}

#[test]
fn serving_only_the_first() {
    let error = under(|view, plan| {
        let first = view.coflows().iter().find(|c| view.arrival(**c) == Time::ZERO);
        first.into_iter().for_each(|&c| plan.push(Group::Coflow(c), Share::MAX_MIN));
    });
    assert_eq!(error, stalled(3.0, "late"));
}

#[test]
fn waking_for_ever_without_serving() {
    let error = under(|view, plan| plan.wake_at(view.now() + 1.0));
    assert!(matches!(&error, SimError::Stalled { policy, coflow, time_s }
        if policy == "mine" && coflow == "early" && *time_s > 2.0 && time_s.is_finite()));
}

#[test]
fn waking_for_ever_at_the_same_time() {
    let error = under(|view, plan| plan.wake_at(view.now()));
    assert_eq!(error, SimError::StandsStill { policy: "mine".to_owned(), time_s: 0.0 });
    assert_eq!(
        error.to_string(),
        "policy mine, at 0 s: its wake-ups are due again at once, and no time passes: expected a \
         wake-up later than now"
    );
}

#[test]
fn a_workload_that_does_not_fit_the_fabric_or_waits_for_itself() {
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let run = |workload: &Workload| {
        simulate(workload, &fabric, "fifo", &mut crate::common::policy("fifo"), &mut ())
            .unwrap_err()
    };
    let large = Workload { ports: 2, ..two_coflows() };
    assert_eq!(run(&large), SimError::Ports { workload: 2, fabric: 1 });
    let mut cycle = two_coflows();
    cycle.coflows[0].parents.push(1);
    cycle.coflows[1].parents.push(0);
    assert_eq!(run(&cycle), SimError::Cycle { coflow: "early".to_owned() });
}
