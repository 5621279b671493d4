//! What is kept from one allocation pass to the next.
//!
//! For each entry: what it found and left at its links and what it gives ([`entry_allocation`]),
//! with incremental forms of rules, each as fast as what has changed: matching
//! ([`incremental_matching`]) and water levels ([`kept_levels`]). For each coflow: all its entries
//! ([`coflow_allocation`], [`subsets`]) and what backfill found for it ([`found_spare`]);
//! [`allocations`] holds all coflows. For coflows that can send nothing: a few bits ([`idle`],
//! [`asleep`]). For a plan that stays in force: which entries have a step on the next pass, and
//! which wait for which link ([`stepped_plan`], [`pass_steps`], [`left_by_rank`]).
//!
//! The passes in `sequence` say when an entry is served and what is free for it;
//! [`entry_allocation`] decides what it gives.

pub mod allocations;
pub mod asleep;
pub mod changes;
pub mod claims;
pub mod coflow_allocation;
pub mod decision;
pub mod entry_allocation;
pub mod found_spare;
pub mod idle;
pub mod incremental_matching;
pub mod kept_levels;
pub mod left_by_rank;
mod matched_flows;
pub mod pass_steps;
pub mod plan_place;
pub mod stepped_plan;
pub mod subsets;
pub mod target;
