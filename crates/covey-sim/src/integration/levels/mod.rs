//! Flows whose rate is the lowest water level on their paths.

mod by_link;
mod ends;
mod inner_targets;
mod laid;

pub(super) use by_link::Levels;
