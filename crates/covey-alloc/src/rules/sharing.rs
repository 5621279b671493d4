//! What a sharing rule is given, and what it answers.

use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use crate::water::filling::Filling;
use covey_core::Demand;
use covey_core::state::CoflowState;
use covey_core::{Group, Rule};

/// Level of a link that limits no flow, in bytes per second. It is finite, so that infinitely much
/// left minus any service stays infinitely much.
pub const UNLIMITED: f64 = 1e300;

/// A way in which the flows of one entry share what is free for them.
pub trait SharingRule {
    /// Gives `rates` to `flows`, and takes them from `free`: bytes per second at each local link of
    /// the coflow, at some of which something is left. `rates` is empty unless the rule
    /// [continues flows](SharingRule::continues_flows).
    ///
    /// # Errors
    /// When the plan asks for what the rule cannot give.
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError>;

    /// The rule by which backfill shares what the entry has and what is spare. `None` if the entry
    /// keeps what it has.
    fn in_backfill(&self, has_something: bool) -> Option<Rule>;

    /// Whether flows that have a rate go on before others begin. Such a rule gets the rates of
    /// single flows that the entry had before.
    fn continues_flows(&self) -> bool {
        false
    }

    /// Whether the rule gives nothing when a link that the coflow needs is full.
    fn needs_all_links(&self) -> bool {
        false
    }

    /// Whether the rule gives exactly what is asked for. Such a rule is called even where nothing
    /// can be sent, for a rate that does not fit is an error.
    fn is_exact(&self) -> bool {
        false
    }

    /// Whether an entry that gets nothing is worth looking at only when a link of its flows opens.
    fn waits_for_links(&self) -> bool {
        true
    }

    /// Whether the rule serves whole coflows only, as it goes by what is left of them.
    fn needs_whole_coflow(&self) -> bool {
        false
    }
}

/// The flows that an entry serves.
#[derive(Debug)]
pub struct EntryFlows<'a> {
    pub coflow: &'a CoflowState,
    /// Which of the coflow's flows.
    pub group: Group,
    /// Capacity of each link of the fabric.
    pub capacity: &'a [f64],
}

impl<'a> EntryFlows<'a> {
    /// The demand of the whole coflow.
    pub fn demand(&self) -> &'a Demand {
        self.coflow.demand()
    }

    /// Whether these are all flows of the coflow.
    pub fn is_whole(&self) -> bool {
        matches!(self.group, Group::Coflow(_))
    }

    /// Makes `positions` those of the active flows, ascending.
    pub fn select(&self, positions: &mut Vec<u32>) {
        let demand = self.demand();
        positions.clear();
        match self.group {
            Group::AllFlows | Group::Coflow(_) => {
                positions.extend(demand.active().map(|p| p as u32));
            }
            Group::CoflowAt(_, link) => {
                if let Some(l) = demand.links().iter().position(|&k| k == link) {
                    let here = demand.active().filter(|&p| demand.path(p).any(|k| k == l));
                    positions.extend(here.map(|p| p as u32));
                }
            }
            Group::Flow(flow) => {
                let position = demand.position(flow.index);
                positions.extend(demand.is_active(position).then_some(position as u32));
            }
        }
    }
}

/// What a rule gives. A rule uses one of these forms; the others are empty.
#[derive(Debug, Default)]
pub struct Rates {
    /// Level of each local link in bytes per second. A flow's rate is the least level on its path.
    pub levels: Vec<f64>,
    /// Under MADD, the rate of a flow over what is left of it.
    pub madd_ratio: f64,
    /// Where flows count for what is left of them, the lowest level of a flow, and the highest.
    pub lowest: f64,
    pub highest: f64,
    /// Rates of single flows.
    pub single: Vec<FlowRate>,
}

impl Rates {
    /// Withdraws all rates.
    pub fn clear(&mut self) {
        self.clear_shared();
        self.single.clear();
    }

    /// Withdraws all rates but those of single flows, from which the next decision may go on.
    pub fn clear_shared(&mut self) {
        self.levels.clear();
        self.madd_ratio = 0.0;
        (self.lowest, self.highest) = (0.0, 0.0);
    }

    /// Finds the lowest and the highest level of a flow.
    pub fn find_range(&mut self) {
        let limiting = self.levels.iter().filter(|level| **level < UNLIMITED);
        let both =
            |(lowest, highest): (f64, f64), level: &f64| (lowest.min(*level), highest.max(*level));
        (self.lowest, self.highest) = limiting.fold((f64::INFINITY, 0.0), both);
    }
}

/// Working memory of rules.
#[derive(Debug, Default)]
pub struct RuleScratch {
    /// Positions of the flows of an entry.
    pub positions: Vec<u32>,
    /// Flows whose rate is open at each local link.
    pub open: Vec<u32>,
    /// A number for each of `positions`, or for each local link.
    pub numbers: Vec<f64>,
    pub filling: Filling,
}

impl RuleScratch {
    /// Counts the flows of `positions` at each of so many local links.
    pub fn count(&mut self, demand: &Demand, links: usize) {
        self.open.clear();
        self.open.resize(links, 0);
        for &p in &self.positions {
            demand.path(p as usize).for_each(|l| self.open[l] += 1);
        }
    }
}

/// A rule that a plan may name for all flows only: for anything else it is an error.
#[derive(Debug)]
pub struct AllFlowsOnly {
    pub rule: Rule,
}

impl SharingRule for AllFlowsOnly {
    fn share(
        &self,
        _: &mut EntryFlows<'_>,
        _: &mut [f64],
        _: &mut Rates,
        _: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        Err(match self.rule {
            Rule::BySize => PlanError::BySizeOfAPart,
            _ => PlanError::FlowOrderOfAPart,
        })
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(self.rule)
    }
}

/// Whether some sender and some receiver with unfinished flows have capacity.
pub fn can_send(demand: &Demand, free: &[f64]) -> bool {
    let any =
        |mut links: std::ops::Range<usize>| links.any(|l| free[l] > 0.0 && demand.count()[l] > 0);
    let (senders, receivers) = (demand.senders(), demand.receivers());
    any(0..senders) && any(senders..senders + receivers)
}
