//! From a plan to rates.
//!
//! [`Allocator::allocate`] walks the entries of a plan in order. Each gets what the entries before
//! it leave, shared by its rule; the rules are modules of their own. The result for a coflow is a
//! [`Grant`]: a flow's rate is
//!
//! > least level of its two links + bytes left / Γ + its own single rate
//!
//! where an entry for a coflow contributes one of the first two, or single rates, according to its
//! rule, and backfill contributes single rates.
//!
//! The allocator remembers what each entry found free and what it gave. An entry is shared anew
//! only when its coflow has changed or something else is free than last time; so an event costs
//! little where it changes little.

mod crowd;
mod equal;
mod flows;
mod madd;
mod matching;
mod max_min;

pub use crowd::Crowd;

use thiserror::Error;

use crate::demand::Demand;
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Backfill, Entry, Group, Layers, Ranking, Rule};
use crate::state::{CoflowState, State};

/// A share of a link's capacity so small that it counts as nothing; rounding leaves such residues.
const NEGLIGIBLE: f64 = 1e-9;

/// Which end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Senders,
    Receivers,
}

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// An explicit rate does not fit.
    #[error("asks for {asked} bytes/s on link {} of which {free} bytes/s are free", link.0)]
    Overbooked {
        /// The link.
        link: LinkId,
        /// Rate asked for, bytes per second.
        asked: f64,
        /// What entries before it leave, bytes per second.
        free: f64,
    },
    /// A coflow has two entries of its own.
    #[error("names coflow {} twice", .0.0)]
    Twice(CoflowId),
    /// A coflow is not present.
    #[error("names coflow {}, which is not present", .0.0)]
    Absent(CoflowId),
    /// [`Group::Everything`] stands beside other entries, or in a fabric with inner links, or with
    /// a rule other than max-min.
    #[error("serves everything, which must be its only entry, shared max-min, on a big switch")]
    Everything,
    /// MADD asked for less than a whole coflow.
    #[error("asks for MADD for less than a whole coflow")]
    MaddOfAPart,
    /// The weight of a layer is not a finite number above zero.
    #[error("gives a layer the weight {0}: expected a finite number above zero")]
    Weight(f64),
}

/// A rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Single {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// What one entry, or one backfill, gives to a coflow.
#[derive(Debug, Default)]
struct Part {
    /// Free capacity at the coflow's links when this was decided.
    seen: Vec<f64>,
    /// Rule this was decided by; `None` when it has to be decided anew.
    rule: Option<Rule>,
    levels: Vec<f64>,
    inverse_gamma: f64,
    singles: Vec<Single>,
    /// Use of each local link; empty when nothing is given.
    used: Vec<f64>,
    /// Walk over the plan in which this was last confirmed.
    walk: u64,
}

impl Part {
    fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Withdraws what was given.
    fn clear(&mut self) {
        self.rule = None;
        self.levels.clear();
        self.inverse_gamma = 0.0;
        self.singles.clear();
        self.used.clear();
    }
}

/// What a coflow gets, in three parts.
#[derive(Debug, Default)]
pub struct Grant {
    /// By the coflow's own entry.
    main: Part,
    /// By entries for parts of it.
    pieces: Part,
    /// By backfill.
    fill: Part,
}

impl Grant {
    /// Level of each local link in bytes per second; empty when no rate is given by level.
    pub fn levels(&self) -> &[f64] {
        &self.main.levels
    }

    /// 1/Γ: a flow is sent at this times its bytes left, per second. Zero without MADD.
    pub fn inverse_gamma(&self) -> f64 {
        self.main.inverse_gamma
    }

    /// Rates of single flows, in bytes per second, on top; a flow can occur more than once.
    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        self.parts().into_iter().flat_map(|part| part.singles.iter().copied())
    }

    fn parts(&self) -> [&Part; 3] {
        [&self.main, &self.pieces, &self.fill]
    }

    fn parts_mut(&mut self) -> [&mut Part; 3] {
        [&mut self.main, &mut self.pieces, &mut self.fill]
    }

    /// Use of each local link by the rates given by level, in bytes per second.
    pub fn used_by_level(&self) -> &[f64] {
        if self.main.levels.is_empty() { &[] } else { &self.main.used }
    }

    /// Whether a flow may occur more than once among [`Grant::singles`].
    pub fn may_repeat(&self) -> bool {
        self.parts().iter().filter(|part| !part.singles.is_empty()).count() > 1
            || self.pieces.singles.len() > 1
    }

    /// Use of local link `l` by the whole coflow, in bytes per second.
    pub fn used(&self, l: usize) -> f64 {
        self.parts().iter().map(|part| part.used.get(l).copied().unwrap_or(0.0)).sum()
    }

    /// Rate of the flow at `position` of `coflow`, in bytes per second.
    pub fn rate(&self, coflow: &CoflowState, position: usize) -> f64 {
        let demand = coflow.demand();
        if !demand.is_active(position) {
            return 0.0;
        }
        let by_level = if self.levels().is_empty() {
            0.0
        } else {
            demand.path(position).map(|l| self.levels()[l]).fold(f64::INFINITY, f64::min)
        };
        let left = coflow.progress().left[position] * coflow.progress().scale;
        let single = self.singles().filter(|s| s.position as usize == position);
        by_level + left * self.inverse_gamma() + single.map(|s| s.rate).sum::<f64>()
    }
}

/// Turns plans into rates, and remembers them.
#[derive(Debug, Default)]
pub struct Allocator {
    grants: Vec<Grant>,
    crowd: Crowd,
    crowded: bool,
    changed: Vec<CoflowId>,
    /// Number of the present walk over the entries.
    walk: u64,
    /// Capacity left over by the entries so far.
    free: Vec<f64>,
    work: Work,
    /// Rates of the piece at hand.
    piece: Vec<Single>,
    layers: LayerShares,
}

/// Working memory of one entry.
#[derive(Debug, Default)]
struct Work {
    /// Free capacity at the coflow's links.
    local: Vec<f64>,
    subset: Vec<u32>,
    counts: Vec<u32>,
    filling: max_min::Filling,
    matching: matching::Matching,
    flows: flows::Work,
}

/// Working memory of weighted layers.
#[derive(Debug, Default)]
struct LayerShares {
    /// Sum of the weights of the layers present at each link.
    weight: Vec<f64>,
    /// Last layer counted at each link.
    counted: Vec<u32>,
    /// What the layers so far have left over of their shares.
    spare: Vec<f64>,
}

impl Allocator {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        for part in self.grants.iter_mut().flat_map(Grant::parts_mut) {
            part.clear();
        }
        self.crowded = false;
        self.changed.clear();
    }

    /// What a coflow gets since the last [`Allocator::allocate`].
    pub fn grant(&self, id: CoflowId) -> &Grant {
        &self.grants[id.index()]
    }

    /// All flows as one group, if that is what the plan serves.
    pub fn crowd(&self) -> Option<&Crowd> {
        self.crowded.then_some(&self.crowd)
    }

    /// Coflows whose grant may differ from the one before the last [`Allocator::allocate`].
    pub fn changed(&self) -> &[CoflowId] {
        &self.changed
    }

    /// To be called after flows of a coflow have started or ended, and (where the plan uses MADD)
    /// when bytes were sent out of proportion: its share is decided anew.
    pub fn touch(&mut self, id: CoflowId) {
        if let Some(grant) = self.grants.get_mut(id.index()) {
            grant.main.rule = None;
            grant.fill.rule = None;
        }
    }

    /// To be called when the flow at `position` has started (`by = 1`) or ended (`by = -1`), beside
    /// [`Allocator::touch`].
    pub fn adjust(&mut self, state: &State, id: CoflowId, position: usize, by: f32) {
        if self.crowded {
            let demand = state.coflow(id).demand();
            let (s, r) = (demand.sender_of(position), demand.receiver_of(position));
            self.crowd.adjust(demand.links()[s], demand.links()[r], by);
        }
    }

    /// To be called when a coflow has ended: its number may be used again.
    pub fn forget(&mut self, id: CoflowId) {
        if let Some(grant) = self.grants.get_mut(id.index()) {
            grant.parts_mut().into_iter().for_each(Part::clear);
        }
    }

    /// Shares all links among the coflows present as the plan says.
    ///
    /// # Errors
    /// When the plan is wrong; rates are then undefined.
    pub fn allocate(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        self.changed.clear();
        self.walk += 1;
        if self.grants.len() < state.slots() {
            self.grants.resize_with(state.slots(), Grant::default);
        }
        if let Some(everything) = ranking.entries.iter().find(|e| e.group == Group::Everything) {
            return self.serve_everything(state, ranking, everything);
        }
        self.crowded = false;
        self.free.clear();
        self.free.extend_from_slice(state.fabric().capacity());
        match ranking.layers {
            Layers::Strict => {
                for entry in &ranking.entries {
                    self.serve(state, entry)?;
                }
            }
            Layers::Weighted => self.serve_weighted(state, ranking)?,
        }
        if ranking.backfill == Backfill::Greedy {
            for entry in ranking.entries.iter().filter(|e| e.rule != Rule::Hold) {
                if let Group::Coflow(id) = entry.group {
                    self.fill(state, id);
                }
            }
        }
        self.withdraw_from_unserved(state);
        Ok(())
    }

    fn serve_everything(
        &mut self,
        state: &State,
        ranking: &Ranking,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        let fabric = state.fabric();
        let ports = fabric.ports() as usize;
        if ranking.entries.len() != 1 || entry.rule != Rule::MaxMin || fabric.links() != 2 * ports {
            return Err(PlanError::Everything);
        }
        if !self.crowded {
            self.crowded = true;
            self.crowd.clear(ports);
            for &id in state.present() {
                let demand = state.coflow(id).demand();
                for p in demand.active() {
                    let (s, r) = (demand.sender_of(p), demand.receiver_of(p));
                    self.crowd.adjust(demand.links()[s], demand.links()[r], 1.0);
                }
            }
        }
        self.withdraw_from_unserved(state);
        self.crowd.fill(fabric.capacity());
        Ok(())
    }

    /// Gives each layer its weighted share of every link, and then leaves in `free` what the layers
    /// did not use.
    fn serve_weighted(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        if let Some(&weight) = ranking.weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(PlanError::Weight(weight));
        }
        let capacity = state.fabric().capacity();
        let mut shares = std::mem::take(&mut self.layers);
        shares.weight.clear();
        shares.weight.resize(capacity.len(), 0.0);
        shares.counted.clear();
        shares.counted.resize(capacity.len(), u32::MAX);
        for entry in &ranking.entries {
            for_links_of(checked(state, entry.group)?, entry.group, |link| {
                let l = link.index();
                if shares.counted[l] != entry.layer {
                    shares.counted[l] = entry.layer;
                    shares.weight[l] += ranking.weights[entry.layer as usize];
                }
            });
        }
        shares.spare.clear();
        shares.spare.extend(
            capacity.iter().zip(&shares.weight).map(|(c, w)| if *w > 0.0 { 0.0 } else { *c }),
        );
        let mut result = Ok(());
        for layer in ranking.entries.chunk_by(|a, b| a.layer == b.layer) {
            let weight = ranking.weights[layer[0].layer as usize];
            for ((free, c), w) in self.free.iter_mut().zip(capacity).zip(&shares.weight) {
                *free = if *w > 0.0 { c * weight / w } else { 0.0 };
            }
            result = layer.iter().try_for_each(|entry| self.serve(state, entry));
            if result.is_err() {
                break;
            }
            // Only where the layer has flows was the link divided for it.
            shares.counted.fill(u32::MAX);
            for entry in layer {
                for_links_of(checked(state, entry.group)?, entry.group, |link| {
                    let l = link.index();
                    if shares.counted[l] != entry.layer {
                        shares.counted[l] = entry.layer;
                        shares.spare[l] += self.free[l];
                    }
                });
            }
        }
        self.free.copy_from_slice(&shares.spare);
        self.layers = shares;
        result
    }

    /// Serves one entry from what is free.
    fn serve(&mut self, state: &State, entry: &Entry) -> Result<(), PlanError> {
        let coflow = checked(state, entry.group)?;
        match entry.group {
            Group::Everything => Err(PlanError::Everything),
            Group::Coflow(id) => {
                if self.grants[id.index()].main.walk == self.walk {
                    return Err(PlanError::Twice(id));
                }
                self.serve_part(state, id, |grant| &mut grant.main, entry.rule)
            }
            Group::CoflowAt(id, link) => {
                let demand = coflow.demand();
                self.work.subset.clear();
                if let Some(l) = demand.links().iter().position(|&k| k == link) {
                    let here = demand.active().filter(|&p| demand.path(p).any(|k| k == l));
                    self.work.subset.extend(here.map(|p| p as u32));
                }
                self.serve_piece(coflow, id, entry.rule, state.fabric().capacity())
            }
            Group::Flow(flow) => {
                let position = coflow.demand().position(flow.index);
                self.work.subset.clear();
                if coflow.demand().is_active(position) {
                    self.work.subset.push(position as u32);
                }
                self.serve_piece(coflow, flow.coflow, entry.rule, state.fabric().capacity())
            }
        }
    }

    /// Offers what is left over to a coflow, flow by flow.
    fn fill(&mut self, state: &State, id: CoflowId) {
        // Greedy matching cannot fail: it takes what is there.
        let _ = self.serve_part(state, id, |grant| &mut grant.fill, Rule::Matching);
    }

    /// Serves a whole coflow by `rule`, unless nothing has changed since this was last decided.
    fn serve_part(
        &mut self,
        state: &State,
        id: CoflowId,
        part: impl Fn(&mut Grant) -> &mut Part,
        rule: Rule,
    ) -> Result<(), PlanError> {
        let coflow = state.coflow(id);
        let capacity = state.fabric().capacity();
        gather(&mut self.work.local, coflow.demand(), &self.free, capacity);
        let part = part(&mut self.grants[id.index()]);
        part.walk = self.walk;
        if part.rule != Some(rule) || part.seen != self.work.local {
            let was_empty = part.is_empty();
            part.decide(coflow, rule, &mut self.work, capacity)?;
            if !(was_empty && part.is_empty()) {
                self.changed.push(id);
            }
        }
        spend(&mut self.free, coflow.demand(), &part.used);
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
        gather(&mut self.work.local, demand, &self.free, capacity);
        let part = &mut self.grants[id.index()].pieces;
        if part.walk != self.walk {
            part.walk = self.walk;
            part.clear();
            self.changed.push(id);
        }
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        let result = self.work.share_flows(demand, rule, capacity, &mut piece);
        part.used.resize(demand.links().len(), 0.0);
        for single in &piece {
            for l in demand.path(single.position as usize) {
                part.used[l] += single.rate;
                self.free[demand.links()[l].index()] -= single.rate;
            }
        }
        part.singles.extend_from_slice(&piece);
        self.piece = piece;
        result
    }

    /// Takes back what coflows had that the plan no longer serves.
    fn withdraw_from_unserved(&mut self, state: &State) {
        for &id in state.present() {
            let mut withdrawn = false;
            for part in self.grants[id.index()].parts_mut() {
                if part.walk != self.walk {
                    withdrawn |= !part.is_empty();
                    part.clear();
                }
            }
            if withdrawn {
                self.changed.push(id);
            }
        }
    }
}

impl Part {
    /// Shares the capacity in `work.local` among the coflow's flows by `rule`.
    fn decide(
        &mut self,
        coflow: &CoflowState,
        rule: Rule,
        work: &mut Work,
        capacity: &[f64],
    ) -> Result<(), PlanError> {
        self.rule = Some(rule);
        self.seen.clone_from(&work.local);
        self.levels.clear();
        self.inverse_gamma = 0.0;
        self.used.clear();
        if rule != Rule::Matching {
            self.singles.clear();
        }
        let demand = coflow.demand();
        let can_send = |mut links: std::ops::Range<usize>| {
            links.any(|l| work.local[l] > 0.0 && demand.count()[l] > 0)
        };
        let senders = demand.senders();
        let takes_what_is_there = !matches!(rule, Rule::Rate(_));
        let nothing_is = !can_send(0..senders) || !can_send(senders..senders + demand.receivers());
        if takes_what_is_there && nothing_is {
            self.singles.clear();
            return Ok(());
        }
        match rule {
            Rule::MaxMin if demand.is_bipartite() => {
                max_min::fill(demand, &work.local, &mut work.filling);
                self.levels.extend_from_slice(&work.filling.level);
                self.used
                    .extend(work.local.iter().zip(&work.filling.free).map(|(c, f)| c - f.max(0.0)));
            }
            Rule::Equal if demand.is_bipartite() => {
                equal::levels(
                    demand,
                    &work.local,
                    &mut self.levels,
                    &mut self.used,
                    &mut work.counts,
                );
            }
            Rule::Matching if demand.is_bipartite() => {
                matching::grant(demand, &mut work.local, &mut self.singles, &mut work.matching);
            }
            Rule::Madd => {
                let progress = coflow.progress();
                let by_scale = madd::inverse_gamma(&progress.link_left, &work.local);
                self.inverse_gamma = by_scale / progress.scale;
                self.used.extend(progress.link_left.iter().map(|left| left * by_scale));
            }
            _ => {
                work.subset.clear();
                work.subset.extend(demand.active().map(|p| p as u32));
                work.share_flows(demand, rule, capacity, &mut self.singles)?;
            }
        }
        if !self.singles.is_empty() {
            self.used.resize(demand.links().len(), 0.0);
            for single in &self.singles {
                demand.path(single.position as usize).for_each(|l| self.used[l] += single.rate);
            }
        }
        if self.used.iter().all(|&used| used == 0.0) {
            self.used.clear();
        }
        Ok(())
    }
}

impl Work {
    /// Shares the capacity in `local` among the flows in `subset`, into `singles`. Under matching,
    /// flows that `singles` holds at first are running and go first.
    fn share_flows(
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
fn checked(state: &State, group: Group) -> Result<&CoflowState, PlanError> {
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

/// Calls `there` with the links where a group of a coflow's flows has unfinished ones, some more
/// than once.
fn for_links_of(coflow: &CoflowState, group: Group, there: impl FnMut(LinkId)) {
    let demand = coflow.demand();
    let name = |l: usize| demand.links()[l];
    match group {
        Group::Everything | Group::Coflow(_) => {
            let counts = demand.links().iter().zip(demand.count());
            counts.filter(|(_, count)| **count > 0).map(|(link, _)| *link).for_each(there);
        }
        Group::CoflowAt(_, link) => {
            let here = demand.active().filter(|&p| demand.path(p).any(|l| name(l) == link));
            here.flat_map(|p| demand.path(p)).map(name).for_each(there);
        }
        Group::Flow(flow) => {
            let flow = Some(demand.position(flow.index)).filter(|&p| demand.is_active(p));
            flow.into_iter().flat_map(|p| demand.path(p)).map(name).for_each(there);
        }
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

/// Takes what a coflow uses from what is free.
fn spend(free: &mut [f64], demand: &Demand, used: &[f64]) {
    for (link, used) in demand.links().iter().zip(used) {
        free[link.index()] -= used;
    }
}
