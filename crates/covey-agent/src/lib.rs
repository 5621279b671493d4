//! Carries a coordinator's schedules out on one host.
//!
//! The [`Agent`] is a state machine without I/O: it holds the last schedule, also while the
//! coordinator is away, and says what its flows do; its `Watch` finds
//! out which of them do not use what they get. An [`Enforcer`] does on the host what the
//! schedule says; `Local` has the applications do it, by what a [`Board`] says to each, and `Htb` the kernel. The `session` around them (a feature) has the connection.

mod agent;
mod board;
mod enforcer;
#[cfg(feature = "session")]
mod htb;
#[cfg(feature = "session")]
mod local;
mod names;
#[cfg(feature = "session")]
mod processor;
#[cfg(feature = "session")]
mod session;
mod watch;

pub use agent::{Agent, Progress, Share};
pub use board::{AppId, Board, Refused};
pub use enforcer::{Enforcer, Nothing, Recorded};
#[cfg(feature = "session")]
pub use htb::{Ends, Htb, Tree};
#[cfg(feature = "session")]
pub use local::Local;
#[cfg(feature = "session")]
pub use processor::Processors;
#[cfg(feature = "session")]
pub use session::{JoinError, Joining, run, run_woken};
