//! Carries a coordinator's schedules out on one host.
//!
//! The [`Agent`] is a state machine without I/O. It holds the last schedule, also while the
//! coordinator is away, and reports what its flows do; its `Watch` finds the flows that do not use
//! their rate. An [`Enforcer`] carries the schedule out. [`Local`] is the one that has applications
//! do it, through a [`FlowTable`]; a [`Shaper`] such as [`Htb`] may keep the rates for it.
//! [`ENFORCERS`] lists every enforcer. [`run`] joins a coordinator and connects the two. Everything
//! with I/O needs the feature `session`.

mod agent;
mod app_id;
mod enforcer;
#[cfg(feature = "session")]
mod enforcers;
mod flow_table;
#[cfg(feature = "session")]
mod kept_keys;
#[cfg(feature = "session")]
mod links;
#[cfg(feature = "session")]
mod local;
mod names;
mod openings;
#[cfg(feature = "session")]
mod processor;
mod progress;
mod proofs;
#[cfg(feature = "session")]
mod session;
mod shaper;
#[cfg(feature = "session")]
mod socket;
mod watch;

pub use agent::Agent;
pub use app_id::AppId;
pub use enforcer::{CoordinatorEvent, Enforcer};
#[cfg(feature = "session")]
pub use enforcers::{ENFORCERS, EnforcerInfo, Htb, MadeEnforcer, Setup, SetupError, Tree};
pub use flow_table::{FlowTable, Refused};
#[cfg(feature = "session")]
pub use local::Local;
#[cfg(feature = "session")]
pub use processor::Processors;
pub use progress::{Ends, Progress};
#[cfg(feature = "session")]
pub use session::{JoinError, Joining, run, run_woken};
pub use shaper::{ShapedFlows, Shaper};
#[cfg(feature = "session")]
pub use socket::SocketOptions;
