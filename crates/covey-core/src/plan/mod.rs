//! A policy's answer: which flows are served, in what order, and by which rule flows share what
//! their group gets.
//!
//! Sharing rules that need sizes can only be put into the plan of a policy that knows sizes:
//!
//! ```compile_fail
//! use covey_core::{NonClairvoyant, Share};
//! let share: Share<NonClairvoyant> = Share::<NonClairvoyant>::MADD;
//! ```
//!
//! ```compile_fail
//! use covey_core::{NonClairvoyant, Share};
//! let share: Share<NonClairvoyant> = Share::<NonClairvoyant>::BY_SIZE;
//! ```
//!
//! ```
//! use covey_core::{Clairvoyant, NonClairvoyant, Share};
//! let sized: [Share<Clairvoyant>; 2] = [Share::MADD, Share::BY_SIZE];
//! let either: Share<NonClairvoyant> = Share::MAX_MIN;
//! ```

mod entry;
pub mod link_shares;
mod ranking;
pub mod wakes;

use std::marker::PhantomData;

use crate::compression::codec::Compress;
use crate::policy::knowledge::Knowledge;
use crate::values::ids::{CoflowId, LinkId};
use crate::values::time::Time;
use wakes::{Sender, Wake, Wakes};

pub use entry::{Backfill, Entry, Group, Layers, Rule, Share};
pub use ranking::{Rank, Ranking, TenantPlan};

/// What has changed in a plan since an allocator was notified ([`Plan::clear_edits`]).
#[derive(Debug, Clone, Default, PartialEq)]
struct Edits {
    /// Whether the plan was written again.
    is_rewritten: bool,
    /// Otherwise the ranks at which groups have come or gone.
    ranks: Vec<(Rank, Group)>,
    /// And the links that are divided in another way; one may occur more than once.
    links: Vec<LinkId>,
}

impl Edits {
    /// More edits than this, plus two for each entry, cost more than reading the whole plan.
    const MANY: usize = 1024;

    fn add(&mut self, rank: Rank, group: Group, entries: usize) {
        if self.is_rewritten {
            return;
        }
        // All memory at once: the number of allocations must not depend on the number of edits.
        self.ranks.reserve_exact(Edits::MANY.saturating_sub(self.ranks.len()));
        self.ranks.push((rank, group));
        if self.ranks.len() > Edits::MANY + 2 * entries {
            self.rewrite();
        }
    }

    /// The same for a link.
    fn add_link(&mut self, link: LinkId) {
        if self.is_rewritten {
            return;
        }
        self.links.reserve_exact(Edits::MANY.saturating_sub(self.links.len()));
        self.links.push(link);
        if self.links.len() == Edits::MANY {
            self.rewrite();
        }
    }

    fn rewrite(&mut self) {
        self.is_rewritten = true;
        self.clear();
    }

    fn clear(&mut self) {
        self.ranks.clear();
        self.links.clear();
    }
}

/// A plan of a policy with knowledge `K`.
///
/// A policy may write its plan again each time: [`Plan::clear`], then [`Plan::push`] for each
/// entry. Or it keeps the plan and edits it, by [`Plan::insert`] and [`Plan::remove`]. The cost of
/// a round then depends on the number of edits, not on the number of coflows present. A plan keeps
/// its memory, so that writing it allocates nothing after warm-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<K> {
    ranking: Ranking,
    edits: Edits,
    wakes: Wakes,
    knowledge: PhantomData<K>,
}

impl<K> Default for Plan<K> {
    fn default() -> Self {
        Plan {
            ranking: Ranking::default(),
            edits: Edits::default(),
            wakes: Wakes::default(),
            knowledge: PhantomData,
        }
    }
}

impl<K: Knowledge> Plan<K> {
    /// Empties the plan: one strict layer, no backfill, no wake-ups.
    pub fn clear(&mut self) {
        self.ranking.entries.clear();
        self.ranking.weights.clear();
        self.ranking.link_shares.clear();
        self.ranking.layers = Layers::Strict;
        self.ranking.backfill = Backfill::None;
        self.ranking.compressions.clear();
        self.ranking.compress_all = None;
        self.ranking.is_kept = false;
        self.ranking.tenants.clear();
        self.wakes.clear();
        self.edits.rewrite();
    }

    /// Writes the plans of tenants. Wake-ups stay.
    pub(crate) fn write_tenants(&mut self, plans: impl Iterator<Item = TenantPlan>) {
        let mut all = Ranking::default();
        for (tenant, mut plan) in (0..).zip(plans) {
            // Allocators of tenants begin from nothing in each round.
            plan.ranking.is_kept = false;
            let TenantPlan { ranking, .. } = &plan;
            let first = all.compressions.len() as u16;
            for (place, (_, entry)) in (0..).zip(ranking.entries.iter()) {
                let compressed = entry.compressed.map(|k| first + k);
                let rank = Rank::at_place(0, [tenant, place]);
                all.entries.push(rank, Entry { compressed, ..*entry });
            }
            all.compressions.extend_from_slice(&ranking.compressions);
            all.compress_all = all.compress_all.or(ranking.compress_all);
            all.tenants.push(plan);
        }
        self.ranking = all;
        self.edits.rewrite();
    }

    /// Adds a group behind all others, in the layer opened last. A flow that two groups name gets
    /// what both give.
    pub fn push(&mut self, group: Group, share: Share<K>) {
        if self.ranking.weights.is_empty() {
            self.ranking.weights.push(1.0);
        }
        let layer = self.ranking.weights.len() as u32 - 1;
        let rank = Rank::at_place(layer, [self.ranking.entries.len() as u64, 0]);
        self.ranking.entries.push(rank, self.entry(group, share, layer));
        self.edits.rewrite();
    }

    fn entry(&self, group: Group, share: Share<K>, layer: u32) -> Entry {
        let compressed = self.ranking.compressions.len().checked_sub(1).map(|last| last as u16);
        Entry { group, rule: share.rule, layer, compressed }
    }

    /// Puts a group at a rank of a plan that is kept. It replaces a group that has this rank.
    pub fn insert(&mut self, rank: Rank, group: Group, share: Share<K>) {
        self.ranking.is_kept = true;
        let layers = self.ranking.weights.len().max(rank.layer() as usize + 1);
        self.ranking.weights.resize(layers, 1.0);
        let entry = self.entry(group, share, rank.layer());
        let entries = &mut self.ranking.entries;
        match entries.insert(rank, entry) {
            Some(before) if before == entry => return,
            Some(before) => self.edits.add(rank, before.group, entries.len()),
            None => {}
        }
        self.edits.add(rank, group, entries.len());
    }

    /// Removes the group with this rank from a plan that is kept.
    pub fn remove(&mut self, rank: Rank) {
        if let Some(entry) = self.ranking.entries.remove(&rank) {
            self.edits.add(rank, entry.group, self.ranking.entries.len());
        }
    }

    /// Sets the weight of a layer in a plan that is kept; it is 1 unless set.
    pub fn set_weight(&mut self, layer: u32, weight: f64) {
        let weights = &mut self.ranking.weights;
        weights.resize(weights.len().max(layer as usize + 1), 1.0);
        if std::mem::replace(&mut weights[layer as usize], weight) != weight {
            self.edits.rewrite();
        }
    }

    /// Forgets the times asked for, in a plan that is kept.
    pub fn clear_times(&mut self) {
        self.wakes.clear_times();
    }

    /// Forgets the wake-ups for bytes of a sender, in a plan that is kept. For a coflow, also those
    /// for its bytes through links.
    pub fn clear_wakes_of(&mut self, sender: Sender) {
        self.wakes.clear_of(sender);
    }

    /// Asks for a wake-up at a number of bytes, in a plan that is kept. It replaces all wake-ups
    /// for bytes of the same sender.
    pub fn wake_instead(&mut self, wake: Wake) {
        self.wakes.ask_instead(wake);
    }

    /// For drivers: the ranks at which groups have come or gone since [`Plan::clear_edits`]; `None`
    /// if the plan was written again.
    pub fn edits(&self) -> Option<&[(Rank, Group)]> {
        (!self.edits.is_rewritten).then_some(&self.edits.ranks)
    }

    /// For drivers: the links that are divided in another way since [`Plan::clear_edits`], if
    /// [`Plan::edits`] are known. One may occur more than once.
    pub fn divided_links(&self) -> &[LinkId] {
        &self.edits.links
    }

    /// For drivers: the allocator has been notified of the [`Plan::edits`].
    pub fn clear_edits(&mut self) {
        self.edits.is_rewritten = false;
        self.edits.clear();
    }

    /// Has the flows of the groups that are added from now on compressed. If a host's processor is
    /// not enough for all of them, it serves coflows in the order of their first entries.
    pub fn compress(&mut self, compress: Compress<K>) {
        if self.ranking.compressions.last() != Some(&compress.compression()) {
            self.ranking.compressions.push(compress.compression());
        }
    }

    /// Has the flows of all groups of the plan compressed.
    pub fn compress_all(&mut self, compress: Compress<K>) {
        self.ranking.compress_all = Some(compress.compression());
    }

    /// Opens a layer behind all others. `weight` counts if layers are [`Layers::Weighted`].
    pub fn open_layer(&mut self, weight: f64) {
        self.ranking.weights.push(weight);
    }

    /// Sets how layers share the links.
    pub fn set_layers(&mut self, layers: Layers) {
        if std::mem::replace(&mut self.ranking.layers, layers) != layers {
            self.edits.rewrite();
        }
    }

    /// Reserves a `share` (from 0 to 1) of a link for a coflow, under [`Layers::PerPort`]. More
    /// shares of the same coflow add up.
    pub fn set_link_share(&mut self, coflow: CoflowId, link: LinkId, share: f64) {
        self.ranking.link_shares.add(link, (coflow, share));
        self.edits.rewrite();
    }

    /// Replaces all shares of a link, in a plan that is kept.
    pub fn divide_link(&mut self, link: LinkId, shares: &[(CoflowId, f64)]) {
        if self.ranking.link_shares.replace(link, shares) {
            self.edits.add_link(link);
        }
    }

    /// Sets what becomes of capacity that no entry has taken.
    pub fn set_backfill(&mut self, backfill: Backfill) {
        if std::mem::replace(&mut self.ranking.backfill, backfill) != backfill {
            self.edits.rewrite();
        }
    }

    /// Asks to be told when `time` has come. Wake-ups belong to the plan: [`Plan::clear`] forgets
    /// them.
    pub fn wake_at(&mut self, time: Time) {
        self.wakes.ask(Wake::At(time));
    }

    /// Asks to be told when the coflow has sent `bytes` in all.
    pub fn wake_when_sent(&mut self, coflow: CoflowId, bytes: f64) {
        self.wakes.ask(Wake::WhenSent(coflow, bytes));
    }

    /// Asks to be told when all coflows of the DAG with this external id
    /// ([`Lineage`](crate::Lineage)) have sent `bytes` together, those that have ended included.
    pub fn wake_when_dag_sent(&mut self, external: u64, bytes: f64) {
        self.wakes.ask(Wake::WhenDagSent(external, bytes));
    }

    /// Asks to be told when any flow of the coflow, ended ones included, has sent `bytes`.
    pub fn wake_when_flow_sent(&mut self, coflow: CoflowId, bytes: f64) {
        self.wakes.ask(Wake::WhenFlowSent(coflow, bytes));
    }

    /// Asks to be told when `bytes` of the coflow have passed a link in all, those of flows that
    /// have ended included. What a flow has sent counts in the group that it
    /// [joins](crate::Regrouping), too. That never comes for a link that the coflow does not use.
    /// In a live coordinator it never comes at all, because agents do not report by link; there,
    /// [`Policy::link_thresholds`](crate::Policy::link_thresholds) tells of bytes through the links
    /// of hosts.
    pub fn wake_when_passed(&mut self, coflow: CoflowId, link: LinkId, bytes: f64) {
        self.wakes.ask(Wake::WhenPassed(coflow, link, bytes));
    }

    /// The part that decides rates.
    pub fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// The wake-ups asked for.
    pub fn wakes(&self) -> &Wakes {
        &self.wakes
    }

    /// For drivers: the wake-ups asked for, to take those that have come.
    pub fn wakes_mut(&mut self) -> &mut Wakes {
        &mut self.wakes
    }
}
