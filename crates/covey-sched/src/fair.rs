//! `fair`: exact max-min fairness among all flows, the ideal of TCP. Coflows do not matter.

use covey_core::{Answer, AnyPolicy, Group, NonClairvoyant, Plan, Policy, Promises, Share, View};

use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "fair",
    knows: "unsized",
    summary: "exact per-flow max-min fairness",
    params: &[],
    source: "Bertsekas and Gallager, Data Networks, 6.5; FAIR in Philae 8.4",
    make: |_| Ok(AnyPolicy::Unsized(Box::new(Fair { planned: false }))),
};

struct Fair {
    planned: bool,
}

impl Policy<NonClairvoyant> for Fair {
    fn promises(&self) -> Promises {
        Promises { conserves_work: true, starves_nobody: true, ..Promises::default() }
    }

    fn plan(&mut self, _: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if std::mem::replace(&mut self.planned, true) && !plan.ranking().entries.is_empty() {
            return Answer::Unchanged;
        }
        plan.clear();
        plan.push(Group::Everything, Share::MAX_MIN);
        Answer::Replaced
    }
}
