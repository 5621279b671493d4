//! The private limits of a coflow's flows that have rates of their own.

use covey_core::Time;

use super::super::services::Services;

/// A flow with a private limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Private {
    /// Position of the flow in its coflow's [`Demand`](covey_core::Demand).
    pub position: usize,
    /// The flow's own rates together, in bytes per second. Zero if they have stopped.
    pub rate: f64,
}

/// Limits of [`Services`] from a number on, each with one flow or none.
#[derive(Debug, Default)]
pub(super) struct PrivateLimits {
    /// The number of limits before these.
    others: usize,
    flows: Vec<Option<Private>>,
    /// The limits that no flow has.
    vacant: Vec<u32>,
}

impl PrivateLimits {
    /// No private limits; `others` come before the first one.
    pub fn clear(&mut self, others: usize) {
        self.others = others;
        self.flows.clear();
        self.vacant.clear();
    }

    /// Whether no flow has a private limit.
    pub fn is_empty(&self) -> bool {
        self.flows.len() == self.vacant.len()
    }

    /// The numbers of all limits, also of those that no flow has.
    pub fn all(&self) -> std::ops::Range<usize> {
        self.others..self.others + self.flows.len()
    }

    /// The flow that has a limit; none if the limit is shared or vacant.
    pub fn flow(&self, limit: usize) -> Option<Private> {
        *self.flows.get(limit.checked_sub(self.others)?)?
    }

    /// Gives a flow, of which `left` bytes are left, a limit of level zero. Returns the limit.
    pub fn begin(
        &mut self,
        services: &mut Services,
        position: usize,
        left: f64,
        now: Time,
    ) -> usize {
        let flow = Some(Private { position, rate: 0.0 });
        let slot = self.vacant.pop().map_or(self.flows.len(), |slot| slot as usize);
        if slot == self.flows.len() {
            self.flows.push(flow);
            services.grow(self.others + self.flows.len(), now);
        } else {
            self.flows[slot] = flow;
        }
        let limit = self.others + slot;
        services.set_level(limit, 0.0, now);
        services.attach(position, limit, left, now);
        limit
    }

    /// No flow has a rate of its own.
    pub fn stop_all(&mut self) {
        self.flows.iter_mut().flatten().for_each(|flow| flow.rate = 0.0);
    }

    /// Adds a rate to those of the flow that has a limit.
    pub fn add_rate(&mut self, limit: usize, rate: f64) {
        if let Some(flow) = &mut self.flows[limit - self.others] {
            flow.rate += rate;
        }
    }

    /// Takes a limit from its flow.
    pub fn vacate(&mut self, limit: usize) {
        if self.flows[limit - self.others].take().is_some() {
            self.vacant.push((limit - self.others) as u32);
        }
    }
}
