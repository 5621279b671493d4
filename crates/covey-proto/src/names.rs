//! Other names for the flows of a message, where a session begins or ends.

use crate::flow::FlowName;
use crate::message::{FromAgent, ToAgent};

impl FromAgent {
    /// Replaces the name of each flow.
    pub fn rename_flows(&mut self, mut name: impl FnMut(FlowName) -> FlowName) {
        match self {
            FromAgent::Ended(flows) => flows.iter_mut().for_each(|it| it.key = name(it.key)),
            FromAgent::Sent(flows) => flows.iter_mut().for_each(|it| it.key = name(it.key)),
            FromAgent::Written(keys) => keys.iter_mut().for_each(|key| *key = name(*key)),
            FromAgent::Uses(uses) => uses.flows.iter_mut().for_each(|it| it.0 = name(it.0)),
            FromAgent::Passed(passings) => passings.iter_mut().for_each(|passing| {
                passing.from = name(passing.from);
                passing.to = name(passing.to);
            }),
            FromAgent::Hello(_)
            | FromAgent::Applied { .. }
            | FromAgent::Resync
            | FromAgent::Alive
            | FromAgent::Processor(_)
            | FromAgent::Links(_)
            | FromAgent::Keeps(_)
            | FromAgent::Addresses(_)
            | FromAgent::Appeared(_)
            // A token is over the name that the header has.
            | FromAgent::Asks(_)
            // The coordinator knows flows by former names, too.
            | FromAgent::Opened(_)
            | FromAgent::Checked { .. } => {}
        }
    }
}

impl ToAgent {
    /// Replaces the name of each flow.
    pub fn rename_flows(&mut self, mut name: impl FnMut(FlowName) -> FlowName) {
        match self {
            ToAgent::Schedule(schedule) => {
                schedule.set.iter_mut().for_each(|entry| entry.key = name(entry.key));
                schedule.removed.iter_mut().for_each(|key| *key = name(*key));
            }
            ToAgent::Acknowledged(keys) => keys.iter_mut().for_each(|key| *key = name(*key)),
            ToAgent::Welcome(_)
            | ToAgent::Thresholds(_)
            | ToAgent::Refused(_)
            | ToAgent::Alive
            | ToAgent::Over(_)
            | ToAgent::Flows(_)
            | ToAgent::Taken(_)
            | ToAgent::Released(_)
            | ToAgent::Keys(_)
            | ToAgent::Tokens(_)
            | ToAgent::Openings(_)
            | ToAgent::Turns(_)
            | ToAgent::StartSmall(_) => {}
        }
    }
}
