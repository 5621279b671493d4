//! What is promised of the receiving ports.

use std::collections::BTreeSet;

/// Bytes per second promised at each receiving port: the most that agents may hold together.
///
/// Sending ports need no such account. An agent takes a schedule over as a whole, and what it is
/// sent never exceeds the plan, which fits.
#[derive(Debug, Clone)]
pub(super) struct IngressReservations {
    ports: Vec<IngressPort>,
}

#[derive(Debug, Clone, Default)]
struct IngressPort {
    capacity: f64,
    reserved: f64,
    flows: u32,
    /// Agents with a flow that waits for the port.
    waiting: BTreeSet<u32>,
}

/// More than the capacity, by more than rounding explains.
const TOLERANCE: f64 = 1.0 + 1e-6;

impl IngressReservations {
    /// Nothing is promised. `capacity` is by receiving port, in bytes per second.
    pub fn new(capacity: &[f64]) -> IngressReservations {
        let port = |&capacity: &f64| IngressPort { capacity, ..IngressPort::default() };
        IngressReservations { ports: capacity.iter().map(port).collect() }
    }

    /// Replaces what one flow has reserved at a port. Adds the agents that wait for what is freed
    /// to `woken`.
    pub fn replace(&mut self, port: u32, before: f64, after: f64, woken: &mut BTreeSet<u32>) {
        let port = &mut self.ports[port as usize];
        port.reserved += after - before;
        port.flows += u32::from(after > 0.0);
        port.flows -= u32::from(before > 0.0);
        if port.flows == 0 {
            // Rounding does not add up.
            port.reserved = 0.0;
        }
        if after < before {
            woken.append(&mut port.waiting);
        }
    }

    /// A flow has what another one had reserved, besides the `before` of its own. The port's sum
    /// stays.
    pub fn hand_over(&mut self, port: u32, before: f64) {
        let port = &mut self.ports[port as usize];
        port.flows -= u32::from(before > 0.0);
    }

    /// How much of `more` a port has to give: all, or what nobody else may hold. If it is not all,
    /// the agent waits for the port.
    pub fn room(&mut self, agent: u32, port: u32, more: f64) -> f64 {
        let port = &mut self.ports[port as usize];
        if more <= 0.0 || port.reserved + more <= port.capacity * TOLERANCE {
            return more;
        }
        port.waiting.insert(agent);
        (port.capacity - port.reserved).max(0.0)
    }
}
