//! A policy together with its plan, whatever it knows.

use std::ops::DerefMut;

use crate::Allocator;
use covey_core::Confidence;
use covey_core::Criterion;
use covey_core::Event;
use covey_core::Knowledge;
use covey_core::Nearest;
use covey_core::Regrouping;
use covey_core::Time;
use covey_core::View;
use covey_core::state::State;
use covey_core::{Answer, AnyPolicy, Policy, Wants};
use covey_core::{CoflowId, FlowId, LinkId};
use covey_core::{Group, Plan, Rank, Ranking};
use covey_core::{Wake, Wakes};

/// A policy together with its plan. The type does not say what the policy knows.
pub(crate) trait ErasedPolicy: Send {
    fn wants(&self) -> Wants;
    /// Whether applications name coflows to the policy.
    fn sees_coflows(&self) -> bool;
    /// Whether the policy may ask for sizes.
    fn sees_sizes(&self) -> bool;
    fn link_thresholds(&self) -> &[f64];
    fn why(&self, flow: FlowId) -> Option<Nearest>;
    fn confidence(&self) -> Option<Confidence>;
    fn ranked_by(&self, flow: FlowId, link: LinkId, state: &State, now: Time) -> Vec<Criterion>;
    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>);
    fn event(&mut self, event: Event, state: &State, now: Time);
    fn regroup(&mut self, state: &State, now: Time, regrouping: &mut Regrouping);
    fn regrouped(&mut self, flows: &[FlowId], state: &State, now: Time);
    fn plan(&mut self, state: &State, now: Time) -> Answer;
    /// See [`Plan::edits`].
    fn edits(&self) -> Option<&[(Rank, Group)]>;
    /// Notifies an allocator of what has changed in the plan since the last call.
    fn notify(&mut self, allocator: &mut Allocator);
    fn ranking(&self) -> &Ranking;
    fn wakes(&self) -> &Wakes;
    fn wakes_mut(&mut self) -> &mut Wakes;
}

/// A policy, owned or borrowed as `P`, and its plan.
struct WithPlan<P, K> {
    policy: P,
    plan: Plan<K>,
}

impl<P: DerefMut<Target = dyn Policy<K>> + Send, K: Knowledge> ErasedPolicy for WithPlan<P, K> {
    fn wants(&self) -> Wants {
        self.policy.wants()
    }

    fn sees_coflows(&self) -> bool {
        K::SEES_COFLOWS
    }

    fn sees_sizes(&self) -> bool {
        K::SEES_SIZES
    }

    fn link_thresholds(&self) -> &[f64] {
        self.policy.link_thresholds()
    }

    fn why(&self, flow: FlowId) -> Option<Nearest> {
        self.policy.why(flow)
    }

    fn confidence(&self) -> Option<Confidence> {
        self.policy.confidence()
    }

    fn ranked_by(&self, flow: FlowId, link: LinkId, state: &State, now: Time) -> Vec<Criterion> {
        self.policy.ranked_by(flow, link, &View::new(state, now))
    }

    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        self.policy.reads_flows_of(wake, now, coflows);
    }

    fn event(&mut self, event: Event, state: &State, now: Time) {
        self.policy.event(event, &View::new(state, now));
    }

    fn regroup(&mut self, state: &State, now: Time, regrouping: &mut Regrouping) {
        self.policy.regroup(&View::new(state, now), regrouping);
    }

    fn regrouped(&mut self, flows: &[FlowId], state: &State, now: Time) {
        self.policy.regrouped(flows, &View::new(state, now));
    }

    fn plan(&mut self, state: &State, now: Time) -> Answer {
        self.policy.plan(&View::new(state, now), &mut self.plan)
    }

    fn edits(&self) -> Option<&[(Rank, Group)]> {
        self.plan.edits()
    }

    fn notify(&mut self, allocator: &mut Allocator) {
        allocator.read_edits(&mut self.plan);
    }

    fn ranking(&self) -> &Ranking {
        self.plan.ranking()
    }

    fn wakes(&self) -> &Wakes {
        self.plan.wakes()
    }

    fn wakes_mut(&mut self) -> &mut Wakes {
        self.plan.wakes_mut()
    }
}

fn boxed<'p, P, K>(policy: P) -> Box<dyn ErasedPolicy + 'p>
where
    P: DerefMut<Target = dyn Policy<K>> + Send + 'p,
    K: Knowledge,
{
    Box::new(WithPlan { policy, plan: Plan::default() })
}

/// A policy with an empty plan.
pub(crate) fn owned(policy: AnyPolicy) -> Box<dyn ErasedPolicy> {
    match policy {
        AnyPolicy::Clairvoyant(policy) => boxed(policy),
        AnyPolicy::NonClairvoyant(policy) => boxed(policy),
        AnyPolicy::Unlabelled(policy) => boxed(policy),
    }
}

/// A borrowed policy with an empty plan.
pub(crate) fn borrowed(policy: &mut AnyPolicy) -> Box<dyn ErasedPolicy + '_> {
    match policy {
        AnyPolicy::Clairvoyant(policy) => boxed(policy.as_mut()),
        AnyPolicy::NonClairvoyant(policy) => boxed(policy.as_mut()),
        AnyPolicy::Unlabelled(policy) => boxed(policy.as_mut()),
    }
}
