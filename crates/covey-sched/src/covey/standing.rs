//! The ranks of coflows and their pilots in the plan, which is kept from round to round.
//!
//! Overdue coflows are in the layer before all others, in order of arrival. In the other layer a
//! coflow is ranked by what is left of it, and its unfinished pilots by what is left of one flow.

use covey_core::{CoflowId, FlowId, Group, NonClairvoyant, Plan, Rank, Share, View};

use super::track::Track;
use crate::rank::Tie;
use crate::runs::Runs;

/// The layer of overdue coflows, and that of all others.
const OVERDUE: u32 = 0;
const OTHERS: u32 = 1;

/// A part of a coflow that has a rank of its own.
#[derive(Debug, Clone, Copy)]
enum RankedPart {
    Pilots,
    Whole,
}

impl RankedPart {
    /// The id under which [`Runs`] ranks it.
    fn of(self, coflow: CoflowId) -> CoflowId {
        CoflowId(2 * coflow.0 + self as u32)
    }
}

/// The ranks of all coflows in the plan.
#[derive(Debug)]
pub(super) struct Standing {
    order: Runs,
    /// By coflow.
    coflows: Vec<CoflowRanks>,
    /// Coflows whose ranks may have changed.
    dirty: Vec<CoflowId>,
    /// The ranks of coflows that have ended since the plan was written.
    left: Vec<Rank>,
}

/// The ranks of a coflow.
#[derive(Debug, Default)]
struct CoflowRanks {
    is_overdue: bool,
    is_dirty: bool,
    /// Ranks of its parts by what is left, pilots first.
    ranks: [Option<Rank>; 2],
    /// The coflow's entries in the plan.
    taken: Vec<(Rank, Group)>,
}

impl Default for Standing {
    fn default() -> Standing {
        Standing {
            order: Runs::new(Tie::Absolute, OTHERS),
            coflows: Vec::new(),
            dirty: Vec::new(),
            left: Vec::new(),
        }
    }
}

impl Standing {
    /// Ranks a coflow that has been assessed.
    pub fn set(&mut self, coflow: CoflowId, track: &Track, view: &View<'_, NonClairvoyant>) {
        let (arrival, seq) = view.order(coflow);
        let order = |part: RankedPart| (arrival, 2 * seq + part as u64);
        let pilots = RankedPart::Pilots.of(coflow);
        if active(track, view).next().is_some() {
            self.order.set(pilots, track.pilot_s, order(RankedPart::Pilots));
        } else {
            self.order.remove(pilots);
        }
        self.order.set(RankedPart::Whole.of(coflow), track.left_s, order(RankedPart::Whole));
        mark_dirty(&mut self.coflows, &mut self.dirty, coflow);
    }

    /// Notes that a pilot of a coflow has ended.
    pub fn pilot_ended(&mut self, coflow: CoflowId) {
        mark_dirty(&mut self.coflows, &mut self.dirty, coflow);
    }

    /// Sets whether a coflow goes first in this slot.
    pub fn set_overdue(&mut self, coflow: CoflowId, is_overdue: bool) {
        mark_dirty(&mut self.coflows, &mut self.dirty, coflow);
        self.coflows[coflow.index()].is_overdue = is_overdue;
    }

    /// Whether a coflow goes first in this slot.
    pub fn is_overdue(&self, coflow: CoflowId) -> bool {
        self.coflows.get(coflow.index()).is_some_and(|ranks| ranks.is_overdue)
    }

    /// Notes that a coflow has ended.
    pub fn leave(&mut self, coflow: CoflowId) {
        self.order.remove(RankedPart::Pilots.of(coflow));
        self.order.remove(RankedPart::Whole.of(coflow));
        ranks_of(&mut self.coflows, coflow);
        let CoflowRanks { is_overdue, ranks, taken, .. } = &mut self.coflows[coflow.index()];
        *is_overdue = false;
        *ranks = [None; 2];
        self.left.extend(taken.drain(..).map(|(rank, _)| rank));
    }

    /// Brings the plan up to date. Returns whether it has changed.
    pub fn write(
        &mut self,
        tracks: &[Track],
        view: &View<'_, NonClairvoyant>,
        plan: &mut Plan<NonClairvoyant>,
    ) -> bool {
        let mut is_another = !self.left.is_empty();
        self.left.drain(..).for_each(|rank| plan.remove(rank));
        let Standing { order, coflows, dirty, .. } = self;
        for &(part, rank) in order.changed_ranks() {
            let coflow = CoflowId(part.0 / 2);
            coflows[coflow.index()].ranks[part.index() % 2] = Some(rank);
            mark_dirty(coflows, dirty, coflow);
        }
        dirty.retain(|&coflow| {
            let coflows = &mut coflows[coflow.index()];
            coflows.is_dirty &= view.is_present(coflow);
            coflows.is_dirty
        });
        // All leave their old ranks before any takes its new one.
        for &coflow in &*dirty {
            let CoflowRanks { is_overdue, ranks, taken, .. } = &mut coflows[coflow.index()];
            let track = &tracks[coflow.index()];
            let stays = |at: &(Rank, Group)| {
                wanted(*is_overdue, ranks, coflow, track, view).any(|other| other == *at)
            };
            taken.retain(|at| {
                let stays = stays(at);
                if !stays {
                    plan.remove(at.0);
                    is_another = true;
                }
                stays
            });
        }
        for coflow in dirty.drain(..) {
            let CoflowRanks { is_overdue, is_dirty, ranks, taken } = &mut coflows[coflow.index()];
            *is_dirty = false;
            for at in wanted(*is_overdue, ranks, coflow, &tracks[coflow.index()], view) {
                if !taken.contains(&at) {
                    let (rank, group) = at;
                    let is_pilot = matches!(group, Group::Flow(_));
                    plan.insert(
                        rank,
                        group,
                        if is_pilot { Share::MATCHING } else { Share::MATCHING_BY_LOAD },
                    );
                    taken.push(at);
                    is_another = true;
                }
            }
        }
        is_another
    }
}

/// What the plan is to have of a coflow.
fn wanted<'a>(
    is_overdue: bool,
    [pilots, whole]: &'a [Option<Rank>; 2],
    coflow: CoflowId,
    track: &'a Track,
    view: &'a View<'_, NonClairvoyant>,
) -> impl Iterator<Item = (Rank, Group)> + 'a {
    let first = is_overdue.then(|| Rank::new(OVERDUE, 0.0, view.order(coflow)));
    let pilots = pilots.filter(|_| !is_overdue).into_iter().flat_map(move |rank| {
        active(track, view).map(move |(k, pilot)| (rank.numbered(k), Group::Flow(pilot)))
    });
    let whole = first.or(*whole).map(|rank| (rank, Group::Coflow(coflow)));
    pilots.chain(whole)
}

fn ranks_of(coflows: &mut Vec<CoflowRanks>, coflow: CoflowId) -> &mut CoflowRanks {
    if coflows.len() <= coflow.index() {
        coflows.resize_with(coflow.index() + 1, CoflowRanks::default);
    }
    &mut coflows[coflow.index()]
}

/// Notes that the ranks of a coflow may have changed.
fn mark_dirty(coflows: &mut Vec<CoflowRanks>, dirty: &mut Vec<CoflowId>, coflow: CoflowId) {
    if !std::mem::replace(&mut ranks_of(coflows, coflow).is_dirty, true) {
        dirty.push(coflow);
    }
}

/// The pilots of a coflow that have not ended.
fn active<'a>(
    track: &'a Track,
    view: &'a View<'_, NonClairvoyant>,
) -> impl Iterator<Item = (u32, FlowId)> + 'a {
    (0..).zip(track.pilots.iter().copied()).filter(|&(_, pilot)| view.is_active(pilot))
}
