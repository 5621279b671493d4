//! What can be wrong with a plan.

use thiserror::Error;

use covey_core::{CoflowId, LinkId};

/// Why a plan cannot be carried out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// An explicit rate does not fit.
    #[error("asks for {asked} bytes/s on link {} of which {free} bytes/s are free", link.0)]
    Overbooked {
        /// The link.
        link: LinkId,
        /// Rate asked for, bytes per second.
        asked: f64,
        /// What entries before it leave, bytes per second.
        free: f64,
    },
    /// A coflow has two entries of its own.
    #[error("names coflow {} twice", .0.0)]
    Twice(CoflowId),
    /// A coflow is not present.
    #[error("names coflow {}, which is not present", .0.0)]
    Absent(CoflowId),
    /// [`Group::AllFlows`](covey_core::Group::AllFlows) stands beside other entries, or with a rule
    /// that is not for it.
    #[error(
        "serves all flows by an entry that is not its only one, or has a rule other than max-min, by size or an order of flows"
    )]
    AllFlows,
    /// An entry of a class has another rule than max-min.
    #[error("asks for a rule other than max-min in a class")]
    RuleInAClass,
    /// A flow order is asked for less than all flows.
    #[error("orders flows within a subset: flow orders are valid for all flows only")]
    FlowOrderOfAPart,
    /// Shares by size are asked for less than all flows.
    #[error("asks for shares by size for less than all flows")]
    BySizeOfAPart,
    /// Shares by bytes left are asked for less than a whole coflow.
    #[error("asks for shares by bytes left for less than a whole coflow")]
    BytesLeftOfAPart,
    /// Parts of a link are less than nothing, more than the link, or of a link that does not exist.
    #[error("gives away {share} of link {}: expected from 0 to 1 in sum", link.0)]
    LinkShare {
        /// The link.
        link: LinkId,
        /// What is given away, in capacities of the link.
        share: f64,
    },
    /// Ports divide their links, and an entry is for less than a whole coflow.
    #[error("serves less than a whole coflow, though ports divide their links among whole coflows")]
    PartPerPort,
    /// The weight of a layer is not a finite number above zero.
    #[error("gives a layer the weight {0}: expected a finite number above zero")]
    Weight(f64),
    /// The weight of a tenant is not a finite number above zero.
    #[error("gives a tenant the weight {0}: expected a finite number above zero")]
    TenantWeight(f64),
    /// The plan of a tenant serves flows in order of their starts.
    #[error(
        "serves all flows in order of their starts, which are not known where tenants share the network; fifo \
         serves coflows in order"
    )]
    StartsOfATenant,
}
