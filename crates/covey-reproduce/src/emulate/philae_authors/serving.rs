//! Who gets a port for a cycle, and what that sends.

use super::bits::Bits;
use super::{Place, Simulator};

impl Simulator {
    /// Gives out all ports, when it is the turn of the main queue `turn`.
    pub(super) fn serve(&mut self, turn: Option<usize>) {
        let ports = self.coflows_at[0].len();
        self.free = [Bits::all(ports), Bits::all(ports)];
        self.served.clear();
        for &c in self.thin.iter().chain(&self.piloted) {
            let job = &self.jobs[c];
            for &pilot in job.pilots.iter().filter(|&&pilot| job.left[pilot as usize] > 0) {
                let [src, dst] = job.ports_of(pilot);
                if self.free[0].contains(src) && self.free[1].contains(dst) {
                    self.free[0].remove(src);
                    self.free[1].remove(dst);
                    self.served.push((c, pilot));
                }
            }
        }
        let others = (0..self.main.len()).filter(|q| Some(*q) != turn);
        for q in turn.into_iter().chain(others) {
            for at in 0..self.main[q].len() {
                self.serve_coflow(self.main[q][at]);
                if self.free.iter().any(Bits::is_empty) {
                    return;
                }
            }
        }
    }

    /// For each free sender of a coflow, the first free receiver.
    fn serve_coflow(&mut self, c: usize) {
        let job = &self.jobs[c];
        for side in [0, 1] {
            self.local[side].clear();
            for port in job.ports[side].common(&self.free[side]) {
                self.local[side].insert(job.place_of[side][port] as usize);
            }
            if self.local[side].is_empty() {
                return;
            }
        }
        let [senders, receivers] = &mut self.local;
        for s in senders.common(senders) {
            if let Some(r) = job.open[s].first_common(receivers) {
                receivers.remove(r);
                self.free[0].remove(job.tasks[0][s].port);
                self.free[1].remove(job.tasks[1][r].port);
                self.served.push((c, (s * job.tasks[1].len() + r) as u32));
            }
        }
    }

    /// Sends for a cycle, at whose end it is now; returns how many coflows have ended.
    pub(super) fn send(&mut self) -> usize {
        let mut ended = Vec::new();
        for &(c, flow) in &self.served {
            let (less, end) = self.jobs[c].serve(flow);
            self.moved_key[c] |= less;
            if end {
                ended.push((c, flow));
            }
        }
        let mut coflows = 0;
        for (c, flow) in ended {
            coflows += usize::from(self.end_flow(c, flow));
            self.served_in = None;
        }
        coflows
    }

    /// Ends a flow, and tells whether that ends its coflow.
    fn end_flow(&mut self, c: usize, flow: u32) -> bool {
        self.flow_end_ms[c][flow as usize] = self.now_ms;
        let ports = self.jobs[c].ports_of(flow);
        let ended = self.jobs[c].end_flow(flow);
        for side in [0, 1] {
            if ended[side] {
                self.count_coflow(side, ports[side], -1);
                self.moved_key[c] = true;
                self.thin_changed |= self.place[c] == Place::Thin;
            }
        }
        if self.jobs[c].open_flows == 0 {
            // If its last flow is a pilot, the ports count it for ever.
            self.end_ms[c] = self.now_ms;
            self.queue(self.place[c]).retain(|&other| other != c);
            self.thin_changed |= self.place[c] == Place::Thin;
            return true;
        }
        if !matches!(self.place[c], Place::Main(_)) && self.jobs[c].pilots.contains(&flow) {
            self.jobs[c].open_pilots -= 1;
            (0..2).for_each(|side| self.pilots_at[side][ports[side]] -= 1);
        }
        false
    }
}
