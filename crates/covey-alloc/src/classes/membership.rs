//! Which entry of a plan with classes names a flow first.

use crate::error::PlanError;
use covey_core::state::State;
use covey_core::{CoflowId, LinkId};
use covey_core::{Group, Layers, Rank, Ranking, Rule};

/// What of a coflow an entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Whole,
    At(u32),
    Flow(u32),
}

/// The entries of a plan, by coflow.
#[derive(Debug, Default)]
pub struct Membership {
    /// By [`CoflowId`]: what is named, ascending, and the rank of the first entry that names it.
    entries: Vec<Vec<(Part, Rank)>>,
    /// The first class of an entry for all flows, if there is one.
    all: Option<Rank>,
}

impl Membership {
    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.entries.iter_mut().for_each(Vec::clear);
        self.all = None;
    }

    /// Reads a whole plan.
    ///
    /// # Errors
    /// When an entry has another rule than max-min, or names a coflow that is not present.
    pub fn read(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        self.clear();
        for (rank, entry) in ranking.entries.iter() {
            if ranking.layers == Layers::Classes && entry.rule != Rule::MaxMin {
                return Err(PlanError::RuleInAClass);
            }
            let Some((id, part)) = part_of(entry.group) else {
                self.all = self.all.or(Some(*rank));
                continue;
            };
            if !state.is_present(id) {
                return Err(PlanError::Absent(id));
            }
            let entries = self.of_mut(id);
            match entries.binary_search_by_key(&part, |&(part, _)| part) {
                // The plan is in order of ranks: the first one counts.
                Ok(_) => {}
                Err(k) => entries.insert(k, (part, *rank)),
            }
        }
        Ok(())
    }

    /// A group has come to a rank of the plan, or has gone from it.
    ///
    /// # Errors
    /// See [`Membership::read`].
    pub fn edit(
        &mut self,
        state: &State,
        ranking: &Ranking,
        rank: Rank,
        group: Group,
    ) -> Result<(), PlanError> {
        let Some((id, part)) = part_of(group) else { return Err(PlanError::AllFlows) };
        let there = ranking.entries.get(&rank).filter(|entry| entry.group == group);
        if there.is_some_and(|entry| entry.rule != Rule::MaxMin) {
            return Err(PlanError::RuleInAClass);
        }
        if there.is_some() && !state.is_present(id) {
            return Err(PlanError::Absent(id));
        }
        let entries = self.of_mut(id);
        match (entries.binary_search_by_key(&part, |&(part, _)| part), there.is_some()) {
            (Ok(k), true) => entries[k].1 = rank,
            (Ok(k), false) if entries[k].1 == rank => _ = entries.remove(k),
            (Err(k), true) => entries.insert(k, (part, rank)),
            _ => {}
        }
        Ok(())
    }

    /// A coflow has left.
    pub fn forget(&mut self, id: CoflowId) {
        if let Some(entries) = self.entries.get_mut(id.index()) {
            entries.clear();
        }
    }

    fn of_mut(&mut self, id: CoflowId) -> &mut Vec<(Part, Rank)> {
        if self.entries.len() <= id.index() {
            self.entries.resize_with(id.index() + 1, Vec::new);
        }
        &mut self.entries[id.index()]
    }

    /// The class of a flow, by its index in its coflow and the links on its path; none if no entry
    /// names it.
    pub fn class(
        &self,
        id: CoflowId,
        index: u32,
        path: impl Iterator<Item = LinkId>,
    ) -> Option<u32> {
        let entries = self.entries.get(id.index()).map_or(&[][..], |entries| entries);
        let (first, others) = match entries {
            [] => (None, &[][..]),
            [(Part::Whole, rank), others @ ..] => (Some(*rank), others),
            others => (None, others),
        };
        let mut first = [first, self.all].into_iter().flatten().min();
        if !others.is_empty() {
            let parts = path.map(|link| Part::At(link.0)).chain([Part::Flow(index)]);
            for part in parts {
                if let Ok(k) = others.binary_search_by_key(&part, |&(part, _)| part) {
                    first = Some(first.map_or(others[k].1, |first| first.min(others[k].1)));
                }
            }
        }
        first.map(|rank| rank.layer())
    }
}

fn part_of(group: Group) -> Option<(CoflowId, Part)> {
    match group {
        Group::AllFlows => None,
        Group::Coflow(id) => Some((id, Part::Whole)),
        Group::CoflowAt(id, link) => Some((id, Part::At(link.0))),
        Group::Flow(flow) => Some((flow.coflow, Part::Flow(flow.index))),
    }
}
