//! Rules over all flows at once, whatever coflow they belong to.
//!
//! Schedulers that do not know coflows serve all flows as one group: each flow alike or by its size
//! ([`FlowFairShare`](flow_fair_share::FlowFairShare)), or one flow before the other
//! ([`PriorityFlows`](priority_flows::PriorityFlows); with inner links,
//! [`PriorityPaths`](priority_paths::PriorityPaths)). Such a plan has this one entry. [`mode`] says
//! which of them is in force. No coflow has an allocation then, and nothing of `sequence` is involved.

pub mod coming;
pub mod flow_fair_share;
pub mod flow_order;
pub mod mode;
pub mod path_queues;
pub mod priority_flows;
pub mod priority_paths;
pub mod running_flows;
