//! The base of policies that do not distinguish coflows: one plan that never changes.

use covey_core::{Answer, Group, Knowledge, Plan, Policy, Share, View, Wants};

/// Serves all flows as one group with one rule of sharing.
pub(crate) struct AllFlows<K> {
    share: Share<K>,
    planned: bool,
}

impl<K> AllFlows<K> {
    pub(crate) fn new(share: Share<K>) -> AllFlows<K> {
        AllFlows { share, planned: false }
    }
}

impl<K: Knowledge + Copy> Policy<K> for AllFlows<K> {
    fn wants(&self) -> Wants {
        Wants { sizes_only: true, ..Wants::default() }
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
