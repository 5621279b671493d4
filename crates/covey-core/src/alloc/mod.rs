//! From a plan to rates.
//!
//! [`Allocator::allocate`] walks the entries of a plan in order. Each gets what the entries before
//! it leave, shared by its rule; the rules are modules of their own. Backfill then offers what
//! nobody has taken. The result for a coflow is a [`CoflowAllocation`]: a flow's rate is
//!
//! > least water level of its links + (bytes left when that was decided) × (least level of its
//! > links, by size) + its own rates
//!
//! where an entry for a coflow contributes one of the first two, or single rates, according to its
//! rule.
//!
//! The allocator remembers what each coflow found free and what it left. While a plan stays in
//! force, a coflow is looked at again only when its flows have changed or what it finds free at one
//! of its links has; so an event costs little where it changes little.

mod all_or_none;
mod asleep;
mod backfill;
mod by_load;
mod by_node;
mod crowd;
mod equal;
mod error;
mod flows;
mod grant;
mod idle;
mod kept;
mod layers;
mod line;
mod madd;
mod matching;
mod max_min;
mod part;
mod portions;
mod proportional;
mod rates;
mod ripple;
mod rows;
mod turns;
mod walk;

pub use crowd::{Crowd, Measure};
pub use error::PlanError;
pub use grant::{BySize, CoflowAllocation, CompressionRate, FlowRate};
pub use line::{Line, Running};
pub use rates::BulkRates;
pub use ripple::LevelChange;

use crate::demand::Demand;
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Backfill, Entry, Group, Layers, Rank, Ranking, Rule};
use crate::state::State;
use line::Precedence;

/// A share of a link's capacity so small that it counts as nothing; rounding leaves such residues.
const NEGLIGIBLE: f64 = 1e-9;

/// Which end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Senders,
    Receivers,
}

/// What the plan serves: coflows, or all flows as one group, and then how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Together {
    #[default]
    No,
    AsCrowd(Measure),
    InLine(Precedence),
}

/// With more entries than this a plan that is kept is walked by turns; with fewer all are looked at, which
/// costs less. Measured on coflows of four flows that come at once: `fifo` costs the same either way at
/// about 500, `sebf`, which backfills, at about 5,000.
const MANY: usize = 512;
const MANY_WITH_BACKFILL: usize = 4096;

/// Turns plans into rates, and remembers them.
#[derive(Debug, Default)]
pub struct Allocator {
    /// Overrides [`MANY`].
    many: Option<usize>,
    grants: Vec<CoflowAllocation>,
    /// By coflow, who sleeps.
    asleep: Vec<asleep::Asleep>,
    /// Whether no coflow is served provisionally alone.
    is_settled: bool,
    crowd: Crowd,
    line: Line,
    together: Together,
    changed: Vec<CoflowId>,
    /// Coflows whose compression rates have changed since the walk before.
    compression_changed: Vec<CoflowId>,
    /// Whether nothing that is remembered about the order of entries holds any more.
    replanned: bool,
    /// Who has a turn where a plan is kept.
    kept: kept::Kept,
    /// Whether backfill follows this walk: coflows are served provisionally.
    shares_spare: bool,
    /// Whether what a coflow had been given was forgotten since the last walk by node.
    forgot: bool,
    /// Whether the plan of this walk is new, and whether the walk decides everything from scratch.
    is_new: bool,
    afresh: bool,
    /// Number of the present walk over the entries.
    walk: u64,
    /// Links (a bit each) at which what is free differs from what it was at this entry in the walk
    /// before.
    moved: Vec<u64>,
    /// Capacity left over by the entries so far, at the links that have moved; and a bit for each of
    /// these where that is something.
    free: Vec<f64>,
    open: Vec<u64>,
    work: Work,
    chain: idle::Chain,
    shares: layers::Shares,
    by_node: by_node::ByNode,
    spare: backfill::Spare,
}

/// Working memory of one entry.
#[derive(Debug, Default)]
struct Work {
    /// Flows (by position) that have ended since the last walk, or are not to be served for a while.
    ended: Vec<(CoflowId, u32)>,
    /// Local links at which the coflow finds another amount free than before, and at which it
    /// leaves another; and what it found at the former before.
    moved: Vec<u32>,
    changed: Vec<u32>,
    found: Vec<f64>,
    /// Whether anybody asks for `changed`.
    follows: bool,
    /// What the coflow left at its links before.
    was: Vec<f64>,
    /// Positions of the flows of a piece.
    subset: Vec<u32>,
    counts: Vec<u32>,
    filling: max_min::Filling,
    proportional: proportional::Filling,
    ripple: ripple::Ripple,
    matching: matching::Work,
    flows: flows::Work,
}

impl Allocator {
    /// An allocator that walks a plan by turns if it is kept and has more than so many entries.
    pub fn by_turns_above(many: usize) -> Allocator {
        Allocator { many: Some(many), ..Allocator::default() }
    }

    /// Whether a plan is to be walked by turns. One that is goes on to be until it has half as many entries.
    fn goes_by_turns(&self, ranking: &Ranking) -> bool {
        let many = if ranking.backfill == Backfill::None { MANY } else { MANY_WITH_BACKFILL };
        let many = self.many.unwrap_or(many);
        let enough = if self.kept.is_on { many / 2 } else { many };
        ranking.is_kept && ranking.layers != Layers::ByNode && ranking.entries.len() > enough
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.wake_all();
        self.grants.iter_mut().for_each(CoflowAllocation::clear);
        self.is_settled = false;
        self.together = Together::No;
        self.changed.clear();
        self.compression_changed.clear();
        self.work.ended.clear();
        self.kept.clear();
        self.replanned = true;
        self.forgot = true;
    }

    /// The rates of the last [`Allocator::allocate`].
    pub fn rates(&self) -> &dyn BulkRates {
        match self.together {
            Together::No => &self.grants,
            Together::AsCrowd(_) => &self.crowd,
            Together::InLine(_) => &self.line,
        }
    }

    /// Whether the plan serves all flows as one group: no coflow has an allocation then.
    pub fn is_flow_level(&self) -> bool {
        self.together != Together::No
    }

    /// What a coflow gets since the last [`Allocator::allocate`].
    pub fn allocation(&self, id: CoflowId) -> &CoflowAllocation {
        &self.grants[id.index()]
    }

    /// All flows as one group that shares by water levels of links, if the plan serves them so.
    pub fn crowd(&self) -> Option<&Crowd> {
        matches!(self.together, Together::AsCrowd(_)).then_some(&self.crowd)
    }

    /// All flows by priority, if the plan serves them so.
    pub fn line(&self) -> Option<&Line> {
        matches!(self.together, Together::InLine(_)).then_some(&self.line)
    }

    /// [`Allocator::line`], to bring what is left of its flows up to date.
    pub fn line_mut(&mut self) -> Option<&mut Line> {
        matches!(self.together, Together::InLine(_)).then_some(&mut self.line)
    }

    /// Coflows whose flows may have other rates than before the last [`Allocator::allocate`].
    pub fn changed_coflows<'a>(&'a self, state: &'a State) -> &'a [CoflowId] {
        if self.is_flow_level() { state.present() } else { &self.changed }
    }

    /// Coflows whose allocation may differ from the one before the last [`Allocator::allocate`].
    pub fn changed(&self) -> &[CoflowId] {
        &self.changed
    }

    /// To be called when the plan is another.
    pub fn replan(&mut self) {
        self.replanned = true;
    }

    /// To be called when groups have come to places of a plan that is kept, or have gone.
    pub fn edit(&mut self, places: &[(Rank, Group)]) {
        if self.kept.is_on {
            self.kept.edits.extend_from_slice(places);
        } else {
            self.replanned |= !places.is_empty();
        }
    }

    /// To be called after flows of a coflow have started or ended, or when its progress was
    /// brought up to date outside of [`Allocator::allocate`]: its share is decided anew.
    pub fn touch(&mut self, id: CoflowId) {
        self.wake(id);
        if let Some(grant) = self.grants.get_mut(id.index()) {
            grant.touch();
            self.kept.touch(id);
        }
    }

    /// To be called when what flows that are *raised* (their level is higher than the lowest) have sent in
    /// `seconds` over [`Progress::scale`](crate::state::Progress::scale) was taken from what is left of
    /// them, and nothing else: the rates stay.
    pub fn pass(&mut self, id: CoflowId, seconds: f64) {
        self.grants[id.index()].pass(seconds);
    }

    /// To be called for a coflow with raised flows, whose progress is up to date, when something has
    /// happened among coflows that it meets: it needs less now of what others can use.
    pub fn reconsider(&mut self, id: CoflowId) {
        self.grants[id.index()].reconsider();
    }

    /// To be called when the flow at `position` has started (`by = 1`) or ended (`by = -1`), beside
    /// [`Allocator::touch`].
    pub fn adjust(&mut self, state: &State, id: CoflowId, position: usize, by: f32) {
        match self.together {
            Together::No if by < 0.0 => self.work.ended.push((id, position as u32)),
            Together::No => {}
            Together::AsCrowd(_) => {
                let (egress, ingress) = ends(state.coflow(id).demand(), position);
                let size = state.coflow(id).progress().size[position];
                self.crowd.adjust(egress, ingress, size, by);
            }
            Together::InLine(_) if by > 0.0 => self.line.join(id, position),
            Together::InLine(_) => self.line.leave(state, id, position),
        }
    }

    /// To be called when compression begins to lessen what is left of a flow by `rate` bytes per
    /// second while it is sent, or ends to (`rate = 0`).
    pub fn set_compression_rate(&mut self, id: CoflowId, position: usize, rate: f64) {
        if self.grants.len() <= id.index() {
            self.grants.resize_with(id.index() + 1, Default::default);
        }
        self.grants[id.index()].set_compression_rate(position as u32, rate);
        self.compression_changed.push(id);
    }

    /// Coflows whose compression rates have changed since rates were last shared.
    pub fn compression_changed(&self) -> &[CoflowId] {
        &self.compression_changed
    }

    /// To be called when a coflow has ended, as long as `state` knows it: its number may be used again. And
    /// to be called when nothing holds of what was found out about a coflow that is present.
    pub fn forget(&mut self, state: &State, id: CoflowId) {
        self.forgot = true;
        self.wake(id);
        if self.kept.is_on {
            self.leave_all(state, id);
        } else {
            self.replanned = true;
        }
        if let Some(grant) = self.grants.get_mut(id.index()) {
            grant.clear();
        }
    }

    /// Shares all links among the coflows present as the plan says. MADD goes by what
    /// [`Progress`](crate::state::Progress) says is left.
    ///
    /// # Errors
    /// When the plan is wrong; rates are then undefined.
    pub fn allocate(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let result = self.share(state, ranking);
        self.replanned |= result.is_err();
        result
    }

    fn share(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let first = ranking.entries.first().map(|(_, entry)| entry);
        let everything = first.filter(|entry| entry.group == Group::AllFlows);
        let keeps = everything.is_none() && self.goes_by_turns(ranking);
        self.replanned |= std::mem::replace(&mut self.kept.is_on, keeps) != keeps;
        self.start_walk(state);
        if let Some(everything) = everything {
            return self.serve_everything(state, ranking, everything);
        }
        self.together = Together::No;
        self.work.follows = ranking.layers != Layers::ByNode;
        // Where nodes divide their links, what is spare is shared already.
        self.shares_spare = ranking.backfill != Backfill::None && ranking.layers != Layers::ByNode;
        if self.afresh && !self.shares_spare && !self.is_settled {
            self.settle_all(state);
        }
        self.is_settled = !self.shares_spare && ranking.layers != Layers::ByNode;
        if self.is_new && (keeps || ranking.layers == Layers::ByNode) {
            self.wake_all();
        }
        self.kept.by_layer = ranking.layers == Layers::Weighted;
        if keeps {
            self.follow_plan(state, ranking)?;
        }
        match ranking.layers {
            Layers::Strict => {
                self.chain.start();
                self.chain.base.clear();
                self.chain.base.extend_from_slice(state.fabric().capacity());
                self.serve_line(state, ranking, 0, ranking.entries.iter())?;
            }
            Layers::Weighted => self.serve_weighted(state, ranking)?,
            Layers::ByNode => self.serve_by_node(state, ranking)?,
        }
        if self.shares_spare {
            self.backfill(state, ranking)?;
        }
        self.end_walk(state);
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
        let together = match entry.rule {
            Rule::MaxMin => Together::AsCrowd(Measure::Number),
            Rule::BySize => Together::AsCrowd(Measure::Size),
            Rule::OldestFirst => Together::InLine(Precedence::Oldest),
            Rule::ShortestFirst => Together::InLine(Precedence::Shortest),
            _ => return Err(PlanError::AllFlows),
        };
        if ranking.entries.len() != 1 || fabric.links() != 2 * ports {
            return Err(PlanError::AllFlows);
        }
        // Nobody has a grant where all were served together before.
        self.afresh = self.together != together;
        if self.afresh {
            self.together = together;
            match together {
                Together::InLine(precedence) => {
                    self.line.clear(precedence, ports, fabric.capacity());
                }
                Together::AsCrowd(measure) => self.crowd.clear(measure, ports),
                Together::No => {}
            }
            for &id in state.present() {
                let demand = state.coflow(id).demand();
                let positions = (0..demand.width()).map(|index| demand.position(index as u32));
                for p in positions.filter(|&p| demand.is_active(p)) {
                    self.adjust(state, id, p, 1.0);
                }
            }
        }
        self.end_walk(state);
        match together {
            Together::InLine(_) => self.line.advance(state),
            _ => self.crowd.fill(fabric.capacity()),
        }
        Ok(())
    }
}

/// Whether some sender and some receiver with unfinished flows have capacity.
fn can_send(demand: &Demand, free: &[f64]) -> bool {
    let any =
        |mut links: std::ops::Range<usize>| links.any(|l| free[l] > 0.0 && demand.count()[l] > 0);
    let (senders, receivers) = (demand.senders(), demand.receivers());
    any(0..senders) && any(senders..senders + receivers)
}

/// The links at the two ends of a flow.
fn ends(demand: &Demand, position: usize) -> (LinkId, LinkId) {
    let (s, r) = demand.ends(position);
    (demand.links()[s], demand.links()[r])
}
