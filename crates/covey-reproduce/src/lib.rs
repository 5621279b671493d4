//! The papers' evaluations again.
//!
//! The papers measured themselves in simulators of their own, with liberties of their own. To tell
//! what a published number says about a policy and what about its simulator, [`emulate`] does what
//! two of these simulators do, quirks included. Nothing here complicates the exact simulator. What was
//! published is in [`published`].
//!
//! A paper is a list of items, one for each table and figure. Each says what is to be run and what
//! to make of it; the runs of all are gathered in a [`plan`], where each is done once:
//!
//! ```text
//! Item ── plan ──▶ Plan ──▶ Measured ──▶ Results ── Evaluate ──▶ Finding ──▶ Report
//!   └───────────────────────────────────────────────▲              ▲
//!                                                 published values ┘
//! ```

pub mod aalo;
mod drawings;
pub mod emulate;
pub mod finding;
mod jobs;
pub mod learning;
pub mod live;
mod numbers;
mod page;
mod parts;
pub mod philae;
pub mod plan;
pub mod published;
pub mod report;
pub mod reproduction;
pub mod swallow;
mod text;
