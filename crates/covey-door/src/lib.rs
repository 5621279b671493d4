//! Who may connect, and for how long without a credential.
//!
//! A [`Door`] stands before a listener. It admits connections up to a total, up to a quota of each
//! peer, and up to a quota of connections that have not shown a credential. Where room is needed,
//! it closes one of the latter: the oldest of the peer that has the most. A connection that shows
//! no credential in time is closed, too. So silent connections, however many, keep nobody out who
//! shows a credential at once.
//!
//! Each refusal has a [`Reason`]. It is counted, and logged at most so often that a flood cannot
//! fill a disk.

mod door;
mod peer;
mod quotas;
mod refusals;

pub use door::{Door, Entrance, Guest};
pub use peer::Peer;
pub use quotas::{Limits, Occupancy};
pub use refusals::{Reason, Refusals};
