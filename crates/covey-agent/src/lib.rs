//! Carries a coordinator's schedules out on one host.
//!
//! The [`Agent`] is a state machine without I/O: it holds the last schedule, also while the
//! coordinator is away, and says what its flows do. An [`Enforcer`] does on the host what the
//! schedule says. The `session` around them (a feature) has the connection.

mod agent;
mod enforcer;
#[cfg(feature = "session")]
mod session;

pub use agent::{Agent, Progress, Share};
pub use enforcer::{Enforcer, Nothing, Recorded};
#[cfg(feature = "session")]
pub use session::{JoinError, Joining, run};
