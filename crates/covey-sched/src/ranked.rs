//! Coflows in the order of a key, smallest first: what SEBF, SCF, NCF, LCF and `order` have in
//! common.
//!
//! The order is updated at every arrival and end of a coflow. A coflow's key is calculated again
//! only if an event concerns it or those that it can meet ([`rank`](crate::rank)). In order, each
//! coflow gets MADD on what is left. Spare capacity is offered in the same order
//! ([`Backfill::Greedy`]): a coflow goes on from MADD to max-min fairness in proportion to bytes
//! left, so that flows that miss its bottleneck go faster. Varys' own backfill and CoflowSim's
//! differ. The rule of backfill decides some 20 % of the mean completion time, so it is part of the
//! definition here.

use covey_core::{
    Answer, AnyPolicy, Backfill, Clairvoyant, CoflowId, Criterion, FlowId, Knowledge, LinkId, Plan,
    Policy, Promises, Share, View, Wants,
};

use crate::kept_ranks::KeptRanks;
use crate::rank::Tie;
use crate::runs::Runs;
use crate::settings::Settings;
use crate::spec::{Param, SpecError};

/// The parameter `share` of every policy made by [`ranked`].
pub(crate) const SHARE: Param = Param {
    name: "share",
    default: "madd",
    help: "madd (on what is left, then backfill in the same order), proportional (max-min in proportion to bytes left, all that a coflow can use before the next has its turn), matching (one flow per port at full rate) or matching-by-load (the ports with most flows left first)",
};

/// The parameter `work_conservation` of every policy made by [`ranked`].
pub(crate) const WORK_CONSERVATION: Param = Param {
    name: "work_conservation",
    default: "all",
    help: "who is offered what MADD leaves over, in the same order: all, skipped (only those that have got nothing) or none",
};

fn share(settings: &Settings) -> Result<Share<Clairvoyant>, SpecError> {
    settings.choice(
        SHARE.name,
        &[
            ("madd", Share::MADD),
            ("proportional", Share::PROPORTIONAL),
            ("matching", Share::MATCHING),
            ("matching-by-load", Share::MATCHING_BY_LOAD),
        ],
    )
}

/// Which coflows are offered what is left over, as [`WORK_CONSERVATION`] says.
pub(crate) fn offered(settings: &Settings) -> Result<Backfill, SpecError> {
    settings.choice(
        WORK_CONSERVATION.name,
        &[("all", Backfill::Greedy), ("skipped", Backfill::Skipped), ("none", Backfill::None)],
    )
}

/// What a policy made by [`ranked`] promises: only MADD leaves capacity over that flows could use.
pub(crate) fn promises(settings: &Settings) -> Result<Promises, SpecError> {
    let conserves_work = share(settings)? != Share::MADD || offered(settings)? == Backfill::Greedy;
    Ok(Promises { conserves_work, ..Promises::default() })
}

/// What a coflow is ranked by.
pub(crate) struct Key<K> {
    /// The value of a coflow.
    of: Value<K>,
    /// The value as people read it.
    pub criterion: fn(f64) -> Criterion,
}

type Value<K> = Box<dyn Fn(&View<'_, K>, CoflowId) -> f64 + Send>;

impl<K> Key<K> {
    pub fn new(
        of: impl Fn(&View<'_, K>, CoflowId) -> f64 + Send + 'static,
        criterion: fn(f64) -> Criterion,
    ) -> Key<K> {
        Key { of: Box::new(of), criterion }
    }

    /// The value of a coflow.
    pub fn value(&self, view: &View<'_, K>, coflow: CoflowId) -> f64 {
        (self.of)(view, coflow)
    }
}

/// A policy that serves coflows by `key`, smallest first, ties in order of arrival.
pub(crate) fn ranked(
    settings: &Settings,
    tie: Tie,
    key: Key<Clairvoyant>,
) -> Result<AnyPolicy, SpecError> {
    Ok(AnyPolicy::Clairvoyant(Box::new(Ranked::from_settings(settings, tie, key)?)))
}

/// The policy that [`ranked`] makes.
pub(crate) struct Ranked<K> {
    pub(crate) key: Key<K>,
    pub(crate) tie: Tie,
    pub(crate) share: Share<K>,
    /// How what is left over is offered.
    pub(crate) backfill: Backfill,
    /// What the key needs to be up to date.
    pub(crate) wants: Wants,
    runs: Runs,
    ranks: KeptRanks,
    /// Coflows that have changed. They are ranked again at the next event among those that they can
    /// meet.
    to_rank: Vec<CoflowId>,
}

impl Ranked<Clairvoyant> {
    pub(crate) fn from_settings(
        settings: &Settings,
        tie: Tie,
        key: Key<Clairvoyant>,
    ) -> Result<Ranked<Clairvoyant>, SpecError> {
        let share = share(settings)?;
        // The other rules leave nothing over that any flow could use.
        let backfill = if share == Share::MADD { offered(settings)? } else { Backfill::None };
        Ok(Ranked::new(key, tie, share, backfill))
    }
}

impl<K> Ranked<K> {
    pub(crate) fn new(key: Key<K>, tie: Tie, share: Share<K>, backfill: Backfill) -> Ranked<K> {
        Ranked {
            key,
            tie,
            share,
            backfill,
            wants: Wants::default(),
            runs: Runs::new(tie, 0),
            ranks: KeptRanks::default(),
            to_rank: Vec::new(),
        }
    }
}

impl<K: Knowledge> Policy<K> for Ranked<K> {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, K>) -> Vec<Criterion> {
        self.runs.key(flow.coflow).map(self.key.criterion).into_iter().collect()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, _: &View<'_, K>) {
        self.to_rank.push(coflow);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, K>) {
        self.runs.remove(coflow);
        self.ranks.leave(coflow);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        plan.set_backfill(self.backfill);
        let mut has_changed = self.ranks.clear_left(plan);
        self.to_rank.extend_from_slice(view.changed());
        self.to_rank.sort_unstable();
        self.to_rank.dedup();
        let Ranked { key, runs, ranks, to_rank, share, .. } = self;
        to_rank.retain(|&coflow| {
            if !view.is_present(coflow) {
                return false;
            }
            let is_dirty = view.is_dirty(coflow);
            if is_dirty {
                runs.set(coflow, key.value(view, coflow), view.order(coflow));
            }
            !is_dirty
        });
        let ranked = runs.changed_ranks();
        ranked.iter().for_each(|&(coflow, _)| ranks.lift(plan, coflow));
        for &(coflow, rank) in ranked {
            has_changed |= ranks.put(plan, coflow, rank, *share);
        }
        if has_changed { Answer::Replaced } else { Answer::Unchanged }
    }
}
