//! The layers in which flows stand in the plan, kept up to date with it.
//!
//! In a plan that is kept only the ranks that have changed are looked at; in a plan that was
//! written again, all.

use covey_core::{CoflowId, FlowId, Group, Rank, Ranking};
use imbl::OrdMap;

/// The layer of each flow: its own if it has an entry of its own, else that of the first entry of
/// its coflow.
#[derive(Debug, Default, Clone)]
pub struct LayerOf {
    /// By coflow. A coflow without an entry is in the first layer.
    coflows: Vec<u32>,
    /// Of flows with an entry of their own.
    flows: OrdMap<FlowId, u32>,
    /// Coflows of which a flow may be in another layer than before the last plan.
    changed: Vec<CoflowId>,
    /// Working memory: `coflows` before a plan that was written again.
    before: Vec<u32>,
}

impl LayerOf {
    /// The layer of a flow.
    pub fn of(&self, flow: FlowId) -> u32 {
        let own = self.flows.get(&flow).or_else(|| self.coflows.get(flow.coflow.index()));
        own.copied().unwrap_or(0)
    }

    /// Coflows of which a flow may be in another layer than before the last plan that was followed.
    pub fn changed(&self) -> &[CoflowId] {
        &self.changed
    }

    /// Follows a plan in which groups have come or gone at these `places`; `None` if it was written
    /// again.
    pub fn follow(&mut self, ranking: &Ranking, places: Option<&[(Rank, Group)]>) {
        self.changed.clear();
        // A coflow may stand in the plan once for each of its links, and the first of these entries
        // counts.
        let is_at_links = |(_, group): &(Rank, Group)| matches!(group, Group::CoflowAt(..));
        match places.filter(|places| !places.iter().any(is_at_links)) {
            Some(places) => self.follow_places(ranking, places),
            None => self.follow_all(ranking),
        }
    }

    /// Each group stands at one place at most.
    fn follow_places(&mut self, ranking: &Ranking, places: &[(Rank, Group)]) {
        let stands = |(rank, group): &(Rank, Group)| {
            ranking.entries.get(rank).is_some_and(|entry| entry.group == *group)
        };
        for (_, group) in places.iter().filter(|place| !stands(place)) {
            self.set(*group, None);
        }
        for (rank, group) in places.iter().filter(|place| stands(place)) {
            self.set(*group, Some(rank.layer()));
        }
    }

    fn set(&mut self, group: Group, layer: Option<u32>) {
        let (coflow, is_same) = match group {
            Group::AllFlows => return,
            Group::Coflow(id) | Group::CoflowAt(id, _) => {
                let layer = layer.unwrap_or(0);
                self.coflows.resize(self.coflows.len().max(id.index() + 1), 0);
                (id, std::mem::replace(&mut self.coflows[id.index()], layer) == layer)
            }
            Group::Flow(flow) => {
                let before = match layer {
                    Some(layer) => self.flows.insert(flow, layer),
                    None => self.flows.remove(&flow),
                };
                (flow.coflow, before == layer)
            }
        };
        if !is_same {
            self.changed.push(coflow);
        }
    }

    fn follow_all(&mut self, ranking: &Ranking) {
        std::mem::swap(&mut self.before, &mut self.coflows);
        let flows = std::mem::take(&mut self.flows);
        self.coflows.clear();
        self.coflows.resize(self.before.len(), 0);
        // The first entry of each is the last to say.
        for (_, entry) in ranking.entries.iter().rev() {
            self.set(entry.group, Some(entry.layer));
        }
        self.before.resize(self.coflows.len(), 0);
        self.changed.clear();
        let differs = |k: &u32| self.coflows[*k as usize] != self.before[*k as usize];
        let differ = (0..self.coflows.len() as u32).filter(differs).map(CoflowId);
        self.changed.extend(differ);
        for (these, others) in [(&flows, &self.flows), (&self.flows, &flows)] {
            let differ = these.iter().filter(|(flow, layer)| others.get(*flow) != Some(layer));
            self.changed.extend(differ.map(|(flow, _)| flow.coflow));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use covey_core::{Clairvoyant, Plan, Share, Time};

    use super::*;

    const COFLOWS: u32 = 12;
    const FLOWS: u32 = 2;

    /// What the plan as a whole says.
    fn by_definition(ranking: &Ranking, flow: FlowId) -> u32 {
        let is_own = |group: Group| group == Group::Flow(flow);
        let is_coflows = |group: Group| group == Group::Coflow(flow.coflow);
        let mut entries = ranking.entries.iter().map(|(_, entry)| entry);
        let own = entries.clone().find(|entry| is_own(entry.group));
        own.or_else(|| entries.find(|entry| is_coflows(entry.group))).map_or(0, |it| it.layer)
    }

    #[test]
    fn layers_that_are_kept_are_those_of_the_whole_plan() {
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(below)) as u32
        };
        let all = || (0..COFLOWS).flat_map(|c| (0..FLOWS).map(move |index| (CoflowId(c), index)));
        let all = || all().map(|(coflow, index)| FlowId { coflow, index });
        let mut plan = Plan::<Clairvoyant>::default();
        let mut stands: BTreeMap<(CoflowId, Option<u32>), Rank> = BTreeMap::new();
        let (mut layers, mut told) = (LayerOf::default(), BTreeMap::new());
        for step in 0..3000 {
            if step % 100 == 0 {
                plan.clear();
                stands.clear();
            }
            for _ in 0..=random(3) {
                let coflow = CoflowId(random(COFLOWS));
                let index = (random(3) == 0).then(|| random(FLOWS));
                stands.remove(&(coflow, index)).into_iter().for_each(|rank| plan.remove(rank));
                if random(4) > 0 {
                    let order = (Time::ZERO, u64::from(coflow.0));
                    let rank = Rank::new(random(3), f64::from(random(5)), order);
                    let rank = rank.numbered(index.map_or(0, |index| 1 + index));
                    let group = index.map_or(Group::Coflow(coflow), |index| {
                        Group::Flow(FlowId { coflow, index })
                    });
                    plan.insert(rank, group, Share::MAX_MIN);
                    stands.insert((coflow, index), rank);
                }
            }
            layers.follow(plan.ranking(), plan.edits());
            plan.clear_edits();
            for flow in all() {
                let layer = layers.of(flow);
                assert_eq!(layer, by_definition(plan.ranking(), flow), "{flow:?} at step {step}");
                if told.insert(flow, layer).unwrap_or(0) != layer {
                    assert!(layers.changed().contains(&flow.coflow), "{flow:?} at step {step}");
                }
            }
        }
    }
}
