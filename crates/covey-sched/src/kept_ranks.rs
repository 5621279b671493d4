//! The ranks of coflows in a plan that is kept from round to round.

use covey_core::{CoflowId, Group, Knowledge, Plan, Rank, Share};

/// The ranks of coflows in the plan.
#[derive(Debug, Default)]
pub(crate) struct KeptRanks {
    /// By coflow.
    ranks: Vec<Option<Rank>>,
    /// The ranks of coflows that have ended since the last plan.
    left: Vec<Rank>,
}

impl KeptRanks {
    /// The rank of a coflow in the plan.
    pub fn of(&self, coflow: CoflowId) -> Option<Rank> {
        self.ranks.get(coflow.index()).copied().flatten()
    }

    /// Notes that a coflow has ended. Its id may belong to another coflow when the plan is made.
    pub fn leave(&mut self, coflow: CoflowId) {
        self.left.extend(self.ranks.get_mut(coflow.index()).and_then(Option::take));
    }

    /// Removes coflows that have ended from the plan. Returns whether there were any.
    pub fn clear_left<K: Knowledge>(&mut self, plan: &mut Plan<K>) -> bool {
        let any = !self.left.is_empty();
        self.left.drain(..).for_each(|rank| plan.remove(rank));
        any
    }

    /// Removes a coflow from the plan.
    pub fn lift<K: Knowledge>(&mut self, plan: &mut Plan<K>, coflow: CoflowId) {
        let rank = self.ranks.get_mut(coflow.index()).and_then(Option::take);
        rank.into_iter().for_each(|rank| plan.remove(rank));
    }

    /// Moves a coflow to a rank. Returns whether it had another one.
    pub fn put<K: Knowledge>(
        &mut self,
        plan: &mut Plan<K>,
        coflow: CoflowId,
        rank: Rank,
        share: Share<K>,
    ) -> bool {
        if self.ranks.len() <= coflow.index() {
            self.ranks.resize(coflow.index() + 1, None);
        }
        let before = self.ranks[coflow.index()].replace(rank);
        if before == Some(rank) {
            return false;
        }
        before.into_iter().for_each(|before| plan.remove(before));
        plan.insert(rank, Group::Coflow(coflow), share);
        true
    }
}
