//! `least-served`: the coflow that has sent the fewest whole steps goes first.

use covey_core::{
    Answer, AnyPolicy, CoflowId, Group, NonClairvoyant, Plan, Policy, Promises, Share,
};
use covey_sched::{Info, Param};

type View<'a> = covey_core::View<'a, NonClairvoyant>;

pub const INFO: Info = Info {
    name: "least-served",
    knows: "unsized",
    summary: "the coflow that has sent the fewest steps first",
    params: &[Param { name: "step", default: "1MB", help: "size of a step" }],
    source: "the example of CONTRIBUTING.md",
    promises: |_| Ok(Promises { conserves_work: true, ..Promises::default() }),
    make: |settings| {
        let policy = LeastServed { step: settings.size("step")?, steps: Vec::new() };
        Ok(AnyPolicy::NonClairvoyant(Box::new(policy)))
    },
};

struct LeastServed {
    /// Bytes.
    step: f64,
    /// The steps that each coflow has sent.
    steps: Vec<u32>,
}

impl Policy<NonClairvoyant> for LeastServed {
    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_>) {
        self.steps.resize(view.slots(), 0);
        self.steps[coflow.index()] = 0;
    }

    fn bytes_reached(&mut self, coflow: CoflowId, _: f64, _: &View<'_>) {
        self.steps[coflow.index()] += 1;
    }

    fn plan(&mut self, view: &View<'_>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        let mut order = view.coflows().to_vec();
        order.sort_by_key(|coflow| self.steps[coflow.index()]);
        plan.clear();
        for coflow in order {
            plan.push(Group::Coflow(coflow), Share::MAX_MIN);
            plan.wake_when_sent(coflow, self.step * f64::from(self.steps[coflow.index()] + 1));
        }
        Answer::Replaced
    }
}
