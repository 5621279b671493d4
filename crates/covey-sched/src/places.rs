//! Coflows at their places in a plan that is kept.

use covey_core::{CoflowId, Group, Knowledge, Plan, Rank, Share};

/// Where coflows stand.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By coflow.
    ranks: Vec<Option<Rank>>,
    /// The places of coflows that have ended since the last plan.
    left: Vec<Rank>,
}

impl Places {
    /// A coflow has ended: its number may be another's when the plan is made.
    pub fn leave(&mut self, coflow: CoflowId) {
        self.left.extend(self.ranks.get_mut(coflow.index()).and_then(Option::take));
    }

    /// Takes those who have ended out of a plan. Returns whether there were any.
    pub fn clear_left<K: Knowledge>(&mut self, plan: &mut Plan<K>) -> bool {
        let any = !self.left.is_empty();
        self.left.drain(..).for_each(|rank| plan.remove(rank));
        any
    }

    /// Takes a coflow from where it stands.
    pub fn lift<K: Knowledge>(&mut self, plan: &mut Plan<K>, coflow: CoflowId) {
        let rank = self.ranks.get_mut(coflow.index()).and_then(Option::take);
        rank.into_iter().for_each(|rank| plan.remove(rank));
    }

    /// Puts a coflow at a place, and takes it from where it stood. Returns whether that is another.
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
        plan.place(rank, Group::Coflow(coflow), share);
        true
    }
}
