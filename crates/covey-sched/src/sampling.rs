//! Pilot flows: which flows of a coflow are sent first so that their sizes tell about the rest
//! (Philae §4.2).

use covey_core::{CoflowId, FlowId, Knowledge, View};

use crate::registry::SpecError;
use crate::settings::Settings;

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

/// Pilots under way at each link.
#[derive(Debug, Default)]
pub struct PilotLoad {
    at: Vec<u32>,
    /// Flows of the coflow at hand that are chosen, by number, and how many of each sender.
    chosen: Vec<bool>,
    chosen_of: Vec<u32>,
}

impl PilotLoad {
    /// Chooses `count` pilots of a coflow at the ports where the fewest pilots are under way, and
    /// adds them to `pilots`: least busy sender first, then its flow to the least busy receiver;
    /// each choice counts for the next. Ties: the coflow's order of flows.
    pub fn choose<K: Knowledge>(
        &mut self,
        coflow: CoflowId,
        count: usize,
        view: &View<'_, K>,
        pilots: &mut Vec<FlowId>,
    ) {
        self.at.resize(view.fabric().links(), 0);
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
