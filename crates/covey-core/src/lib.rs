//! The vocabulary of coflow scheduling, and the allocators that turn a policy's plan into rates.
//!
//! A *coflow* is the group of flows of one communication stage; it is over only when its last flow
//! is. A [`Policy`] ranks coflows; it is a state machine that is told events and answers with a
//! [`Plan`]. An [`Allocator`](alloc::Allocator) turns the plan into rates. The driver of the two
//! (a simulator, a coordinator of real hosts) keeps the facts in a [`State`](state::State) and
//! shows them to the policy through a [`View`], which grants only what the policy may know.
//!
//! ```text
//!   driver ── events ──▶ Policy ── Plan ──▶ Allocator ── rates ──▶ driver
//!      └──── State ── View ──┘                  ▲
//!              └────────── Demand ──────────────┘
//! ```
//!
//! Units: times are seconds ([`Time`]), sizes bytes (`f64`, they may be fractional), rates bytes
//! per second. This crate does no I/O, reads no clock, and draws random numbers only from a
//! given seed.

pub mod alloc;
mod compression;
mod demand;
mod driver;
mod fabric;
mod plan;
mod policy;
mod sets;
pub mod state;
mod tenants;
mod values;

// The names by which `alloc` knows these.
use plan::link_shares;
use policy::knowledge;
use sets::{bits, link_set, marked_links, simd};
#[cfg(test)]
use values::split_mix;
use values::{ids, ordered, rounding, time};

pub use compression::codec::{CODECS, Codec, Compress, Compression};
pub use compression::compressed::Compressed;
pub use demand::Demand;
pub use driver::Driver;
pub use driver::traffic::Traffic;
pub use driver::world::{Change, World};
pub use fabric::{
    BigSwitch, Ecmp, EcmpMode, Fabric, FabricError, FatTree, Graph, GraphParts, LeafSpine, Routes,
    Topology,
};
pub use plan::link_shares::LinkShares;
pub use plan::wakes::{Sender, Wake, WakeId, Wakes};
pub use plan::{Backfill, Entry, Group, Layers, Plan, Rank, Ranking, Rule, Share, TenantPlan};
pub use policy::confidence::Confidence;
pub use policy::event::Event;
pub use policy::knowledge::{Clairvoyant, Knowledge, Named, NonClairvoyant, Unlabelled};
pub use policy::local::{LocalPolicy, LocalView, NodeId, NodeLink, Outbox, Seen};
pub use policy::nearest::Nearest;
pub use policy::promises::Promises;
pub use policy::regrouping::{Destination, Member, OwnGroup, Regrouping};
pub use policy::view::{PortLoad, Reported, View};
pub use policy::{Answer, AnyPolicy, Policy, Wants};
pub use sets::bits::BitSet;
pub use sets::link_bits::{LinkBits, LinkWord};
pub use sets::link_set::LinkSet;
pub use sets::simd::{min_by_lane, minimum, positions_where};
pub use sets::sorted;
pub use state::lineage::{self, Lineage};
pub use state::{Address, Attempts, Observed, Remaining};
pub use tenants::for_each::for_each_tenant;
pub use tenants::weights::TenantWeights;
pub use values::ids::{CoflowId, FlowId, LinkId, PortId, TenantId};
pub use values::ordered::Ordered;
pub use values::rounding::rounded_bytes;
pub use values::split_mix::SplitMix;
pub use values::time::Time;
pub use values::{suggest, units};
