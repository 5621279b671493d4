//! From a plan to rates, and the driver that does so round by round.
//!
//! [`reference`](mod@reference) defines what a plan means, flow by flow and without regard for
//! speed. An [`Allocator`] decides the same at the cost of what has changed, and a [`Driver`] runs
//! a policy with it, in simulation and live alike.
//!
//! # Mathematics
//!
//! A plan is a list of entries; each names flows and a sharing rule. Let c be the capacities of the
//! links. The first entry shares c among its flows. Each later entry shares what the entries before
//! it leave: if entry i gives rate r_f to each of its flows f, then c_(i+1) = c_i − Σ r_f over its
//! flows on each link. So a plan in strict order has one result (only matching also depends on
//! which flows run already). A flow that two entries name gets what both give; in classes, which
//! share among all flows at once, the first entry counts alone. Layers with weights and ports that
//! divide their links change only what an entry is offered.
//!
//! Rules differ in how they give r. The most frequent is max-min fairness. It gives each link a
//! *water level*: as if all flows on the link were vessels that are filled to the same height,
//! unless another link stops a flow earlier. A flow's rate is the least level on its path. MADD
//! gives every flow of a coflow the same time to its end instead.
//!
//! # Example
//!
//! Three ports with links of 1 byte/s. Coflow A has the flows 1→2 and 1→3, with 1 byte each; coflow
//! B has the flow 2→3 with 1 byte. The plan serves A and then B, both max-min.
//!
//! - A: two flows share the egress link of port 1, so its level is 1/2, and both flows get 1/2
//!   byte/s. Left are 0 at that link, and 1/2 at the ingress links of ports 2 and 3.
//! - B: its flow finds 1 at the egress link of port 2 and 1/2 at the ingress link of port 3, so it
//!   gets 1/2 byte/s.
//!
//! # Terms
//!
//! - *Allocation pass* (or pass): one way through the entries of a plan, in order. There is one in
//!   each scheduling round.
//! - *Free* at a link: the capacity that the entries so far have left.
//! - *Dirty* link: another amount is free than at the same point of the previous pass. An entry
//!   whose flows have not changed and whose links are not dirty keeps its rates. So a round costs
//!   little where it changes little.
//! - *Open* link: more than a negligible amount is free.
//! - *Backfill*: after the pass, the coflows are offered in the same order what all entries
//!   together have left. Until then their rates are *provisional*.
//! - *From scratch*: a pass that knows nothing of the order of entries before it. *From nothing*: a
//!   decision that goes on from none before it.
//! - *Idle* coflow: none of its flows can be sent. It is *asleep* if passes only look at its bits,
//!   and *waits* if passes by *steps* do not come to it before one of some links opens.
//! - *Local* link: a link by its number within a coflow's [`Demand`](covey_core::Demand).
//!
//! The result for a coflow is a [`CoflowAllocation`]: a flow's rate is
//!
//! > least water level of its links + (bytes left when that was decided) × (least level of its
//! > links, by bytes left) + its single rates
//!
//! where an entry for a coflow contributes one of the first two, or single rates, according to its
//! rule.
//!
//! # Cost
//!
//! | operation | costs |
//! |---|---|
//! | an entry whose flows and links have not changed | one look at the words of its set of links, also if it sleeps; nothing if it waits in a pass by steps |
//! | a flow comes or goes, or counts for something else | the links of its path, a row for each link whose level is another one then, and a look at the bits of the coflow's flows |
//! | a level changes | the links that flows of its link cross: a row of a table, or their paths |
//! | a flow gets another limit | the links of its path |
//! | levels from nothing | each flow's path twice, and the shares of the links that it crosses |
//! | MADD, all or none | one look at each link of the coflow |
//! | matching | the running flows, and the rows of ports that have opened |
//! | time passes under shares by bytes left | each flow that some have overtaken; nothing if all keep their proportions |
//!
//! # Rooms
//!
//! From the lowest to the highest.
//!
//! - [`reference`](mod@reference): the definition of every rule. The other rooms do not use it;
//!   their tests do.
//! - `water`: max-min fair levels on paths of any number of links: from nothing
//!   (`water/filling.rs`), and kept up to date as flows come and go (`water/water_levels.rs`). It
//!   knows neither plans nor coflows.
//! - `rules`: how the flows of one entry share what is free for them, from nothing, one file each.
//!   A rule keeps nothing; matching goes on from the rates that flows had.
//! - `kept`: what is kept from one pass to the next, for each entry, each coflow and the plan; and
//!   what an entry decides from it.
//! - `sequence`: how entries follow each other: strict, weighted, per port, backfill.
//! - `classes`: flows in classes; also all flows alike or by their sizes. It uses `water` only.
//! - `all_flows`: all flows at once, one before the other, or in classes. A plan that serves
//!   coflows does not come here.
//! - `allocator`: the [`Allocator`], which reads a plan and chooses among these.
//! - `tenants`: capacity divided among tenants, with an [`Allocator`] for each.
//! - `driver`: a scheduling round. It tells a policy what happens in a [`World`], asks for its
//!   plan, and has an allocator decide the rates of the [`Traffic`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod all_flows;
mod allocator;
mod classes;
mod driver;
mod error;
mod exact_sum;
mod flow_rate;
mod free_capacity;
mod kept;
mod measure;
mod rates;
pub mod reference;
mod rules;
mod sequence;
mod tenants;
mod water;

pub use all_flows::running_flows::{Running, RunningFlows};
pub use allocator::Allocator;
pub use classes::class_shares::{ClassShares, Limit, Rebundled};
pub use driver::Driver;
pub use driver::traffic::Traffic;
pub use driver::world::{Change, World};
pub use error::PlanError;
pub use flow_rate::{ByLeft, CompressionRate, FlowRate};
pub use kept::coflow_allocation::CoflowAllocation;
pub use measure::Measure;
pub use rates::BulkRates;
pub use tenants::TenantShares;
