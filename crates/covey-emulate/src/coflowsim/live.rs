//! An admitted coflow and its progress.

use super::job::Job;
use super::moves::{Book, Move, book_all, book_at_once, ends};
use super::repeat::{count_down, drain};
use super::scale::{BYTES_PER_BPS, ZERO};

/// The maximum number of quanta between two updates of a coflow; the bounds on rounding below hold
/// up to it.
const HORIZON: u64 = 100_000;

/// The count of bytes that a policy reads. Each count costs time, and most policies need none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ledger {
    None,
    /// [`Live::sent`].
    Sent,
    /// [`Receiver::asked_left`].
    AskedLeft,
}

/// An admitted coflow.
#[derive(Debug, Clone)]
pub(super) struct Live {
    ledger: Ledger,
    /// CoflowSim's sum of the bytes that its flows have sent, quantum by quantum, reducer by
    /// reducer and flow by flow; kept for [`Ledger::Sent`].
    pub sent: f64,
    /// The reducers in order of rack.
    pub reducers: Vec<Receiver>,
    /// Number of quanta since the start for which this state holds.
    pub at: u64,
    /// The coflow does not end before this many quanta since the start.
    pub not_before: u64,
    /// The quantum after which it ended; `None` before.
    pub ended: Option<u64>,
    /// The quantum after which each flow ended; `u64::MAX` before.
    pub flow_ended: Vec<u64>,
}

/// A reducer of an admitted coflow.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    pub rack: usize,
    /// Flows that have not ended, in order of the mappers' racks.
    pub flows: Vec<Sending>,
    /// CoflowSim's own count of bytes left, which drifts away from the flows' counts. Zero when the
    /// reducer ends, and negative if flows go on after that.
    pub left: f64,
    pub ended: bool,
    /// Whether its flows move. A drifted count can leave flows behind. These stop when CoflowSim
    /// lays out flows again, but keep their bandwidth.
    pub moving: bool,
    /// CoflowSim's count of bytes asked for and not received, which does not fall below zero; kept
    /// for [`Ledger::AskedLeft`].
    asked_left: f64,
}

/// A flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    /// Its number in the coflow.
    pub number: u32,
    /// The mapper's rack.
    pub src: usize,
    /// Bytes left.
    pub left: f64,
    /// Its rate in bits per second.
    pub rate_bps: f64,
}

impl Live {
    /// The coflow `job`, admitted after `at` quanta. Its flows have no rates. When they have, the
    /// caller calls [`Live::look_ahead`].
    pub fn admit(job: &Job, at: u64, ledger: Ledger) -> Self {
        // They come second in `zip`, so that no number is drawn and lost behind the last mapper.
        let mut numbers = 0..;
        let receiver = |r: &super::job::Reducer| {
            let sending =
                |(&src, number)| Sending { number, src, left: r.flow_bytes, rate_bps: 0.0 };
            Receiver {
                rack: r.rack,
                flows: r.from.iter().zip(&mut numbers).map(sending).collect(),
                left: r.bytes,
                ended: false,
                moving: true,
                asked_left: r.asked_bytes,
            }
        };
        Self {
            ledger,
            sent: 0.0,
            reducers: job.reducers.iter().map(receiver).collect(),
            at,
            not_before: at,
            ended: None,
            flow_ended: vec![u64::MAX; job.flows()],
        }
    }

    /// Bytes that the coflow asked for and has not received.
    pub fn asked_left(&self) -> f64 {
        self.reducers.iter().map(|r| r.asked_left).sum()
    }

    /// Lays out the coflow's flows again: flows of ended reducers no longer move.
    pub fn lay_out(&mut self) {
        self.reducers.iter_mut().for_each(|r| r.moving = !r.ended);
    }

    /// Sets all rates to zero.
    pub fn stop(&mut self) {
        self.reducers.iter_mut().flat_map(|r| &mut r.flows).for_each(|f| f.rate_bps = 0.0);
    }

    /// Advances with the present rates to `quantum`, which is not after [`Live::not_before`].
    pub fn advance(&mut self, quantum: u64) {
        let quanta = quantum - self.at;
        if quanta == 0 || self.ended.is_some() {
            return;
        }
        let mut sent: Vec<Move> = Vec::new();
        for receiver in self.reducers.iter_mut().filter(|r| r.moving) {
            let moves = receiver.advance(self.at, quanta, &mut self.flow_ended);
            match self.ledger {
                Ledger::None => {}
                Ledger::Sent => sent.extend(moves),
                Ledger::AskedLeft => receiver.book_asked(&moves, quanta),
            }
        }
        self.sent = book_all(self.sent, &sent, quanta, Book::Add);
        self.at = quantum;
        if self.reducers.iter().all(|r| r.ended) {
            self.ended = Some(quantum);
            // Flows that a drifted count leaves behind end with their coflow.
            let left_behind = self.reducers.iter().flat_map(|r| &r.flows);
            left_behind.for_each(|f| self.flow_ended[f.number as usize] = quantum);
        }
    }

    /// Calculates a lower bound of the coflow's end at the present rates.
    pub fn look_ahead(&mut self) {
        let open = self.reducers.iter().filter(|r| !r.ended);
        let quanta = open.map(|r| r.quanta_left()).fold(0.0, f64::max);
        // The margin is larger than the rounding errors of so many subtractions, of thousands of
        // flows.
        let surely = (quanta * (1.0 - 1e-8) - 1.0).clamp(1.0, HORIZON as f64) as u64;
        self.not_before = if quanta.is_finite() { self.at + surely } else { u64::MAX };
    }
}

impl Receiver {
    /// Quanta until the reducer ends at the present rates, without rounding errors.
    fn quanta_left(&self) -> f64 {
        if self.left <= ZERO {
            return 1.0;
        }
        let (mut step, mut last) = (0.0, 0.0_f64);
        for flow in &self.flows {
            let flow_step = flow.rate_bps * BYTES_PER_BPS;
            step += flow_step;
            last = last.max((flow.left - ZERO) / flow_step);
        }
        last.min((self.left - ZERO) / step)
    }

    /// Advances all flows by `quanta` from `at`; returns the bytes that each sends.
    fn advance(&mut self, at: u64, quanta: u64, flow_ended: &mut [u64]) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        for flow in self.flows.iter_mut().filter(|f| f.rate_bps > 0.0) {
            let step = flow.rate_bps * BYTES_PER_BPS;
            let drained = drain(flow.left, step, quanta);
            flow.left = drained.left;
            if let Some(end) = drained.ended {
                flow_ended[flow.number as usize] = at + end;
            }
            moves.push(Move { step, last: drained.last, end: drained.ended.unwrap_or(u64::MAX) });
        }
        let (from, number) = if self.ended { (1, 0) } else { self.count(&moves, quanta) };
        if self.ended {
            self.count_on(&moves, from, number, quanta);
        }
        if moves.iter().any(|m| m.end <= quanta) {
            self.flows.retain(|f| flow_ended[f.number as usize] == u64::MAX);
        }
        moves
    }

    fn book_asked(&mut self, moves: &[Move], quanta: u64) {
        self.asked_left = book_all(self.asked_left, moves, quanta, Book::Take);
    }

    /// Subtracts all `moves` from the bytes left, in the order of the flows, quantum by quantum,
    /// until the reducer ends. Returns the next subtraction: its quantum, and the index of its
    /// move.
    fn count(&mut self, moves: &[Move], quanta: u64) -> (u64, usize) {
        // A reducer with nothing to receive ends at its first flow, and the bytes of that flow are
        // not counted.
        if self.left <= ZERO {
            self.end();
            let first_sends = self.flows.first().is_some_and(|flow| flow.rate_bps > 0.0);
            return (1, usize::from(first_sends));
        }
        let mut open = self.flows.len();
        if moves.iter().filter(|m| m.end <= quanta).count() < open
            && let Some(left) = book_at_once(self.left, moves, quanta, Book::Take)
            && left > ZERO
        {
            self.left = left;
            return (quanta + 1, 0);
        }
        let mut done = 0;
        let mut steps: Vec<f64> = Vec::new();
        for end in ends(moves).into_iter().chain([quanta + 1]) {
            let running = moves.iter().enumerate().filter(|(_, m)| m.end > done);
            steps.clear();
            steps.extend(running.clone().map(|(_, m)| m.step));
            if let Some((quantum, step)) = count_down(&mut self.left, &steps, end - done - 1) {
                self.end();
                let number = running.map(|(number, _)| number).nth(step);
                return (done + quantum, number.map_or(0, |number| number + 1));
            }
            if end > quanta {
                break;
            }
            for (number, m) in running {
                self.left -= m.in_quantum(end);
                open -= usize::from(m.end == end);
                if self.left <= ZERO || open == 0 {
                    self.end();
                    return (end, number + 1);
                }
            }
            done = end;
        }
        (quanta + 1, 0)
    }

    /// Continues the subtraction after the reducer has ended, from the move `number` in the quantum
    /// `from`: flows that a drifted count leaves behind make it negative.
    fn count_on(&mut self, moves: &[Move], from: u64, number: usize, quanta: u64) {
        let mut skip = number;
        for quantum in from..=quanta {
            for m in moves.iter().skip(skip).filter(|m| m.end >= quantum) {
                self.left -= m.in_quantum(quantum);
            }
            skip = 0;
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.left = 0.0;
    }
}
