//! The enforcer that carries nothing out: the agent only holds schedules.

use std::collections::BTreeMap;
use std::io;

use covey_proto::{FlowName, Service};

use super::setup::{EnforcerInfo, Make};
use crate::enforcer::{CoordinatorEvent, Enforcer};
use crate::progress::Progress;

pub const INFO: EnforcerInfo = EnforcerInfo {
    name: "none",
    about: "Nothing carries schedules out",
    make: Make::Alone(|_| Ok(Box::new(Nothing))),
};

/// Carries nothing out.
pub struct Nothing;

impl Enforcer for Nothing {
    fn apply(&mut self, _: (u64, u64), _: &BTreeMap<FlowName, Service>) -> io::Result<()> {
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        Progress::default()
    }

    fn sees_uses(&self) -> bool {
        false
    }

    fn heard(&mut self, _: CoordinatorEvent<'_>) {}
}
