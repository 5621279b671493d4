//! One walk over the entries of a plan, and what can be skipped on it.

use super::{Allocator, NEGLIGIBLE, PlanError, Single, Work, flows, grant::Part};
use crate::demand::Demand;
use crate::ids::CoflowId;
use crate::plan::{Entry, Group, Layers, Rule};
use crate::state::{CoflowState, State};

impl Allocator {
    /// Everything is free, and nobody is served yet.
    pub(super) fn start_walk(&mut self, state: &State, layers: Layers) {
        self.changed.clear();
        self.in_pieces.clear();
        self.walk += 1;
        if self.grants.len() < state.slots() {
            self.grants.resize_with(state.slots(), Default::default);
        }
        let capacity = state.fabric().capacity();
        self.free.clear();
        self.free.extend_from_slice(capacity);
        // Shares of weighted layers move with every flow that ends: there every coflow looks at
        // what it finds.
        let all = self.replanned || layers == Layers::Weighted;
        self.replanned = false;
        self.moved.clear();
        self.moved.resize(capacity.len().div_ceil(64), if all { u64::MAX } else { 0 });
    }

    /// Serves one entry from what is free.
    pub(super) fn serve(&mut self, state: &State, entry: &Entry) -> Result<(), PlanError> {
        let coflow = checked(state, entry.group)?;
        let demand = coflow.demand();
        match entry.group {
            Group::Everything => Err(PlanError::Everything),
            Group::Coflow(id) => {
                if self.grants[id.index()].main.walk == self.walk {
                    return Err(PlanError::Twice(id));
                }
                self.serve_coflow(state, id, Part::of_entry, entry.rule)
            }
            Group::CoflowAt(id, link) => {
                self.work.subset.clear();
                if let Some(l) = demand.links().iter().position(|&k| k == link) {
                    let here = demand.active().filter(|&p| demand.path(p).any(|k| k == l));
                    self.work.subset.extend(here.map(|p| p as u32));
                }
                self.serve_piece(coflow, id, entry.rule, state.fabric().capacity())
            }
            Group::Flow(flow) => {
                let position = demand.position(flow.index);
                self.work.subset.clear();
                if demand.is_active(position) {
                    self.work.subset.push(position as u32);
                }
                self.serve_piece(coflow, flow.coflow, entry.rule, state.fabric().capacity())
            }
        }
    }

    /// Offers what is left over to a coflow, flow by flow.
    pub(super) fn fill(&mut self, state: &State, id: CoflowId) -> Result<(), PlanError> {
        self.serve_coflow(state, id, Part::of_backfill, Rule::Matching)
    }

    /// Serves a whole coflow by `rule`, unless nothing has changed since this was last decided.
    fn serve_coflow(
        &mut self,
        state: &State,
        id: CoflowId,
        part: fn(&mut super::Grant) -> &mut Part,
        rule: Rule,
    ) -> Result<(), PlanError> {
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        let capacity = state.fabric().capacity();
        let part = part(&mut self.grants[id.index()]);
        part.walk = self.walk;
        let is_current = part.rule == Some(rule);
        if is_current && !demand.link_bits().iter().zip(&self.moved).any(|(l, m)| l & m != 0) {
            part.spend(demand, &mut self.free);
            return Ok(());
        }
        gather(&mut self.work.local, demand, &self.free, capacity);
        if is_current && part.before == self.work.local {
            part.spend(demand, &mut self.free);
            return Ok(());
        }
        let was_empty = part.is_empty();
        self.work.after.clone_from(&part.after);
        part.decide(coflow, rule, &mut self.work, capacity)?;
        part.spend(demand, &mut self.free);
        mark_moved(&mut self.moved, demand, &self.work.after, &part.after);
        if !(was_empty && part.is_empty()) {
            self.report(id);
        }
        Ok(())
    }

    /// Serves the flows in `work.subset` of a coflow. Pieces are shared anew each time: they are
    /// small.
    fn serve_piece(
        &mut self,
        coflow: &CoflowState,
        id: CoflowId,
        rule: Rule,
        capacity: &[f64],
    ) -> Result<(), PlanError> {
        let demand = coflow.demand();
        let pieces = &mut self.grants[id.index()].pieces;
        if pieces.walk != self.walk {
            pieces.walk = self.walk;
            std::mem::swap(&mut pieces.singles, &mut pieces.previous);
            pieces.singles.clear();
            self.in_pieces.push(id);
        }
        let mut singles = std::mem::take(&mut self.work.singles);
        singles.clear();
        gather(&mut self.work.local, demand, &self.free, capacity);
        let result = self.work.share_flows(demand, rule, capacity, &mut singles);
        for single in &singles {
            for l in demand.path(single.position as usize) {
                self.free[demand.links()[l].index()] -= single.rate;
            }
        }
        pieces.singles.extend_from_slice(&singles);
        self.work.singles = singles;
        // Whether links have moved depends on all pieces together; assume they have.
        for &position in &self.work.subset {
            mark_path(&mut self.moved, demand, position as usize);
        }
        pieces.previous.iter().for_each(|s| mark_path(&mut self.moved, demand, s.position as usize));
        result
    }

    /// Takes back what coflows had that the plan no longer serves, and finds out which coflows'
    /// pieces have changed.
    pub(super) fn end_walk(&mut self, state: &State) {
        for k in 0..self.in_pieces.len() {
            let id = self.in_pieces[k];
            let pieces = &self.grants[id.index()].pieces;
            if pieces.singles != pieces.previous {
                self.report(id);
            }
        }
        for &id in state.present() {
            let grant = &mut self.grants[id.index()];
            let mut withdrawn = false;
            for part in [&mut grant.main, &mut grant.fill] {
                if part.walk != self.walk {
                    withdrawn |= !part.is_empty();
                    part.clear();
                }
            }
            if grant.pieces.walk != self.walk {
                withdrawn |= !grant.pieces.singles.is_empty();
                grant.pieces.singles.clear();
            }
            if withdrawn {
                self.report(id);
            }
        }
    }

    /// Adds a coflow to those that have changed, once.
    fn report(&mut self, id: CoflowId) {
        let grant = &mut self.grants[id.index()];
        if grant.reported != self.walk {
            grant.reported = self.walk;
            self.changed.push(id);
        }
    }
}

impl Part {
    fn of_entry(grant: &mut super::Grant) -> &mut Part {
        &mut grant.main
    }

    fn of_backfill(grant: &mut super::Grant) -> &mut Part {
        &mut grant.fill
    }

    /// Leaves at the coflow's links what it does not use.
    fn spend(&self, demand: &Demand, free: &mut [f64]) {
        if !self.is_empty() {
            for (link, after) in demand.links().iter().zip(&self.after) {
                free[link.index()] = *after;
            }
        }
    }
}

impl Work {
    /// Shares the capacity in `local` among the flows in `subset`, into `singles`. Under matching,
    /// flows that `singles` holds at first are running and go first.
    pub(super) fn share_flows(
        &mut self,
        demand: &Demand,
        rule: Rule,
        capacity: &[f64],
        singles: &mut Vec<Single>,
    ) -> Result<(), PlanError> {
        let (flows, free) = (&self.subset, &mut self.local);
        match rule {
            Rule::MaxMin => flows::max_min(demand, flows, free, singles, &mut self.flows),
            Rule::Equal => flows::equal(demand, flows, free, singles, &mut self.flows),
            Rule::Matching => flows::matching(demand, flows, free, singles),
            Rule::Rate(rate) => {
                flows::fixed(demand, flows, rate, free, |l| capacity[l.index()], singles)?;
            }
            Rule::Hold => {}
            Rule::Madd => return Err(PlanError::MaddOfAPart),
        }
        Ok(())
    }
}

/// The facts about the coflow that a group belongs to.
pub(super) fn checked(state: &State, group: Group) -> Result<&CoflowState, PlanError> {
    let id = match group {
        Group::Everything => return Err(PlanError::Everything),
        Group::Coflow(id) | Group::CoflowAt(id, _) => id,
        Group::Flow(flow) => flow.coflow,
    };
    if !state.is_present(id) {
        return Err(PlanError::Absent(id));
    }
    let coflow = state.coflow(id);
    match group {
        Group::Flow(flow) if flow.index as usize >= coflow.demand().width() => {
            Err(PlanError::Absent(id))
        }
        _ => Ok(coflow),
    }
}

/// What is free at a coflow's links, negligible residues left out.
fn gather(local: &mut Vec<f64>, demand: &Demand, free: &[f64], capacity: &[f64]) {
    local.clear();
    local.extend(demand.links().iter().map(|link| {
        let (free, capacity) = (free[link.index()], capacity[link.index()]);
        if free > capacity * NEGLIGIBLE { free } else { 0.0 }
    }));
}

/// Marks the links where a coflow leaves another amount than in the walk before.
fn mark_moved(moved: &mut [u64], demand: &Demand, before: &[f64], now: &[f64]) {
    for (l, link) in demand.links().iter().enumerate() {
        let (word, bit) = (link.index() / 64, 1 << (link.index() % 64));
        if before.get(l) == Some(&now[l]) {
            moved[word] &= !bit;
        } else {
            moved[word] |= bit;
        }
    }
}

fn mark_path(moved: &mut [u64], demand: &Demand, position: usize) {
    for l in demand.path(position) {
        let link = demand.links()[l].index();
        moved[link / 64] |= 1 << (link % 64);
    }
}
