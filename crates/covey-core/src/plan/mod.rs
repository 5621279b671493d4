//! A policy's answer: which flows are served, in what order, and by which rule flows share what their
//! group gets.
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

use std::marker::PhantomData;

use crate::codec::{Compress, Compression};
use crate::ids::{CoflowId, FlowId, LinkId};
use crate::knowledge::{Clairvoyant, Knowledge};
use crate::link_shares::LinkShares;
use crate::ordered::in_order;
use crate::sorted::Sorted;
use crate::time::Time;
use crate::wakes::{Sender, Wake, Wakes};

/// Which flows an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Every flow present, of whatever coflow; must be the only entry of its plan.
    AllFlows,
    /// All flows of a coflow.
    Coflow(CoflowId),
    /// The flows of a coflow that cross one link: with a port's egress or ingress link, the coflow
    /// at that port.
    CoflowAt(CoflowId, LinkId),
    /// A single flow.
    Flow(FlowId),
}

/// How the flows of a group share what the groups before it leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Exact max-min fairness: [`Share::MAX_MIN`].
    MaxMin,
    /// One pass of equal shares: [`Share::EQUAL`].
    Equal,
    /// One rate for all flows, or nothing: [`Share::ALL_OR_NONE`].
    AllOrNone,
    /// One flow at a time takes its links: [`Share::MATCHING`].
    Matching,
    /// A matching, most loaded ports first: [`Share::MATCHING_BY_LOAD`].
    MatchingByLoad,
    /// All flows end together: [`Share::MADD`].
    Madd,
    /// All flows end together after so many seconds: [`Share::madd_within`].
    MaddWithin(f64),
    /// Max-min fairness in proportion to bytes left: [`Share::PROPORTIONAL`].
    Proportional,
    /// Links are divided in proportion to sizes: [`Share::BY_SIZE`].
    BySize,
    /// Flows in order of their starts: [`Share::OLDEST_FIRST`].
    OldestFirst,
    /// Flows with fewest bytes left first: [`Share::SHORTEST_FIRST`].
    ShortestFirst,
    /// A rate for each flow, in bytes per second: [`Share::rate`].
    Rate(f64),
    /// Nothing: [`Share::HOLD`].
    Hold,
}

/// A [`Rule`] that a policy with knowledge `K` may ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share<K> {
    rule: Rule,
    knowledge: PhantomData<K>,
}

impl<K> Share<K> {
    const fn of(rule: Rule) -> Share<K> {
        Share { rule, knowledge: PhantomData }
    }

    /// Exact max-min fairness among the flows of the group.
    pub const MAX_MIN: Share<K> = Share::of(Rule::MaxMin);
    /// One pass of equal shares. At each link a flow is offered what is free there, divided by the
    /// number of the group's flows there that can send at all. It gets the least of these offers.
    pub const EQUAL: Share<K> = Share::of(Rule::Equal);
    /// The same rate for every flow, the largest that fits; nothing if a link that the group
    /// needs is full (Saath). It is the rate of the slowest flow under max-min fairness (Philae §4.5).
    pub const ALL_OR_NONE: Share<K> = Share::of(Rule::AllOrNone);
    /// One flow at a time takes all that is free on its links; flows that are running go first.
    pub const MATCHING: Share<K> = Share::of(Rule::Matching);
    /// As [`Share::MATCHING`], with the ports that have most flows left first: senders by their
    /// number of unfinished flows, and each sender to the receiver with most of them.
    pub const MATCHING_BY_LOAD: Share<K> = Share::of(Rule::MatchingByLoad);
    /// Each flow takes all that is free on its links. Flows go in order of their starts, ties in order of
    /// the arrival of their coflows and of their registration. For [`Group::AllFlows`].
    pub const OLDEST_FIRST: Share<K> = Share::of(Rule::OldestFirst);
    /// Nothing, not even by backfill.
    pub const HOLD: Share<K> = Share::of(Rule::Hold);

    /// Exactly this rate, in bytes per second, for each flow of the group. A rate that does not fit
    /// is an error of the policy.
    pub const fn rate(bytes_per_s: f64) -> Share<K> {
        Share::of(Rule::Rate(bytes_per_s))
    }
}

impl Share<Clairvoyant> {
    /// Minimum allocation for desired duration: rates in proportion to bytes left, so that all
    /// flows end together and no earlier than the bottleneck allows (Varys §5.2). A coflow gets
    /// nothing if a link it needs is full.
    pub const MADD: Share<Clairvoyant> = Share::of(Rule::Madd);
    /// Max-min fairness in proportion to bytes left: as [`Share::MADD`], but a flow that misses the
    /// bottleneck takes what its own links have left, and so on from bottleneck to bottleneck.
    /// Nothing that the coflow could use stays idle, and flows with the same bottleneck end together.
    pub const PROPORTIONAL: Share<Clairvoyant> = Share::of(Rule::Proportional);
    /// Each link is divided in proportion to the flows' sizes: at each link a flow is offered the
    /// capacity times its size, divided by the sizes of all flows there. It gets the least of these
    /// offers. Capacity that a flow cannot use stays idle. For [`Group::AllFlows`].
    pub const BY_SIZE: Share<Clairvoyant> = Share::of(Rule::BySize);
    /// Each flow takes all that is free on its links. Flows go in order of bytes left, fewest first,
    /// ties as with [`Share::OLDEST_FIRST`]. For [`Group::AllFlows`].
    pub const SHORTEST_FIRST: Share<Clairvoyant> = Share::of(Rule::ShortestFirst);

    /// As [`Share::MADD`], but no faster than is needed for all flows to end after so many seconds,
    /// counted from when rates are shared; the rest is left to others (Varys §5.3). A policy that
    /// asks for this rule writes its plan again whenever a flow starts or ends.
    pub const fn madd_within(seconds: f64) -> Share<Clairvoyant> {
        Share::of(Rule::MaddWithin(seconds))
    }
}

/// How the layers of a plan share the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layers {
    /// A layer gets what the layers before it leave.
    #[default]
    Strict,
    /// At each link, a layer gets a share of the remaining capacity: its weight, divided by the sum of
    /// the weights of this layer and of the later layers with flows there. The last of them gets all
    /// that remains. So each layer is offered at least its weight's share of the link. Capacity that a layer
    /// cannot use goes to the layers after it, and by [`Backfill`] to those before it.
    Weighted,
    /// Each node has divided its links among coflows ([`Plan::set_link_share`]): a port its two links, a switch
    /// the links that leave it. A coflow is served from its own shares alone, so that a flow gets no more than
    /// every link of its path gives it. Capacity that is not used in this way is offered to all coflows in
    /// order, whatever [`Backfill`] says. All entries are
    /// for whole coflows.
    PerPort,
    /// Each layer is a class, as a queue of a switch is: all flows of its groups share max-min together, flow
    /// by flow, on every link of their paths. A class gets what the classes before it leave. Every rule is
    /// [`Share::MAX_MIN`]. A flow belongs to the first entry that names it; a flow that no entry names gets
    /// nothing. [`Backfill`] is not needed: max-min fairness leaves nothing that a flow could use.
    Classes,
}

/// What becomes of capacity that no entry has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backfill {
    /// It stays idle.
    #[default]
    None,
    /// It is offered to all coflow entries in order. Each shares again what it has together with what
    /// is left, so that nothing it could use stays idle: by [`Share::PROPORTIONAL`] after MADD, by
    /// [`Share::MAX_MIN`] after [`Share::EQUAL`] and [`Share::ALL_OR_NONE`] (by [`Share::MATCHING`]
    /// where all-or-none has given nothing), else by its own rule. No flow of MADD or of equal rates
    /// gets less by it. Coflows that matching has served, explicit rates and held coflows stay as
    /// they are.
    Greedy,
    /// The same, but only coflow entries that have got nothing are offered it.
    Skipped,
}

/// One line of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The flows that are served.
    pub group: Group,
    /// How the group's flows share.
    pub rule: Rule,
    /// Number of its layer, from 0; also its class in a world that has only priorities.
    pub layer: u32,
    /// How its flows are compressed: an index of [`Ranking::compressions`].
    pub compressed: Option<u16>,
}

/// Where an entry stands in its plan: entries are served in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Rank {
    layer: u32,
    /// Keys, as whole numbers of the same order.
    keys: [u64; 2],
    /// When the coflow arrived, as a whole number of the same order. It breaks ties of keys.
    arrival: u64,
    /// The coflow's place in the trace. It breaks ties of arrivals.
    seq: u64,
    /// A number among entries of one coflow.
    number: u32,
}

impl Rank {
    /// A rank in a layer, counted from 0, by `key`, least first; ties by the coflow's
    /// [order](crate::View::order).
    pub fn new(layer: u32, key: f64, (arrival, seq): (Time, u64)) -> Rank {
        let keys = [in_order(key), 0];
        Rank { layer, keys, arrival: arrival.as_key(), seq, number: 0 }
    }

    /// A rank in a layer by two whole numbers instead of a key.
    pub fn of_numbers(layer: u32, keys: [u64; 2], (arrival, seq): (Time, u64)) -> Rank {
        Rank { layer, keys, arrival: arrival.as_key(), seq, number: 0 }
    }

    /// The same rank, with a `number` that orders entries of one coflow, least first.
    #[must_use]
    pub fn numbered(self, number: u32) -> Rank {
        Rank { number, ..self }
    }

    /// Number of its layer.
    pub fn layer(&self) -> u32 {
        self.layer
    }
}

/// The part of a plan that decides rates: entries in order of precedence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// The entries, in the order in which they are served.
    pub entries: Sorted<Rank, Entry>,
    /// Weight of each layer that has entries.
    pub weights: Vec<f64>,
    /// How layers share.
    pub layers: Layers,
    /// Shares of links, under [`Layers::PerPort`].
    pub link_shares: LinkShares,
    /// What becomes of capacity that no entry has taken.
    pub backfill: Backfill,
    /// The ways to compress to which [`Entry::compressed`] refers.
    pub compressions: Vec<Compression>,
    /// How the flows of all entries are compressed; overrides [`Entry::compressed`].
    pub compress_all: Option<Compression>,
    /// Whether entries keep their ranks from plan to plan ([`Plan::insert`]).
    pub is_kept: bool,
    /// The plans of tenants, by [`TenantId`](crate::TenantId), if links are divided among tenants. They decide rates
    /// then; `entries` are those of all of them, tenant by tenant.
    pub tenants: Vec<TenantPlan>,
}

/// The plan of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantPlan {
    /// Weight of the tenant, where tenants divide a link.
    pub weight: f64,
    /// The plan for the tenant's coflows.
    pub ranking: Ranking,
}

impl Ranking {
    /// Whether any coflow is to be compressed.
    pub fn compresses(&self) -> bool {
        self.compress_all.is_some() || !self.compressions.is_empty()
    }

    /// The coflows that are to be compressed, of those `present`, and how, in the order in which hosts serve
    /// them. If a coflow is named more than once, the first entry counts.
    pub fn compressed<'a>(
        &'a self,
        present: &'a [CoflowId],
    ) -> impl Iterator<Item = (CoflowId, Compression)> + 'a {
        let all = self.compress_all;
        self.entries.iter().flat_map(move |(_, entry)| {
            let own = || entry.compressed.map(|k| self.compressions[k as usize]);
            let compression = all.or_else(own);
            let (all, one) = match entry.group {
                Group::AllFlows => (present, None),
                Group::Coflow(id) | Group::CoflowAt(id, _) => (&[][..], Some(id)),
                Group::Flow(flow) => (&[][..], Some(flow.coflow)),
            };
            // Flows that share one rate cannot be told apart while they are sent.
            let overlaps = one.is_some();
            let compression =
                compression.map(|c| Compression { overlap: c.overlap && overlaps, ..c });
            let ids = all.iter().copied().chain(one);
            ids.filter_map(move |id| compression.map(|compression| (id, compression)))
        })
    }
}

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
/// A policy may write its plan again each time: [`Plan::clear`], then [`Plan::push`] for each entry. Or it
/// keeps the plan and edits it, by [`Plan::insert`] and [`Plan::remove`]. The cost of a round then depends
/// on the number of edits, not on the number of coflows present. A plan keeps its memory, so that writing
/// it allocates nothing after warm-up.
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
                let rank = Rank { keys: [tenant, place], ..Rank::default() };
                all.entries.push(rank, Entry { compressed, ..*entry });
            }
            all.compressions.extend_from_slice(&ranking.compressions);
            all.compress_all = all.compress_all.or(ranking.compress_all);
            all.tenants.push(plan);
        }
        self.ranking = all;
        self.edits.rewrite();
    }

    /// Adds a group behind all others, in the layer opened last.
    pub fn push(&mut self, group: Group, share: Share<K>) {
        if self.ranking.weights.is_empty() {
            self.ranking.weights.push(1.0);
        }
        let layer = self.ranking.weights.len() as u32 - 1;
        let rank = Rank { layer, keys: [self.ranking.entries.len() as u64, 0], ..Rank::default() };
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
        let layers = self.ranking.weights.len().max(rank.layer as usize + 1);
        self.ranking.weights.resize(layers, 1.0);
        let entry = self.entry(group, share, rank.layer);
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

    /// Forgets the numbers of bytes of a sender that were asked for, in a plan that is kept. Those of a coflow include
    /// the ones through links.
    pub fn clear_wakes_of(&mut self, sender: Sender) {
        self.wakes.clear_of(sender);
    }

    /// Asks to be told of a number of bytes instead of all that was asked for of the same sender, in a plan that is
    /// kept.
    pub fn wake_instead(&mut self, wake: Wake) {
        self.wakes.ask_instead(wake);
    }

    /// For drivers: the ranks at which groups have come or gone since [`Plan::clear_edits`]; `None` if the
    /// plan was written again.
    pub fn edits(&self) -> Option<&[(Rank, Group)]> {
        (!self.edits.is_rewritten).then_some(&self.edits.ranks)
    }

    /// For drivers: the links that are divided in another way since [`Plan::clear_edits`], if [`Plan::edits`] are
    /// known. One may occur more than once.
    pub fn divided_links(&self) -> &[LinkId] {
        &self.edits.links
    }

    /// For drivers: the allocator has been notified of the [`Plan::edits`].
    pub fn clear_edits(&mut self) {
        self.edits.is_rewritten = false;
        self.edits.clear();
    }

    /// Has the flows of the groups that are added from now on compressed. If a host's processor is not
    /// enough for all of them, it serves coflows in the order of their first entries.
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

    /// Reserves a `share` (from 0 to 1) of a link for a coflow, under [`Layers::PerPort`]. More shares of the same
    /// coflow add up.
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

    /// Asks to be told when `time` has come. Wake-ups belong to the plan: [`Plan::clear`] forgets them.
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

    /// Asks to be told when `bytes` of the coflow have passed a link in all, those of flows that have ended
    /// included. What a flow has sent counts in the group that it [joins](crate::Regrouping), too. That never
    /// comes for a link that the coflow does not use. In a live coordinator it never comes at all, because agents
    /// do not report by link; there, [`Policy::link_limits`](crate::Policy::link_limits) tells of bytes through
    /// the links of hosts.
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
