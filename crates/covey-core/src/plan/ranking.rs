//! Entries in order of precedence.

use super::entry::{Backfill, Entry, Group, Layers};
use super::link_shares::LinkShares;
use crate::compression::codec::Compression;
use crate::sets::sorted::Sorted;
use crate::values::ids::CoflowId;
use crate::values::ordered::in_order;
use crate::values::time::Time;

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

    /// The rank of an entry whose place nothing but its keys decides.
    pub(super) fn at_place(layer: u32, keys: [u64; 2]) -> Rank {
        Rank { layer, keys, ..Rank::default() }
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
    /// Whether entries keep their ranks from plan to plan ([`Plan::insert`](crate::Plan::insert)).
    pub is_kept: bool,
    /// The plans of tenants, by [`TenantId`](crate::TenantId), if links are divided among tenants.
    /// They decide rates then; `entries` are those of all of them, tenant by tenant.
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

    /// The coflows that are to be compressed, of those `present`, and how, in the order in which
    /// hosts serve them. If a coflow is named more than once, the first entry counts.
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
