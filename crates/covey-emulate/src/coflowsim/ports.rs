//! Free capacity at ports, and one pass of fair shares.

use super::live::Live;
use super::scale::{CAPACITY_BPS, ZERO};

/// Free bits per second at each rack, to send and to receive.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    pub send: Vec<f64>,
    pub recv: Vec<f64>,
}

impl Ports {
    /// The full capacity at each rack.
    pub fn free(racks: usize) -> Self {
        Self { send: vec![CAPACITY_BPS; racks], recv: vec![CAPACITY_BPS; racks] }
    }

    /// Zero at each rack.
    pub fn zero(racks: usize) -> Self {
        Self { send: vec![0.0; racks], recv: vec![0.0; racks] }
    }

    /// The number of racks.
    pub fn racks(&self) -> usize {
        self.send.len()
    }

    /// Adds a flow's rate.
    pub fn add(&mut self, src: usize, dst: usize, rate_bps: f64) {
        self.send[src] += rate_bps;
        self.recv[dst] += rate_bps;
    }

    /// Subtracts the used capacity, port by port.
    pub fn take(&mut self, used: &Ports) {
        let all = |free: &mut [f64], used: &[f64]| {
            free.iter_mut().zip(used).for_each(|(free, used)| *free -= used);
        };
        all(&mut self.send, &used.send);
        all(&mut self.recv, &used.recv);
    }

    /// Gives every flow of `coflows` whose two ports have free capacity the smaller of the equal
    /// shares of it. Subtracts all rates at the end.
    pub fn share_fairly(&mut self, coflows: &[usize], live: &mut [Option<Live>]) {
        let mut flows = Ports::zero(self.racks());
        for coflow in coflows.iter().filter_map(|&c| live[c].as_ref()) {
            for receiver in coflow.reducers.iter().filter(|r| self.recv[r.rack] > ZERO) {
                for flow in receiver.flows.iter().filter(|f| self.send[f.src] > ZERO) {
                    flows.add(flow.src, receiver.rack, 1.0);
                }
            }
        }
        let mut used = Ports::zero(self.racks());
        for &coflow in coflows {
            let Some(coflow) = &mut live[coflow] else { continue };
            for receiver in coflow.reducers.iter_mut().filter(|r| self.recv[r.rack] > ZERO) {
                let dst = receiver.rack;
                for flow in receiver.flows.iter_mut().filter(|f| self.send[f.src] > ZERO) {
                    let sender = self.send[flow.src] / flows.send[flow.src];
                    let rate = sender.min(self.recv[dst] / flows.recv[dst]);
                    flow.rate_bps = if rate <= ZERO { 0.0 } else { rate };
                    used.add(flow.src, dst, flow.rate_bps);
                }
            }
        }
        self.take(&used);
    }
}
