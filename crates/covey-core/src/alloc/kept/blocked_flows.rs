//! Flows that cannot take more, each noted at one full link of its path.
//!
//! After a decision of matching every active flow crosses a full link: one that runs has taken all
//! that was free at one of its links, and the others found nothing at one of theirs. Each flow is
//! noted at one such link. It is looked at again only when that link opens: then it is noted at
//! another full link, or it can begin. A link that fills costs nothing.
//!
//! To note all flows costs as much as to look at each of them. So until as many have been looked at as there are,
//! those with free capacity at both ends are looked at whenever a link has opened.
//!
//! On the Facebook trace, `fat-tree:k=8,place=pack`, lists take `saath` from 23.2 to 18.3 s of CPU and `graviton`
//! from 30.5 to 24.2 s. Lists that are made at once take `covey` from 14 to 81 s, and `philae` from 13 to 23 s: their
//! coflows begin anew again and again. On a FatTree, lists and paths take 16 bytes a flow.

use super::path_table::PathTable;
use crate::demand::Demand;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The active flows of a coflow, each in the list of a full link.
#[derive(Debug, Default)]
pub struct BlockedFlows {
    /// Position of the first flow in the list of each local link, and of one list more. It is for flows that cross no
    /// full link, while links are opened.
    first: Vec<u32>,
    /// Position of the next flow in the same list, by position.
    next: Vec<u32>,
    /// The paths of the flows in lists.
    paths: PathTable,
    /// Whether the flows are in lists.
    are_noted: bool,
    /// Number of flows that were looked at while they were in no lists.
    looked_at: usize,
    /// Working memory of [`Demand::each_active_between`].
    receivers: Vec<u64>,
}

impl BlockedFlows {
    /// Nothing is known of any flow.
    pub fn forget(&mut self) {
        self.are_noted = false;
        self.looked_at = 0;
    }

    /// Appends the positions of the flows that can begin now to `able`, ascending. `opened` are the links that have
    /// opened since the last call, unless nothing is known.
    pub fn find_able(
        &mut self,
        demand: &Demand,
        free: &[f64],
        opened: impl Iterator<Item = usize>,
        able: &mut Vec<u32>,
    ) {
        if self.are_noted {
            opened.for_each(|link| self.open(link, demand, free, able));
            return able.sort_unstable();
        }
        if self.looked_at > 0 && opened.take(1).count() == 0 {
            return;
        }
        let BlockedFlows { looked_at, receivers, .. } = self;
        *looked_at += 1;
        demand.each_active_between(
            free,
            |free| free > 0.0,
            receivers,
            |position| {
                *looked_at += 1;
                if !is_blocked(demand, position, free) {
                    able.push(position as u32);
                }
            },
        );
    }

    /// A decision has ended: every active flow crosses a full link. Notes all of them, if it pays.
    pub fn end(&mut self, demand: &Demand, free: &[f64]) {
        if self.are_noted || self.looked_at <= demand.unfinished() as usize {
            return;
        }
        self.are_noted = true;
        self.paths.fill(demand);
        self.first.clear();
        self.first.resize(demand.links().len() + 1, NONE);
        self.next.resize(demand.width(), NONE);
        for position in demand.active() {
            let is_noted = self.note(demand, position, free);
            debug_assert!(is_noted, "the flow at {position} could take more");
        }
    }

    /// Notes a flow, which is in no list, at a full link of its path, if flows are in lists. Returns whether there is
    /// a full link.
    pub fn note(&mut self, demand: &Demand, position: usize, free: &[f64]) -> bool {
        if !self.are_noted {
            return is_blocked(demand, position, free);
        }
        let full = self.paths.full_link(position, free);
        if full < free.len() {
            self.put(position, full);
        }
        full < free.len()
    }

    /// Puts a flow at the head of a list.
    fn put(&mut self, position: usize, list: usize) {
        self.next[position] = std::mem::replace(&mut self.first[list], position as u32);
    }

    /// A link has opened. Appends the positions of the flows that can begin now to `able`.
    fn open(&mut self, link: usize, demand: &Demand, free: &[f64], able: &mut Vec<u32>) {
        // Flows that cross no full link come into the last list: a branch would be hard to predict.
        let mut at = std::mem::replace(&mut self.first[link], NONE);
        while at != NONE {
            let position = at as usize;
            at = self.next[position];
            self.put(position, self.paths.full_link(position, free));
        }
        let mut at = std::mem::replace(&mut self.first[free.len()], NONE);
        while at != NONE {
            let position = at as usize;
            at = self.next[position];
            if demand.is_active(position) {
                able.push(position as u32);
            }
        }
    }
}

/// Whether a flow crosses a full link.
fn is_blocked(demand: &Demand, position: usize, free: &[f64]) -> bool {
    demand.whole_path(position).iter().fold(false, |any, &l| any | (free[l as usize] <= 0.0))
}
