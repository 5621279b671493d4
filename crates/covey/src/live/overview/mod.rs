//! What a coordinator, its coflows, agents and relays do: as `covey status` and `covey top` show
//! it.

mod facts;
mod lines;
mod order;
mod table;
mod units;

pub use facts::{Facts, Source};
pub use lines::{Amount, lines};
pub use order::Order;
pub use units::duration;
