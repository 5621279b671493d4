//! A receiver of Stream (ICNP): it decides the priority of what comes to it, by what it alone
//! knows.
//!
//! Where nobody sees the whole network, the receiver of a coflow gives it a priority and tells its
//! senders, which mark their packets; switches serve strictly by priority. A coflow begins in the
//! first of `K` queues and falls as bytes come (Eq. 2 and 3). If a coflow has several receivers, or
//! several coflows form one DAG, each receiver has a *sub-coflow* of its own, and hears of the
//! others by ids, relays and children (Eq. 4 and 5, Algorithm 1).
//!
//! [`Receiver`] is a state machine without clock and I/O. The policy `stream` of `covey-sched` runs
//! one for each coflow at each port in simulation, and `covey-client` runs them on real hosts.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod escape;
mod ids;
mod receiver;
mod rules;
mod setup;

pub use escape::{Escape, EscapeRules};
pub use ids::{Proposal, sub_coflow_id};
pub use receiver::{Input, Receiver, SubCoflow};
pub use rules::{Condition, Equation, Rules};
pub use setup::Setup;
