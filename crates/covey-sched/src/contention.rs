//! Counts how many coflows have unfinished flows at each link, and how many others of its group a
//! coflow meets.
//!
//! Both counts are updated when a coflow arrives at a link or leaves it, which looks only at the
//! coflows at that link.

use covey_core::{CoflowId, Knowledge, LinkBits, LinkId, View};

/// Coflows at each link. The owner reports arrivals, later flows, and drained ports.
#[derive(Debug, Default)]
pub struct Contention {
    /// By link, the coflows that are counted there.
    at: Vec<Vec<CoflowId>>,
    coflows: Vec<Track>,
    /// Working memory: the ids of coflows that have been looked at.
    seen: Vec<bool>,
    met: Vec<CoflowId>,
}

/// What is known of a coflow.
#[derive(Debug, Clone, Default)]
struct Track {
    /// The links where the coflow is counted.
    links: LinkBits,
    /// Meetings in it are counted.
    group: Option<u32>,
    /// Number of other coflows of its group with which it shares a link.
    met: u32,
}

impl Contention {
    /// Counts a coflow at the links where it has unfinished flows; call again when more flows have
    /// started.
    pub fn add<K: Knowledge>(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        for load in view.loads(coflow).filter(|load| load.unfinished > 0) {
            self.arrive(coflow, load.link);
        }
    }

    /// Puts a coflow into a group, so that its meetings there are counted. It leaves the group it
    /// was in.
    pub fn join(&mut self, coflow: CoflowId, group: u32) {
        self.know(coflow);
        if self.coflows[coflow.index()].group == Some(group) {
            return;
        }
        self.leave(coflow);
        self.coflows[coflow.index()].group = Some(group);
        self.change_met(coflow, |met| *met += 1);
    }

    /// Takes a coflow out of its group.
    pub fn leave(&mut self, coflow: CoflowId) {
        self.know(coflow);
        self.change_met(coflow, |met| *met -= 1);
        self.coflows[coflow.index()].group = None;
    }

    fn know(&mut self, coflow: CoflowId) {
        if self.coflows.len() <= coflow.index() {
            self.coflows.resize(coflow.index() + 1, Track::default());
            self.seen.resize(coflow.index() + 1, false);
        }
    }

    /// Changes the counts of a coflow and of each other coflow of its group that it meets.
    fn change_met(&mut self, coflow: CoflowId, change: impl Fn(&mut u32)) {
        let group = self.coflows[coflow.index()].group;
        if group.is_none() {
            return;
        }
        for l in self.coflows[coflow.index()].links.iter() {
            for &other in &self.at[l] {
                let is_one = other != coflow && self.coflows[other.index()].group == group;
                if is_one && !std::mem::replace(&mut self.seen[other.index()], true) {
                    self.met.push(other);
                }
            }
        }
        while let Some(other) = self.met.pop() {
            self.seen[other.index()] = false;
            change(&mut self.coflows[other.index()].met);
            change(&mut self.coflows[coflow.index()].met);
        }
    }

    /// Counts a coflow at a link, unless it is counted there.
    fn arrive(&mut self, coflow: CoflowId, link: LinkId) {
        self.know(coflow);
        if self.at.len() <= link.index() {
            self.at.resize_with(link.index() + 1, Vec::new);
        }
        if self.coflows[coflow.index()].links.contains(link.index()) {
            return;
        }
        self.change_at(coflow, link, |met| *met += 1);
        self.at[link.index()].push(coflow);
        self.coflows[coflow.index()].links.insert(link.index());
    }

    /// Notes that a coflow has no unfinished flows at a link any more.
    pub fn drained(&mut self, coflow: CoflowId, link: LinkId) {
        if !self.coflows[coflow.index()].links.remove(link.index()) {
            return;
        }
        let there = &mut self.at[link.index()];
        if let Some(k) = there.iter().position(|other| *other == coflow) {
            there.swap_remove(k);
        }
        self.change_at(coflow, link, |met| *met -= 1);
    }

    /// Changes the counts of a coflow and of each other coflow of its group that it meets at this
    /// link and at no other.
    fn change_at(&mut self, coflow: CoflowId, link: LinkId, change: impl Fn(&mut u32)) {
        let group = self.coflows[coflow.index()].group;
        if group.is_none() {
            return;
        }
        for &other in &self.at[link.index()] {
            let is_one = other != coflow && self.coflows[other.index()].group == group;
            if is_one && !self.meet(coflow, other) {
                change(&mut self.coflows[other.index()].met);
                change(&mut self.coflows[coflow.index()].met);
            }
        }
    }

    /// Takes a coflow from all links and out of its group.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.leave(coflow);
        while let Some(link) = self.coflows[coflow.index()].links.last() {
            self.drained(coflow, LinkId(link as u32));
        }
    }

    /// Number of coflows with unfinished flows at a link.
    pub fn at(&self, link: LinkId) -> u32 {
        self.at.get(link.index()).map_or(0, |at| at.len() as u32)
    }

    /// Whether two coflows have unfinished flows at the same link.
    fn meet(&self, a: CoflowId, b: CoflowId) -> bool {
        self.coflows[a.index()].links.meets(&self.coflows[b.index()].links)
    }

    /// Number of other coflows of its group that a coflow meets at any link.
    pub fn met(&self, coflow: CoflowId) -> u32 {
        self.coflows[coflow.index()].met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: others of the same group with a link in common.
    fn met_by_definition(contention: &Contention, coflow: CoflowId) -> u32 {
        let group = contention.coflows[coflow.index()].group;
        let all = (0..contention.coflows.len() as u32).map(CoflowId);
        let others = all.filter(|other| *other != coflow && group.is_some()).filter(|other| {
            contention.coflows[other.index()].group == group
                && contention.coflows[coflow.index()]
                    .links
                    .iter()
                    .any(|l| contention.at[l].contains(other))
        });
        others.count() as u32
    }

    #[test]
    fn numbers_that_are_kept_are_those_of_all_pairs() {
        for links in [3, 20, 200] {
            let mut contention = Contention::default();
            let mut state = u64::from(links);
            let mut random = |below: u32| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % u64::from(below)) as u32
            };
            for step in 0..2000 {
                let (coflow, link) = (CoflowId(random(40)), LinkId(random(links)));
                contention.know(coflow);
                match random(8) {
                    0 => contention.join(coflow, random(3)),
                    1 if step % 3 == 0 => contention.leave(coflow),
                    2 if step % 5 == 0 => contention.remove(coflow),
                    3 | 4 => contention.drained(coflow, link),
                    _ => contention.arrive(coflow, link),
                }
                for coflow in (0..contention.coflows.len() as u32).map(CoflowId) {
                    let met = met_by_definition(&contention, coflow);
                    assert_eq!(contention.met(coflow), met, "{coflow:?} at step {step}");
                }
                for link in (0..links).map(LinkId).filter(|l| l.index() < contention.at.len()) {
                    let there = contention.coflows.iter();
                    let there = there.filter(|c| c.links.iter().any(|l| l == link.index()));
                    assert_eq!(contention.at(link), there.count() as u32, "{link:?}");
                }
            }
        }
    }
}
