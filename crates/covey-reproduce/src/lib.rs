//! The papers' evaluations again.
//!
//! A paper is a list of items, one for each table and figure. Each plans its runs and makes findings
//! of their results. A [`plan`] gathers the runs of all items, so that each is done once:
//!
//! ```text
//! Item ── plan ──▶ Plan ──▶ Measured ──▶ Results ── Evaluate ──▶ Finding ──▶ Report
//!   └───────────────────────────────────────────────▲              ▲
//!                                                 published values ┘
//! ```
//!
//! The papers measured themselves in simulators of their own. Where one of these is public, the crate
//! `covey-emulate` does what it does, so that a published number can be traced to the policy or to its
//! simulator. Published values are in [`published`].

pub mod aalo;
mod drawings;
pub mod evaluation;
pub mod finding;
pub mod item;
mod jobs;
pub mod learning;
mod numbers;
mod page;
mod parts;
pub mod philae;
pub mod plan;
pub mod published;
pub mod report;
pub mod reproduction;
mod selection;
pub mod swallow;
mod text;

pub use selection::Selection;
