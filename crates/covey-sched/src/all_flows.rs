//! What policies that do not distinguish coflows have in common: one plan that never changes.

use covey_core::{Answer, Group, Knowledge, Plan, Policy, Promises, Share, View, Wants};

/// Serves all flows as one group with one rule of sharing.
pub(crate) struct AllFlows<K> {
    share: Share<K>,
    promises: Promises,
    planned: bool,
}

impl<K> AllFlows<K> {
    pub(crate) fn new(share: Share<K>, starves_nobody: bool) -> AllFlows<K> {
        let promises = Promises { conserves_work: true, starves_nobody, ..Promises::default() };
        AllFlows { share, promises, planned: false }
    }

    /// With a rule that may leave links idle. Nothing is promised then.
    pub(crate) fn leaving_idle(share: Share<K>) -> AllFlows<K> {
        AllFlows { share, promises: Promises::default(), planned: false }
    }
}

impl<K: Knowledge + Copy> Policy<K> for AllFlows<K> {
    fn wants(&self) -> Wants {
        Wants { sizes_only: true, ..Wants::default() }
    }

    fn promises(&self) -> Promises {
        self.promises
    }

    fn plan(&mut self, _: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if std::mem::replace(&mut self.planned, true) && !plan.ranking().entries.is_empty() {
            return Answer::Unchanged;
        }
        plan.clear();
        plan.push(Group::AllFlows, self.share);
        Answer::Replaced
    }
}
