//! The vocabulary of coflow scheduling: what policies, allocators and both worlds talk about.
//!
//! A *coflow* is the group of flows of one communication stage; it is over only when its last flow
//! is. A [`Policy`] ranks coflows; it is a state machine that is told events and answers with a
//! [`Plan`]. An allocator (crate `covey-alloc`) turns the plan into rates. The driver of the two
//! keeps the facts in a [`State`](state::State) and shows them to the policy through a [`View`],
//! which grants only what the policy may know.
//!
//! ```text
//!   driver ── events ──▶ Policy ── Plan ──▶ allocator ── rates ──▶ driver
//!      └──── State ── View ──┘                  ▲
//!              └────────── Demand ──────────────┘
//! ```
//!
//! Units: times are seconds ([`Time`]), sizes bytes (`f64`, they may be fractional), rates bytes
//! per second. This crate does no I/O, reads no clock, and draws random numbers only from a
//! given seed.
//!
//! # Rooms
//!
//! - `values`: numbers of things, times, quantities with units.
//! - [`sets`]: sets and maps of numbers that keep their memory, and loops over rows of numbers.
//! - `fabric`: networks, their links and capacities, and the paths of flows.
//! - [`demand`]: the flows of a coflow by the links that they use.
//! - [`state`]: the facts about the coflows that are present.
//! - `compression`: codecs, and what they make of the bytes that links carry.
//! - `plan`: a policy's answer, and the wake-ups that it asks for.
//! - `policy`: the policy traits, their events, and views.
//! - `tenants`: a policy for each tenant.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod compression;
pub mod demand;
mod fabric;
mod plan;
mod policy;
pub mod sets;
pub mod state;
mod tenants;
mod values;

pub use compression::codec::{CODECS, Codec, Compress, Compression};
pub use compression::compressed::Compressed;
pub use demand::Demand;
pub use fabric::{
    BigSwitch, Ecmp, EcmpMode, Fabric, FabricError, FatTree, Graph, GraphParts, LeafSpine, Routes,
    Topology,
};
pub use plan::link_shares::LinkShares;
pub use plan::wakes::{Sender, Wake, WakeId, Wakes};
pub use plan::{Backfill, Entry, Group, Layers, Plan, Rank, Ranking, Rule, Share, TenantPlan};
pub use policy::confidence::Confidence;
pub use policy::criterion::{Criterion, Unit};
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
pub use values::optional_index::OptionalIndex;
pub use values::ordered::Ordered;
pub use values::rounding::rounded_bytes;
pub use values::split_mix::SplitMix;
pub use values::time::Time;
pub use values::{suggest, units};
