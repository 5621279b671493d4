//! Rules over all flows at once, whatever coflow they belong to.
//!
//! Schedulers that do not know coflows serve one flow before the other
//! ([`PriorityPaths`](priority_paths::PriorityPaths)), or each flow alike or by its size
//! ([`classes`](super::classes)). Such a plan has this one entry. [`mode`] says which of them is in
//! force. No coflow has an allocation then, and nothing of `sequence` is involved.

pub mod coming;
pub mod flow_order;
pub mod mode;
pub mod path_queues;
pub mod priority_paths;
pub mod queue;
pub mod running_flows;
