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
mod attempts;
mod bits;
mod clone_in_place;
mod codec;
mod compressed;
mod confidence;
mod demand;
mod driver;
mod erased_policy;
mod event;
mod fabric;
mod ids;
mod knowledge;
pub mod lineage;
mod link_bits;
mod link_set;
mod link_shares;
mod local;
mod marked_links;
mod nearest;
mod observed;
mod ordered;
mod plan;
mod policy;
mod promises;
mod regrouping;
mod remaining;
mod rounding;
mod simd;
pub mod sorted;
mod split_mix;
pub mod state;
pub mod suggest;
mod tenant_weights;
mod tenants;
mod time;
mod traffic;
pub mod units;
mod view;
mod wakes;
mod world;

pub use attempts::Attempts;
pub use bits::BitSet;
pub use codec::{CODECS, Codec, Compress, Compression};
pub use compressed::Compressed;
pub use confidence::Confidence;
pub use demand::Demand;
pub use driver::Driver;
pub use event::Event;
pub use fabric::{
    BigSwitch, Ecmp, EcmpMode, Fabric, FabricError, FatTree, Graph, GraphParts, LeafSpine, Routes,
    Topology,
};
pub use ids::{CoflowId, FlowId, LinkId, PortId, TenantId};
pub use knowledge::{Clairvoyant, Knowledge, Named, NonClairvoyant, Unlabelled};
pub use lineage::Lineage;
pub use link_bits::{LinkBits, LinkWord};
pub use link_set::LinkSet;
pub use link_shares::LinkShares;
pub use local::{LocalPolicy, LocalView, NodeId, NodeLink, Outbox, Seen};
pub use nearest::Nearest;
pub use observed::{Address, Observed};
pub use ordered::Ordered;
pub use plan::{Backfill, Entry, Group, Layers, Plan, Rank, Ranking, Rule, Share, TenantPlan};
pub use policy::{Answer, AnyPolicy, Policy, Wants};
pub use promises::Promises;
pub use regrouping::{Destination, Member, OwnGroup, Regrouping};
pub use remaining::Remaining;
pub use rounding::rounded_bytes;
pub use simd::{min_by_lane, minimum, positions_where};
pub use split_mix::SplitMix;
pub use tenant_weights::TenantWeights;
pub use tenants::for_each_tenant;
pub use time::Time;
pub use traffic::Traffic;
pub use view::{PortLoad, Reported, View};
pub use wakes::{Sender, Wake, WakeId, Wakes};
pub use world::{Change, World};
