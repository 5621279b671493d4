//! Flows whose rate is the lower water level of their two links.

mod by_link;
mod crossings;
mod ends;
mod inner_targets;
mod laid;

pub(super) use by_link::Levels;
