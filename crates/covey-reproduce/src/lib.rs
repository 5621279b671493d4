//! The papers' evaluations again.
//!
//! The papers measured themselves in simulators of their own, with liberties of their own. To tell
//! what a published number says about a policy and what about its simulator, [`emulate`] does what
//! two of these simulators do, quirks included. Nothing here complicates the exact simulator. What was published is in
//! [`published`].

pub mod emulate;
pub mod published;
