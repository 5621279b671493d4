//! The interface between the agent and whatever carries schedules out on its host.

use std::collections::BTreeMap;
use std::io;

use covey_proto::{CodecName, FlowAnswer, FlowKeys, FlowName, OpeningAnswer, Service};

use crate::progress::Progress;

/// Carries schedules out on a host, and reports what the host's flows do.
///
/// No method has a default: an enforcer states each answer, and the compiler finds the one that is
/// missing.
pub trait Enforcer: Send {
    /// Replaces the schedule with `flows`; every other flow must stop, but for those that no
    /// application has named: nobody holds one that is not listed. `holds` is the schedule's epoch
    /// and version.
    ///
    /// # Errors
    /// When the host cannot carry it out. The agent logs the error and continues.
    fn apply(&mut self, holds: (u64, u64), flows: &BTreeMap<FlowName, Service>) -> io::Result<()>;

    /// Reports what has happened to the host's flows since the last call.
    fn progress(&mut self) -> Progress;

    /// Whether [`Enforcer::progress`] reports every open flow and all that it sends. If it does,
    /// the agent takes the rate from flows that do not use it.
    fn sees_uses(&self) -> bool;

    /// Handles an event of the session with the coordinator.
    fn heard(&mut self, event: CoordinatorEvent<'_>);
}

/// What an enforcer hears of the coordinator, apart from schedules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoordinatorEvent<'a> {
    /// A session has begun.
    Joined {
        /// The compressor that schedules may name, if they may name one.
        codec: Option<CodecName>,
        /// Whether it answers what is registered of flows that applications open.
        openings: bool,
    },
    /// The session is over.
    Left,
    /// The coordinator has written the ends of these flows to its journal.
    Acknowledged(&'a [FlowName]),
    /// How flows prove themselves from now on; `None`: the coordinator speaks a version without
    /// proofs.
    Keys(Option<&'a FlowKeys>),
    /// The coordinator's answers to [`Progress::asks`].
    Answered(&'a [FlowAnswer]),
    /// The coordinator's answers to [`Progress::openings`].
    Openings(&'a [OpeningAnswer]),
    /// How many bytes of one coflow an application may send before a schedule mentions the coflow's
    /// flows. The flows that it has open share them.
    StartSmall(u64),
}
