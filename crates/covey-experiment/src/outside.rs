//! Policies that are not in the registry. A front end that has an interpreter offers to make them.

use std::sync::OnceLock;

use crate::contender::Contender;
use crate::error::Error;

/// What a front end offers.
#[derive(Debug, Clone, Copy)]
pub struct Outside {
    /// Makes the contender that a text such as `./mine.py:LeastServed` names; nothing if it names
    /// none.
    pub make: fn(&str) -> Result<Option<Contender>, Error>,
    /// Why such a policy has failed, in a line.
    pub fault: fn() -> Option<String>,
}

static OFFERED: OnceLock<Outside> = OnceLock::new();

/// Has all setups of this process make policies in this way. The first offer counts.
pub fn offer(outside: Outside) {
    let _ = OFFERED.set(outside);
}

/// The contender that a text names, if the registry has no such policy.
pub(crate) fn contender(spec: &str) -> Result<Option<Contender>, Error> {
    let name = spec.split(':').next().unwrap_or(spec).trim();
    if covey_sched::find(name).is_ok() {
        return Ok(None);
    }
    match OFFERED.get() {
        Some(outside) => (outside.make)(spec),
        None if name.ends_with(".py") => Err(Error::Outside(format!(
            "{spec}: expected Python with the package covey, which reads it (docs/install.md has it; PYTHON names another interpreter), found none"
        ))),
        None => Ok(None),
    }
}

/// The reason why a policy from outside has ended a simulation, if one has, or else `error`.
pub(crate) fn fault_or(error: Error) -> Error {
    let fault = OFFERED.get().and_then(|outside| (outside.fault)());
    fault.map_or(error, Error::Fault)
}
