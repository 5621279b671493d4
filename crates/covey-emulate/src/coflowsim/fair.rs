//! FAIR: in each quantum a flow sends the smaller of the equal shares of its two ports. This is not
//! max-min fairness: capacity that a flow cannot use at one port is lost for other flows.
//!
//! Flows between the same two racks send the same in each quantum. So the emulation keeps one sum
//! for each pair of racks, without rounding: the bytes that one flow would have sent since the
//! start. A flow is near its end when this sum has grown by almost the flow's bytes since its
//! admission. CoflowSim subtracts quantum by quantum, in double precision, from the flow's bytes
//! and from those of its reducer. The emulation bounds the drift of these two counts. If a count
//! may have drifted across CoflowSim's limit, the emulation repeats its subtractions, from the
//! numbers of flows that each rack had.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_trace::MB;

use super::job::Reducer;
use super::moving::{Ended, FlowId, Moving};
use super::repeat::{count_down, drain};
use super::scale::ZERO;

/// FAIR.
pub(super) struct Fair {
    /// Quanta run so far, without those that CoflowSim skips because no coflow is active: flows
    /// that outlast their coflows stand still meanwhile.
    now: u64,
    /// A number of quanta that is never less than `now`; bounds on the drift hold up to it.
    horizon: u64,
    flows: Vec<Flow>,
    shuffles: Vec<Shuffle>,
    /// Number of flows that have not ended.
    open: usize,
    /// The reducers that have nothing to receive and whose flows have not moved yet.
    without_bytes: Vec<usize>,
    sending: Side,
    receiving: Side,
    /// By sender and receiver.
    pairs: Vec<Pair>,
    /// Of each pair, the quantum after which a flow may end next.
    next: Vec<u64>,
    /// Flows that are near their end and have not ended, with their bytes left.
    near: Vec<(usize, f64)>,
}

/// A flow that has been admitted.
#[derive(Clone, Copy)]
struct Flow {
    shuffle: usize,
    src: usize,
    /// The value of its pair's `sent` at which nothing is left of the flow, without drift.
    target: Sum,
    ended: bool,
}

/// A reducer that has been admitted, and its flows.
struct Shuffle {
    coflow: usize,
    reducer: usize,
    dst: usize,
    bytes: f64,
    flow_bytes: f64,
    /// The quantum of its admission.
    at: u64,
    /// The index of its first flow, and the number of its flows.
    first: usize,
    flows: usize,
    /// Whether CoflowSim's own count of bytes has ended it.
    ended: bool,
}

impl Shuffle {
    fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.flows
    }

    /// The maximum difference between CoflowSim's count of a flow's bytes left and the exact
    /// number, after the quantum `now`. Each subtraction has an error of at most half a unit in the
    /// last place.
    fn flow_drift(&self, now: u64) -> f64 {
        SLACK + (now - self.at) as f64 * self.flow_bytes * HALF_UNIT
    }

    /// The maximum amount by which CoflowSim's count of the reducer can be below the bytes left of
    /// its open flows. CoflowSim subtracts from this count the bytes that each flow sends. A flow
    /// that has ended has sent more or fewer bytes by the drift of its own count; all flows
    /// together have the bytes of the reducer.
    fn drift(&self, now: u64) -> f64 {
        let roundings = (now - self.at) as f64 * (self.flows + 1) as f64;
        SLACK + roundings * self.bytes.max(self.flow_bytes) * HALF_UNIT
    }
}

/// Half a unit in the last place is at most this part of a number.
const HALF_UNIT: f64 = f64::EPSILON / 2.0;
/// Bytes: more than all rounding errors that the bounds do not count otherwise.
const SLACK: f64 = 1e-9;

/// A sum with twice the digits of a double.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    /// The exact sum less `value`.
    rest: f64,
}

impl Sum {
    /// The sum plus `times` times `number`.
    fn plus(self, times: f64, number: f64) -> Sum {
        let product = times * number;
        let lost = times.mul_add(number, -product);
        let value = self.value + product;
        let added = value - self.value;
        let rest = (self.value - (value - added)) + (product - added) + (self.rest + lost);
        let sum = value + rest;
        Sum { value: sum, rest: rest - (sum - value) }
    }

    fn minus(self, other: Sum) -> f64 {
        (self.value - other.value) + (self.rest - other.rest)
    }
}

/// All racks as senders, or all as receivers.
struct Side {
    racks: Vec<Rack>,
    /// The racks at which the number of flows has changed since rates were last shared.
    changed: Vec<usize>,
}

impl Side {
    fn new(racks: usize) -> Self {
        Self { racks: vec![Rack::default(); racks], changed: Vec::new() }
    }

    /// Counts one flow more or less at a rack.
    fn count(&mut self, rack: usize, change: i32) {
        let flows = &mut self.racks[rack].flows;
        *flows = flows.wrapping_add_signed(change);
        self.changed.push(rack);
    }

    /// Notes the changes as of the quantum `now`; returns the racks that have changed, in order.
    fn note(&mut self, now: u64) -> Vec<usize> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.iter().for_each(|&rack| self.racks[rack].note(now));
        changed
    }
}

/// The flows at one side of a rack.
#[derive(Debug, Default, Clone)]
struct Rack {
    flows: u32,
    /// The quanta after which the number of flows changed, in order, each with the number from then
    /// on.
    history: Vec<(u64, u32)>,
}

impl Rack {
    fn note(&mut self, now: u64) {
        if self.history.last().is_some_and(|&(at, _)| at == now) {
            self.history.pop();
        }
        self.history.push((now, self.flows));
    }

    /// The history from `at` on.
    fn since(&self, at: u64) -> &[(u64, u32)] {
        let before = self.history.partition_point(|&(other, _)| other <= at);
        &self.history[before.saturating_sub(1)..]
    }
}

/// Flows between two racks.
#[derive(Default, Clone)]
struct Pair {
    /// Bytes that each flow would have sent since the start, after `at` quanta.
    sent: Sum,
    /// The quantum for which `sent` holds.
    at: u64,
    /// The larger of the numbers of flows at the two racks.
    max_flows: u32,
    /// The bytes that each flow sends in a quantum.
    step: f64,
    /// The flows, by the minimum value of `sent` at which they can end.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Pair {
    /// The bytes that a flow would have sent by the end of the quantum `now`.
    fn sent_at(&self, now: u64) -> Sum {
        self.sent.plus((now - self.at) as f64, self.step)
    }

    /// Advances `sent` to `now`; from then on `max_flows` flows share a port.
    fn share(&mut self, now: u64, max_flows: u32) {
        self.sent = self.sent_at(now);
        self.at = now;
        self.max_flows = max_flows;
        self.step = MB / f64::from(max_flows);
    }

    /// The quantum after which a flow may end next.
    fn next(&self) -> u64 {
        let end = self.ends.peek().map(|Reverse((end, _))| f64::from_bits(*end));
        end.map_or(u64::MAX, |end| {
            self.at + ((end - self.sent.value) / self.step).ceil().max(1.0) as u64
        })
    }
}

impl Fair {
    pub fn new(racks: usize) -> Self {
        Self {
            now: 0,
            horizon: 1 << 17,
            flows: Vec::new(),
            shuffles: Vec::new(),
            open: 0,
            without_bytes: Vec::new(),
            sending: Side::new(racks),
            receiving: Side::new(racks),
            pairs: vec![Pair::default(); racks * racks],
            next: vec![u64::MAX; racks * racks],
            near: Vec::new(),
        }
    }

    /// Updates the shares of pairs of racks whose numbers of flows have changed.
    fn update_shares(&mut self) {
        let racks = self.receiving.racks.len();
        let (senders, receivers) = (self.sending.note(self.now), self.receiving.note(self.now));
        for src in senders {
            (0..racks).for_each(|dst| self.share_pair(src, dst));
        }
        for dst in receivers {
            (0..racks).for_each(|src| self.share_pair(src, dst));
        }
    }

    fn share_pair(&mut self, src: usize, dst: usize) {
        let number = src * self.receiving.racks.len() + dst;
        let max_flows = self.sending.racks[src].flows.max(self.receiving.racks[dst].flows);
        if self.next[number] != u64::MAX && self.pairs[number].max_flows != max_flows {
            self.pairs[number].share(self.now, max_flows);
            self.next[number] = self.pairs[number].next();
        }
    }

    /// Counts one flow more or less at both racks.
    fn count(&mut self, src: usize, dst: usize, change: i32) {
        self.sending.count(src, change);
        self.receiving.count(dst, change);
    }

    /// The minimum value of its pair's `sent` at which a flow, or its reducer, can end before the
    /// horizon.
    fn earliest_end(&self, flow: &Flow) -> u64 {
        let drift = self.shuffles[flow.shuffle].drift(self.horizon);
        // A little less, for the rounding of this product and of a division.
        let end = (flow.target.value - (ZERO + drift)) * (1.0 - 1e-15);
        // Doubles that are not negative have the order of their bits.
        end.max(0.0).to_bits()
    }

    /// Moves the horizon to at least `quanta` from now.
    fn look_further(&mut self, quanta: u64) {
        if self.now + quanta < self.horizon {
            return;
        }
        self.horizon *= 2;
        for number in 0..self.pairs.len() {
            let ends = std::mem::take(&mut self.pairs[number].ends).into_vec();
            let later = |Reverse((_, flow))| Reverse((self.earliest_end(&self.flows[flow]), flow));
            let ends = ends.into_iter().map(later).collect();
            let pair = &mut self.pairs[number];
            pair.ends = ends;
            // Pairs without current shares are updated when they share again.
            if pair.max_flows > 0 {
                self.next[number] = pair.next();
            }
        }
    }

    /// Whether CoflowSim counts a flow as ended now.
    fn has_ended(&self, flow: usize, left: f64) -> bool {
        let drift = self.shuffles[self.flows[flow].shuffle].flow_drift(self.now);
        if (left - ZERO).abs() > drift {
            return left < ZERO;
        }
        let alone = f64::INFINITY;
        self.repeat(flow..flow + 1, alone).is_some_and(|left| left[0] <= ZERO)
    }

    /// Whether CoflowSim counts a reducer as ended now, although some of its flows have not ended.
    /// `left` is the number of bytes left of one of these.
    fn has_shuffle_ended(&self, shuffle: usize, left: f64) -> bool {
        let shuffle = &self.shuffles[shuffle];
        let max_left = ZERO + shuffle.drift(self.now);
        if shuffle.ended || left > max_left {
            return false;
        }
        let racks = self.receiving.racks.len();
        let open = shuffle.range().map(|f| &self.flows[f]).filter(|flow| !flow.ended);
        let left = open.map(|flow| {
            let pair = &self.pairs[flow.src * racks + shuffle.dst];
            flow.target.minus(pair.sent_at(self.now))
        });
        left.sum::<f64>() <= max_left && self.repeat(shuffle.range(), shuffle.bytes).is_none()
    }

    /// Repeats CoflowSim's subtractions up to now for some flows of one reducer, and for the
    /// reducer's count of bytes. Returns CoflowSim's count of bytes left of each flow; `None` if
    /// CoflowSim has ended the reducer.
    fn repeat(&self, flows: std::ops::Range<usize>, mut count: f64) -> Option<Vec<f64>> {
        let shuffle = &self.shuffles[self.flows[flows.start].shuffle];
        let mut at = shuffle.at;
        let mut receiver = self.receiving.racks[shuffle.dst].since(at);
        let senders = self.flows[flows].iter().map(|flow| self.sending.racks[flow.src].since(at));
        let mut senders: Vec<&[(u64, u32)]> = senders.collect();
        let mut left = vec![shuffle.flow_bytes; senders.len()];
        let mut steps = vec![0.0; senders.len()];
        while at < self.now {
            let mut until = catch_up(&mut receiver, at).min(self.now);
            for (step, sender) in steps.iter_mut().zip(&mut senders) {
                until = until.min(catch_up(sender, at));
                *step = MB / f64::from(sender[0].1.max(receiver[0].1));
            }
            // Until then the numbers of flows at the senders and the receiver do not change.
            while at < until {
                at += move_on(&mut left, &mut count, &steps, until - at)?;
            }
        }
        Some(left)
    }
}

/// Drops entries of a rack's history that ended by `at`. Returns the quantum at which the first
/// remaining entry ends.
fn catch_up(history: &mut &[(u64, u32)], at: u64) -> u64 {
    loop {
        match history.get(1) {
            Some(&(next, _)) if next <= at => *history = &history[1..],
            next => return next.map_or(u64::MAX, |&(next, _)| next),
        }
    }
}

/// Subtracts the bytes that flows send in each quantum from their bytes `left`, and from the
/// `count` of all, one flow after the other, in at most `quanta` quanta. Returns the number of
/// quanta; `None` if the count has come to its end.
fn move_on(left: &mut [f64], count: &mut f64, steps: &[f64], quanta: u64) -> Option<u64> {
    /// Up to this number single steps are faster.
    const FEW: u64 = 16;
    let open = |left: &f64| *left > ZERO;
    if quanta > FEW {
        let flows = || left.iter().zip(steps).filter(|(left, _)| open(left));
        let ends = flows().filter_map(|(left, step)| drain(*left, *step, quanta).ended);
        let together = ends.min().map_or(quanta, |end| end - 1);
        if together > 0 {
            let open_steps: Vec<f64> = flows().map(|(_, step)| *step).collect();
            let drained = left.iter_mut().zip(steps).filter(|(left, _)| open(left));
            drained.for_each(|(left, step)| *left = drain(*left, *step, together).left);
            return count_down(count, &open_steps, together).is_none().then_some(together);
        }
    }
    for (left, step) in left.iter_mut().zip(steps).filter(|(left, _)| open(left)) {
        let bytes = step.min(*left);
        *left -= bytes;
        *count -= bytes;
        if *count <= ZERO {
            return None;
        }
    }
    Some(1)
}

impl Moving for Fair {
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer) {
        if self.open == 0 {
            let racks = self.sending.racks.iter_mut().chain(&mut self.receiving.racks);
            racks.for_each(|rack| rack.history.clear());
        }
        let shuffle = self.shuffles.len();
        let flow_bytes = reducer.flow_bytes;
        self.shuffles.push(Shuffle {
            coflow,
            reducer: number,
            dst: reducer.rack,
            bytes: reducer.bytes,
            flow_bytes,
            at: self.now,
            first: self.flows.len(),
            flows: reducer.from.len(),
            ended: false,
        });
        if reducer.bytes == 0.0 {
            self.without_bytes.push(shuffle);
        }
        for &src in &reducer.from {
            self.count(src, reducer.rack, 1);
            self.open += 1;
            let number = src * self.receiving.racks.len() + reducer.rack;
            let pair = &mut self.pairs[number];
            if pair.ends.is_empty() {
                *pair = Pair { at: self.now, ..Pair::default() };
            }
            let target = pair.sent_at(self.now).plus(1.0, flow_bytes);
            // The pair shares again before any flow moves.
            pair.max_flows = 0;
            self.next[number] = self.now;
            let flow = Flow { shuffle, src, target, ended: false };
            let end = self.earliest_end(&flow);
            self.pairs[number].ends.push(Reverse((end, self.flows.len())));
            self.flows.push(flow);
        }
    }

    fn advance(&mut self, quanta: u64, ended: &mut Ended) -> u64 {
        let before = self.now;
        self.look_further(quanta);
        self.update_shares();
        let mut until = before + quanta;
        if !self.without_bytes.is_empty() {
            // A reducer with nothing to receive ends when a flow of it moves; every flow moves in
            // each quantum.
            until = before + 1;
            for shuffle in self.without_bytes.drain(..) {
                let shuffle = &mut self.shuffles[shuffle];
                shuffle.ended = true;
                ended.reducers.push([shuffle.coflow, shuffle.reducer]);
            }
        }
        let without_bytes = ended.reducers.len();
        while self.now < until && ended.flows.is_empty() && ended.reducers.len() == without_bytes {
            self.now = self
                .next
                .iter()
                .fold(until, |first, &next| if next < first { next } else { first });
            self.end_flows(ended);
        }
        self.now - before
    }
}

impl Fair {
    /// Ends the flows and reducers that end with the present quantum.
    fn end_flows(&mut self, ended: &mut Ended) {
        let now = self.now;
        let mut near = std::mem::take(&mut self.near);
        for number in 0..self.next.len() {
            if self.next[number] > now {
                continue;
            }
            let sent = self.pairs[number].sent_at(now);
            let first = near.len();
            while let Some(&Reverse((end, flow))) = self.pairs[number].ends.peek()
                && end <= sent.value.to_bits()
            {
                self.pairs[number].ends.pop();
                let left = self.flows[flow].target.minus(sent);
                if self.has_ended(flow, left) {
                    self.end_flow(flow, ended);
                } else {
                    near.push((flow, left));
                }
            }
            for &(flow, _) in &near[first..] {
                let end = self.earliest_end(&self.flows[flow]);
                self.pairs[number].ends.push(Reverse((end, flow)));
            }
            self.next[number] = self.pairs[number].next().max(now + 1);
        }
        for (flow, left) in near.drain(..) {
            let number = self.flows[flow].shuffle;
            if self.has_shuffle_ended(number, left) {
                let shuffle = &mut self.shuffles[number];
                shuffle.ended = true;
                ended.reducers.push([shuffle.coflow, shuffle.reducer]);
            }
        }
        self.near = near;
    }

    fn end_flow(&mut self, flow: usize, ended: &mut Ended) {
        self.flows[flow].ended = true;
        let Flow { shuffle, src, .. } = self.flows[flow];
        let &Shuffle { coflow, reducer, dst, first, .. } = &self.shuffles[shuffle];
        ended.flows.push(FlowId { coflow, reducer, mapper: flow - first });
        self.count(src, dst, -1);
        self.open -= 1;
    }
}
