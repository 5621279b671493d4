//! Pilot flows: which flows of a coflow are sent first so that their sizes tell about the rest
//! (Philae §4.2).

use covey_core::{CoflowId, FlowId, Knowledge, SplitMix, View};

use crate::settings::Settings;
use crate::spec::SpecError;

/// The median of some ascending numbers; `None` when there are none.
pub(crate) fn median(ascending: &[f64]) -> Option<f64> {
    let upper = *ascending.get(ascending.len() / 2)?;
    let lower = ascending[(ascending.len() - 1) / 2];
    Some(lower / 2.0 + upper / 2.0)
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
    /// From a parameter such as `senders:0.05`.
    pub(crate) fn from_settings(settings: &Settings, name: &str) -> Result<PilotCount, SpecError> {
        let parsed = settings.text(name).split_once(':').and_then(|(of, value)| {
            let share = value.parse().ok().filter(|x| (0.0..=1.0).contains(x));
            match of {
                "const" => value.parse().ok().filter(|n| *n >= 1).map(PilotCount::Constant),
                "senders" => share.map(PilotCount::OfSenders),
                "flows" => share.map(PilotCount::OfFlows),
                _ => None,
            }
        });
        parsed.ok_or_else(|| {
            settings.bad(name, "const:N, senders:X or flows:X, N from 1 and X from 0 to 1")
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

/// Where pilots go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PilotPorts {
    /// To the ports where the fewest pilots are under way.
    LeastBusy,
    /// Anywhere, every flow alike.
    Random,
}

/// Pilots under way at each link.
#[derive(Debug)]
pub struct PilotLoad {
    ports: PilotPorts,
    random: SplitMix,
    at: Vec<u32>,
    /// Flows of the coflow at hand that are chosen, by number, and how many of each sender.
    chosen: Vec<bool>,
    chosen_of: Vec<u32>,
}

impl PilotLoad {
    /// No pilots yet. `seed` decides where those at random ports go.
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
                // The beginning of a random order.
                let end = (first + count).min(pilots.len());
                for k in first..end {
                    let other = k + self.random.below(pilots.len() - k);
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

    /// Least busy sender first, then its flow to the least busy receiver; each choice counts for the
    /// next. Ties: the coflow's order of flows.
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

    /// A pilot has ended.
    pub fn ended<K: Knowledge>(&mut self, pilot: FlowId, view: &View<'_, K>) {
        let (egress, ingress) = view.ends(pilot);
        self.at[egress.index()] -= 1;
        self.at[ingress.index()] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }
}
