//! `stream`: receivers decide, senders mark, and links serve strictly by priority (Stream, ICNP).
//!
//! Nobody sees the whole network. The receiver of a coflow gives it a priority by what it alone
//! knows, and tells its senders with the ACKs. A coflow begins in the first of `K` queues and falls
//! as bytes come (C-SJF, Eq. 2 and 3). If a coflow has several receivers, or several coflows form
//! one DAG, each receiver has a *sub-coflow* of its own. Three things help it to guess how large
//! the whole is:
//!
//! - Weighted priority (`wp`, Eq. 4): a sub-coflow that knows of others falls earlier. It knows of
//!   them by its id (Algorithm 1), and of those that it has heard from.
//! - Information relay (`relay`, Eq. 5): a sender that serves several receivers of one coflow tells
//!   each what the others have received, with the data that it sends.
//! - Child-to-parent (`cp`): a sub-coflow that has completed tells its size to those that depend on
//!   it.
//!
//! Priorities never rise, but for the [`escape`](covey_stream::EscapeRules) from starvation.
//!
//! [`Receiver`](covey_stream::Receiver) is the state machine of one receiver. It has no view of the
//! network. `network` runs all of them in a simulation, and carries what hosts tell each other. The
//! client library runs them on real hosts.

mod ended;
mod network;
mod present;
mod relay;
mod setup;
#[cfg(test)]
mod test_world;
#[cfg(test)]
mod tests;

use covey_core::{AnyPolicy, Promises};
use covey_stream::Setup;

use crate::info::Info;
use crate::queues;
use crate::settings::Settings;
use crate::spec::{Param, SpecError};
use network::Network;

const fn param(name: &'static str, default: &'static str, help: &'static str) -> Param {
    Param { name, default, help }
}

pub(crate) const INFO: Info = Info {
    name: "stream",
    knows: "unsized",
    summary: "each receiver gives its coflows strict priorities by what it has received",
    params: &[
        param("K", "4", "number of queues in switches, 2 to 8"),
        queues::E_OF_LIMITS,
        queues::Q1,
        param(
            "thresholds",
            "exponential",
            "exponential (by q1 and E), or the limits of all queues but the last, ascending, like 10MiB/100MiB/1GiB; @FILE takes them from a file",
        ),
        param(
            "eq",
            "walk",
            "the reading of Eq. 2, 4, 5: walk (a queue ends at its threshold) or literal (as printed, with the threshold of the present queue)",
        ),
        param("alpha", "0.5", "how much the state of a coflow raises thresholds (Eq. 2), 0 to 1"),
        param("beta", "1", "how much bytes of other receivers count (Eq. 5), 0 to 1"),
        param("wp", "true", "weighted priority: true or false"),
        param("aW", "1", "factor of the weight's logarithm (Eq. 4), up to 10"),
        param("relay", "true", "information relay by shared senders: true or false"),
        param(
            "cp",
            "true",
            "child-to-parent, from a coflow to those that depend on it: true or false",
        ),
        param("ids", "next", "what a parent proposes in Algorithm 1: next (its own id + 1) or own"),
        param("rtt", "100us", "round trip; a priority takes half of it, a relay all"),
        param(
            "escape",
            "10ms",
            "how long a flow waits until its coflow is first raised by a queue, or off",
        ),
        param("raise", "10ms", "how long each queue of a raise lasts"),
        param(
            "patience",
            "10s",
            "the limit up to which the wait for the next raise doubles; no flow waits longer than two of these and K-1 raises",
        ),
    ],
    source: "Stream (ICNP) III",
    promises: |settings| {
        setup::of(settings)?;
        // The escape bounds how long a flow waits, not how little it gets.
        Ok(Promises { conserves_work: true, ..Promises::default() })
    },
    make: |settings| Ok(AnyPolicy::NonClairvoyant(Box::new(Network::new(setup::of(settings)?)))),
};

/// The settings of `stream` that `key=value,…` gives, with defaults for the others.
///
/// # Errors
/// When a parameter is unknown, or a value is none that it may have.
pub fn settings(given: &str) -> Result<Setup, SpecError> {
    setup::of(&Settings::new(INFO.name, INFO.params, given)?)
}
