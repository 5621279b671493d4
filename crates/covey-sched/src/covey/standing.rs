//! Where coflows and their pilots stand in the plan, which is kept.
//!
//! Coflows that are overdue are in the layer before all others, in order of arrival. In the other layer a
//! coflow is ranked by what is left of it, and its unfinished pilots by what is left of one flow.

use covey_core::{CoflowId, FlowId, Group, NonClairvoyant, Plan, Rank, Share, View};

use super::track::Track;
use crate::rank::Tie;
use crate::runs::Runs;

/// The layer of overdue coflows, and that of all others.
const OVERDUE: u32 = 0;
const OTHERS: u32 = 1;

/// What is ranked of a coflow.
#[derive(Debug, Clone, Copy)]
enum Part {
    Pilots,
    Whole,
}

impl Part {
    /// The number under which it is ranked.
    fn of(self, coflow: CoflowId) -> CoflowId {
        CoflowId(2 * coflow.0 + self as u32)
    }
}

/// Places in the plan.
#[derive(Debug)]
pub(super) struct Standing {
    order: Runs,
    /// By coflow.
    places: Vec<Places>,
    /// Coflows that are to be placed anew.
    unsettled: Vec<CoflowId>,
    /// The places of coflows that have ended since the plan was written.
    left: Vec<Rank>,
}

/// The places of a coflow.
#[derive(Debug, Default)]
struct Places {
    is_overdue: bool,
    is_unsettled: bool,
    /// Where its parts are ranked, pilots first.
    ranks: [Option<Rank>; 2],
    /// Where it, and flows of it, stand in the plan.
    taken: Vec<(Rank, Group)>,
}

impl Default for Standing {
    fn default() -> Standing {
        Standing {
            order: Runs::new(Tie::Absolute, OTHERS),
            places: Vec::new(),
            unsettled: Vec::new(),
            left: Vec::new(),
        }
    }
}

impl Standing {
    /// Ranks a coflow, which has been assessed.
    pub fn set(&mut self, coflow: CoflowId, track: &Track, view: &View<'_, NonClairvoyant>) {
        let (arrival, seq) = view.order(coflow);
        let order = |part: Part| (arrival, 2 * seq + part as u64);
        let pilots = Part::Pilots.of(coflow);
        if active(track, view).next().is_some() {
            self.order.set(pilots, track.pilot_s, order(Part::Pilots));
        } else {
            self.order.remove(pilots);
        }
        self.order.set(Part::Whole.of(coflow), track.left_s, order(Part::Whole));
        unsettle(&mut self.places, &mut self.unsettled, coflow);
    }

    /// A pilot of a coflow has ended.
    pub fn pilot_ended(&mut self, coflow: CoflowId) {
        unsettle(&mut self.places, &mut self.unsettled, coflow);
    }

    /// A coflow goes first in this slot, or does so no more.
    pub fn set_overdue(&mut self, coflow: CoflowId, is_overdue: bool) {
        unsettle(&mut self.places, &mut self.unsettled, coflow);
        self.places[coflow.index()].is_overdue = is_overdue;
    }

    /// A coflow has ended.
    pub fn leave(&mut self, coflow: CoflowId) {
        self.order.remove(Part::Pilots.of(coflow));
        self.order.remove(Part::Whole.of(coflow));
        places_of(&mut self.places, coflow);
        let Places { is_overdue, ranks, taken, .. } = &mut self.places[coflow.index()];
        *is_overdue = false;
        *ranks = [None; 2];
        self.left.extend(taken.drain(..).map(|(rank, _)| rank));
    }

    /// Brings the plan up to date. Returns whether it is another.
    pub fn write(
        &mut self,
        tracks: &[Track],
        view: &View<'_, NonClairvoyant>,
        plan: &mut Plan<NonClairvoyant>,
    ) -> bool {
        let mut is_another = !self.left.is_empty();
        self.left.drain(..).for_each(|rank| plan.remove(rank));
        let Standing { order, places, unsettled, .. } = self;
        for &(part, rank) in order.rank_anew() {
            let coflow = CoflowId(part.0 / 2);
            places[coflow.index()].ranks[part.index() % 2] = Some(rank);
            unsettle(places, unsettled, coflow);
        }
        unsettled.retain(|&coflow| {
            let places = &mut places[coflow.index()];
            places.is_unsettled &= view.is_present(coflow);
            places.is_unsettled
        });
        // All leave their places before any goes to its new one.
        for &coflow in &*unsettled {
            let Places { is_overdue, ranks, taken, .. } = &mut places[coflow.index()];
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
        for coflow in unsettled.drain(..) {
            let Places { is_overdue, is_unsettled, ranks, taken } = &mut places[coflow.index()];
            *is_unsettled = false;
            for at in wanted(*is_overdue, ranks, coflow, &tracks[coflow.index()], view) {
                if !taken.contains(&at) {
                    let (rank, group) = at;
                    let is_pilot = matches!(group, Group::Flow(_));
                    plan.place(
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

/// Where a coflow, and flows of it, are to stand.
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

fn places_of(places: &mut Vec<Places>, coflow: CoflowId) -> &mut Places {
    if places.len() <= coflow.index() {
        places.resize_with(coflow.index() + 1, Places::default);
    }
    &mut places[coflow.index()]
}

/// A coflow is to be placed anew.
fn unsettle(places: &mut Vec<Places>, unsettled: &mut Vec<CoflowId>, coflow: CoflowId) {
    if !std::mem::replace(&mut places_of(places, coflow).is_unsettled, true) {
        unsettled.push(coflow);
    }
}

/// The pilots of a coflow that have not ended.
fn active<'a>(
    track: &'a Track,
    view: &'a View<'_, NonClairvoyant>,
) -> impl Iterator<Item = (u32, FlowId)> + 'a {
    (0..).zip(track.pilots.iter().copied()).filter(|&(_, pilot)| view.is_active(pilot))
}
