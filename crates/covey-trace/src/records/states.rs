//! Flows that collectors record as states: one begins, continues, and ends.

use covey_identify::Address;

use super::connection::Connection;
use crate::moment::Moment;

/// The state of a flow at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct State {
    pub flow: FlowKey,
    pub at: Moment,
    pub what: What,
    /// Bytes since the state before, both ways.
    pub bytes: [Option<f64>; 2],
}

/// A flow, as an interface sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowKey {
    pub hosts: [Address; 2],
    pub ports: [u16; 2],
    pub protocol: u8,
    pub exporter: u32,
}

/// What a state says. Of states at one time, a flow ends before the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Continues,
    Ends,
    Begins,
}

/// The flows of all states.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub connections: Vec<Connection>,
    /// States that are there twice, as two security groups at one interface write them.
    pub twice: u64,
    /// Flows that begin before their first state.
    pub begun_before: u64,
}

impl Flows {
    /// The flows of states in any order.
    pub fn of(mut states: Vec<State>) -> Flows {
        states.sort_by_key(|state| (state.flow, state.at, state.what));
        let all = states.len();
        states.dedup();
        let mut flows = Flows { twice: (all - states.len()) as u64, ..Flows::default() };
        for of_flow in states.chunk_by(|a, b| a.flow == b.flow) {
            let mut open: Option<Connection> = None;
            for state in of_flow {
                flows.take(&mut open, state);
            }
            flows.connections.extend(open);
        }
        flows
    }

    /// Takes the next state of a flow.
    fn take(&mut self, open: &mut Option<Connection>, state: &State) {
        if state.what == What::Begins {
            self.connections.extend(open.take());
        } else {
            self.begun_before += u64::from(open.is_none());
        }
        let FlowKey { hosts, ports, protocol, exporter } = state.flow;
        let connection = open.get_or_insert_with(|| Connection {
            ports,
            exporter,
            ..Connection::new(state.at, protocol, hosts)
        });
        for (sum, more) in connection.bytes.iter_mut().zip(state.bytes) {
            *sum = match (*sum, more) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
        }
        connection.seen_until = Some(state.at);
        if state.what == What::Ends {
            connection.end = Some(state.at);
            self.connections.extend(open.take());
        }
    }
}
