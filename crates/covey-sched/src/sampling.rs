//! Pilot flows: a few flows of a coflow that are sent first, so that their sizes show the size of
//! the rest (Philae §4.2).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::{CoflowId, FlowId, Knowledge, Ordered, SplitMix, View};

use crate::settings::Settings;
use crate::spec::{Param, SpecError};

/// The parameter `pilots` of policies that sample.
pub(crate) const PILOTS: Param = Param {
    name: "pilots",
    default: "senders:0.05",
    help: "const:N, senders:X or flows:X (a share of the coflow's senders or flows)",
};

/// The median of numbers that are added one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningMedian {
    /// The lower half of the numbers, the middle one of an odd number included.
    lower: BinaryHeap<Ordered>,
    upper: BinaryHeap<Reverse<Ordered>>,
}

impl RunningMedian {
    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.lower.clear();
        self.upper.clear();
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        self.lower.push(Ordered(number));
        let greatest = self.lower.pop().expect("one was added");
        self.upper.push(Reverse(greatest));
        if self.upper.len() > self.lower.len() {
            let Reverse(least) = self.upper.pop().expect("one was added");
            self.lower.push(least);
        }
    }

    /// The median: the mean of the middle two of an even number. `None` when there are none.
    pub fn median(&self) -> Option<f64> {
        let lower = self.lower.peek()?.0;
        let is_odd = self.lower.len() > self.upper.len();
        let upper = self.upper.peek().filter(|_| !is_odd).map_or(lower, |Reverse(it)| it.0);
        Some(lower / 2.0 + upper / 2.0)
    }
}

/// How many pilots a coflow has; at least one, at most all its flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PilotCount {
    /// This many.
    Constant(u32),
    /// This share of its senders.
    OfSenders(f64),
    /// This share of its flows.
    OfFlows(f64),
}

impl PilotCount {
    /// From the parameter [`PILOTS`].
    pub(crate) fn from_settings(settings: &Settings) -> Result<PilotCount, SpecError> {
        let parsed = settings.text(PILOTS.name).split_once(':').and_then(|(of, value)| {
            let share = value.parse().ok().filter(|x| (0.0..=1.0).contains(x));
            match of {
                "const" => value.parse().ok().filter(|n| *n >= 1).map(PilotCount::Constant),
                "senders" => share.map(PilotCount::OfSenders),
                "flows" => share.map(PilotCount::OfFlows),
                _ => None,
            }
        });
        parsed.ok_or_else(|| {
            settings.bad(PILOTS.name, "const:N, senders:X or flows:X, N from 1 and X from 0 to 1")
        })
    }

    /// Number of pilots for a coflow with this many senders and flows.
    pub fn pilots(self, senders: usize, flows: usize) -> usize {
        let pilots = match self {
            PilotCount::Constant(n) => n as usize,
            PilotCount::OfSenders(share) => (share * senders as f64) as usize,
            PilotCount::OfFlows(share) => (share * flows as f64) as usize,
        };
        pilots.clamp(1, flows.max(1))
    }
}

/// How pilots are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PilotPorts {
    /// At the ports with the fewest pilots that have not ended.
    LeastBusy,
    /// At random, every flow with the same probability.
    Random,
}

/// Number of pilots at each link that have not ended.
#[derive(Debug)]
pub struct PilotLoad {
    ports: PilotPorts,
    random: SplitMix,
    at: Vec<u32>,
    /// Working memory: the coflow's flows that are chosen, by index, and the number of each
    /// sender's.
    chosen: Vec<bool>,
    chosen_of: Vec<u32>,
}

impl PilotLoad {
    /// No pilots yet. `seed` is that of [`PilotPorts::Random`].
    pub fn new(ports: PilotPorts, seed: u64) -> PilotLoad {
        PilotLoad {
            ports,
            random: SplitMix::new(seed),
            at: Vec::new(),
            chosen: Vec::new(),
            chosen_of: Vec::new(),
        }
    }

    /// Chooses `count` pilots among a coflow's unfinished flows and adds them to `pilots`.
    pub fn choose<K: Knowledge>(
        &mut self,
        coflow: CoflowId,
        count: usize,
        view: &View<'_, K>,
        pilots: &mut Vec<FlowId>,
    ) {
        self.at.resize(view.fabric().links(), 0);
        match self.ports {
            PilotPorts::LeastBusy => self.choose_least_busy(coflow, count, view, pilots),
            PilotPorts::Random => {
                let first = pilots.len();
                pilots.extend(view.flows(coflow));
                // The first steps of a random shuffle.
                let end = (first + count).min(pilots.len());
                for k in first..end {
                    let other = k + self.random.below((pilots.len() - k) as u64) as usize;
                    pilots.swap(k, other);
                }
                pilots.truncate(end);
                for &pilot in &pilots[first..] {
                    let (egress, ingress) = view.ends(pilot);
                    self.at[egress.index()] += 1;
                    self.at[ingress.index()] += 1;
                }
            }
        }
    }

    /// Takes the least busy sender, then its flow to the least busy receiver. Each choice counts
    /// for the next. Ties go by the coflow's order of flows.
    fn choose_least_busy<K: Knowledge>(
        &mut self,
        coflow: CoflowId,
        count: usize,
        view: &View<'_, K>,
        pilots: &mut Vec<FlowId>,
    ) {
        let senders = view.senders(coflow);
        self.chosen_of.clear();
        self.chosen_of.resize(senders, 0);
        self.chosen.clear();
        let flows = view.flows(coflow).map(|flow| flow.index as usize + 1).max();
        self.chosen.resize(flows.unwrap_or(0), false);
        for _ in 0..count {
            let loads = view.loads(coflow).take(senders).enumerate();
            let with_more = loads.filter(|(s, load)| load.unfinished > self.chosen_of[*s]);
            let by_load = with_more.map(|(s, load)| (self.at[load.link.index()], s));
            let Some((_, sender)) = by_load.min() else { return };
            let flows = view.flows_of_sender(coflow, sender);
            let flows = flows.filter(|flow| !self.chosen[flow.index as usize]);
            let Some(pilot) = flows.min_by_key(|&f| self.at[view.ends(f).1.index()]) else {
                return;
            };
            let (egress, ingress) = view.ends(pilot);
            self.at[egress.index()] += 1;
            self.at[ingress.index()] += 1;
            self.chosen[pilot.index as usize] = true;
            self.chosen_of[sender] += 1;
            pilots.push(pilot);
        }
    }

    /// Notes that a pilot has ended.
    pub fn ended<K: Knowledge>(&mut self, pilot: FlowId, view: &View<'_, K>) {
        let (egress, ingress) = view.ends(pilot);
        self.at[egress.index()] -= 1;
        self.at[ingress.index()] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition, of ascending numbers.
    fn median(ascending: &[f64]) -> Option<f64> {
        let upper = *ascending.get(ascending.len() / 2)?;
        let lower = ascending[(ascending.len() - 1) / 2];
        Some(lower / 2.0 + upper / 2.0)
    }

    #[test]
    fn the_median_is_between_the_middle_two() {
        let of = |numbers: &[f64]| {
            let mut running = RunningMedian::default();
            numbers.iter().for_each(|number| running.add(*number));
            running.median()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(of(&[4.0, 9.0, 1.0, 2.0]), Some(3.0));
    }

    #[test]
    fn a_median_that_runs_is_that_of_all_numbers() {
        let (mut random, mut all) = (SplitMix::new(1), Vec::new());
        let mut running = RunningMedian::default();
        for _ in 0..1000 {
            let number = random.below(100) as f64;
            running.add(number);
            all.push(number);
            all.sort_by(f64::total_cmp);
            assert_eq!(running.median(), median(&all));
        }
        running.clear();
        assert!(running.is_empty());
        assert_eq!(running.median(), None);
    }
}
