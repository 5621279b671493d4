//! Plain values: numbers of things, times, quantities with units, rounding, draws, and words.

pub mod ids;
pub mod optional_index;
pub mod ordered;
pub mod rounding;
pub mod split_mix;
pub mod suggest;
pub mod time;
pub mod units;
