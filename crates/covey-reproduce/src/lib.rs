//! Repeats the evaluations of five papers: Philae, Swallow, Aalo, Stream and CODA.
//!
//! A paper is a list of items, one for each table and figure. Each item plans its runs, and later
//! turns their results into findings. A [`plan`] collects the runs of all items: a run that several
//! items need is done once.
//!
//! ```text
//! Item ── plan ──▶ Plan ──▶ RunResult ──▶ Results ── Evaluate ──▶ Finding ──▶ Report
//!   └────────────────────────────────────────────────▲              ▲
//!                                                 published values ─┘
//! ```
//!
//! The authors used simulators of their own. The crate `covey-emulate` emulates those that are
//! public. Comparing an emulation with the exact simulator shows whether a published number comes
//! from the policy or from the simulator. Published values are in [`published`].

pub mod aalo;
pub mod coda;
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
mod plots;
pub mod published;
pub mod report;
pub mod reproduction;
mod selection;
pub mod spark;
pub mod stream;
pub mod swallow;
mod text;

pub use selection::Selection;
