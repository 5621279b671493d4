//! How a completion time came about.
//!
//! # Definition
//!
//! A coflow ends with its *last flow*, and that flow crosses the coflow's *bottleneck*: of all
//! links on the paths of the flows that end when the coflow does, the one at which all flows of the
//! coflow need the most time alone (bytes over capacity). Ties go to the flow that comes first in
//! the trace, and on its path to the link that comes first.
//!
//! Between two scheduling rounds all rates are constant. Such an interval of `dt` seconds is
//! divided as the capacity of the bottleneck is: a rate of `r` bytes per second at a link of
//! capacity `C` stands for `r / C · dt` seconds. The time goes
//!
//! 1. to [`Kind::Sending`], for the rates of the coflow's own flows;
//! 2. if the last flow cannot be sent, all else goes to [`Kind::Start`], [`Kind::Compression`] or
//!    [`Kind::Undecided`];
//! 3. otherwise to the other coflows at the bottleneck: to [`Kind::Waiting`] if the plan serves
//!    them before the last flow, and to [`Kind::Sharing`] if it serves them beside it. A flow
//!    behind the last flow in the plan gets only what that one cannot use, and does not count;
//! 4. what then remains of the capacity, if the bottleneck is not full, the last flow cannot use.
//!    The first link that is *full* says why: first the other links on its path, then, as all flows
//!    of a coflow may go together, the links of the coflow in the order of the fabric, unless the
//!    plan serves all flows as one group. The remaining time is divided among the coflows whose
//!    flows count there, the coflow itself among them, in proportion to their rates:
//!    [`Kind::OtherEnd`];
//! 5. if no link is full, it goes to [`Kind::Paced`].
//!
//! A link is full if the flows that count there take all of its capacity but a millionth; at the
//! bottleneck, that millionth goes to [`Kind::Sending`]. So the parts add up to the coflow
//! completion time, and [`Kind::Sending`] is the time that the coflow needs at its bottleneck
//! alone.
//!
//! Which flow stands before which is read from the plan: in strict order, by place; among weighted
//! layers, by place within a layer, while layers stand beside each other; among classes, by class;
//! among ports that divide their links, those with a share stand beside each other and before those
//! without; among all flows in an order, by that order. Tenants stand beside each other.

mod standing;
mod sums;
mod users;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use covey_core::{Fabric, FlowId, LinkId, PortId};
use covey_trace::Workload;

use covey_trace::results::{Explanation, Kind, Reason};

use crate::observer::{Observer, Round};
use covey_trace::results::Outcome;
use standing::Standings;
use sums::{Slice, Sums};
use users::{User, Users, last_flow};

/// The part of a link's capacity up to which it counts as full.
const NEARLY: f64 = 1e-6;
/// A part of a link's capacity that is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// Records how the completion times of some coflows come about, in a simulation whose outcome is
/// known already.
#[derive(Debug)]
pub struct Explainer {
    wanted: Vec<Wanted>,
    /// When each flow of the workload started, in seconds, and the number of flows before each
    /// coflow.
    starts_s: Vec<f64>,
    first_flow: Vec<usize>,
    /// Working memory: bytes per second that all flows send over each link in this round; `None`
    /// until a coflow asks.
    used: Option<Vec<f64>>,
}

/// A coflow whose completion time is to be explained.
#[derive(Debug)]
struct Wanted {
    explained: Explanation,
    /// When it ends, in seconds.
    completion_s: f64,
    /// Where its last flow was found.
    place: Option<FlowId>,
    sums: Sums,
}

impl Explainer {
    /// An explainer of the coflows with these indices in the workload. It observes a second
    /// simulation on `fabric`; `outcome` is that of the first. Both must run policies made in the
    /// same way.
    pub fn new(
        workload: &Workload,
        fabric: &Fabric,
        outcome: &Outcome,
        coflows: &[u32],
    ) -> Explainer {
        let mut flows = 0;
        let first_flow: Vec<usize> = workload
            .coflows
            .iter()
            .map(|coflow| {
                flows += coflow.flows.len();
                flows - coflow.flows.len()
            })
            .collect();
        let wanted = coflows.iter().map(|&coflow| {
            let ends_s = &outcome.flow_completion_s[first_flow[coflow as usize]..];
            let result = &outcome.coflows[coflow as usize];
            let (flow, bottleneck) =
                bottleneck(workload, fabric, coflow, ends_s, result.completion_s);
            let explained = Explanation {
                coflow,
                flow,
                bottleneck,
                release_s: result.release_s,
                cct_s: result.cct_s(),
                parts: Vec::new(),
            };
            let completion_s = result.completion_s;
            Wanted { explained, completion_s, place: None, sums: Sums::default() }
        });
        let wanted = wanted.collect();
        Explainer { wanted, starts_s: outcome.flow_start_s.clone(), first_flow, used: None }
    }

    /// The explanations, in the order in which the coflows were given.
    pub fn into_explanations(self) -> Vec<Explanation> {
        let parts =
            |wanted: Wanted| Explanation { parts: wanted.sums.into_parts(), ..wanted.explained };
        self.wanted.into_iter().map(parts).collect()
    }
}

/// The last flow of a coflow, and its bottleneck. `ends_s` has the ends of its flows first.
fn bottleneck(
    workload: &Workload,
    fabric: &Fabric,
    coflow: u32,
    ends_s: &[f64],
    completion_s: f64,
) -> (u32, LinkId) {
    let flows = &workload.coflows[coflow as usize].flows;
    let path = |index: u32| {
        let flow = &flows[index as usize];
        let mut path = Vec::new();
        let number = u64::from(coflow) << 32 | u64::from(index);
        fabric.path(PortId(flow.src), PortId(flow.dst), number, &mut path);
        path
    };
    let mut needs_s: BTreeMap<LinkId, f64> = BTreeMap::new();
    for (index, flow) in (0..).zip(flows) {
        for link in path(index) {
            *needs_s.entry(link).or_default() += flow.bytes / fabric.capacity()[link.index()];
        }
    }
    let last = (0..).zip(ends_s).take(flows.len()).filter(|&(_, end_s)| *end_s == completion_s);
    let links = last.flat_map(|(index, _)| path(index).into_iter().map(move |link| (index, link)));
    let first = (0, fabric.egress(PortId(flows[0].src)));
    let longest = links.fold((first, f64::NEG_INFINITY), |(best, most_s), at| {
        let need_s = needs_s[&at.1];
        if need_s > most_s { (at, need_s) } else { (best, most_s) }
    });
    longest.0
}

impl Observer for Explainer {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        let now_s = round.now.as_secs();
        self.used = None;
        let Explainer { wanted, starts_s, first_flow, used } = self;
        let mut standings = None;
        for wanted in wanted {
            wanted.sums.pass_to(now_s);
            if now_s < wanted.explained.release_s || now_s >= wanted.completion_s {
                continue;
            }
            let standings =
                standings.get_or_insert_with(|| Standings::new(round, starts_s, first_flow));
            let divided = divide(wanted, round, standings, used);
            wanted.sums.begin(now_s, divided);
        }
        ControlFlow::Continue(())
    }
}

/// Divides the time from this round on.
fn divide(
    wanted: &mut Wanted,
    round: &Round<'_>,
    standings: &Standings<'_>,
    used: &mut Option<Vec<f64>>,
) -> Vec<Slice> {
    let Explanation { coflow, flow, bottleneck, .. } = wanted.explained;
    wanted.place = last_flow(round.state, (coflow, flow), wanted.place);
    let capacity = |link: LinkId| round.state.fabric().capacity()[link.index()];
    let hindrance = match wanted.place {
        None => Some(standings.outside(coflow, flow)),
        Some(last) => standings.hindrance(last),
    };
    let last = wanted.place.filter(|_| hindrance.is_none());
    let here = Users::at(bottleneck, coflow, last, round, standings);
    let mut slices = Vec::new();
    let mut rest = 1.0 - here.own / capacity(bottleneck);
    if let (Some(kind), true) = (hindrance, rest > NEGLIGIBLE) {
        slices.push(Slice::of(kind, rest));
    } else if let Some(last) = last {
        for user in &here.others {
            let share = user.rate / capacity(bottleneck);
            let kind = if user.is_before { Kind::Waiting } else { Kind::Sharing };
            slices.push(Slice {
                other: Some(user.coflow),
                link: Some(bottleneck),
                reason: reason(user, last, bottleneck, round, standings),
                ..Slice::of(kind, share)
            });
            rest -= share;
        }
        if rest > NEARLY {
            match full_link(wanted, last, round, standings, used) {
                None => slices.push(Slice::of(Kind::Paced, rest)),
                Some((link, there)) => {
                    let own = (there.own > 0.0).then_some((coflow, there.own, None));
                    let others = there.others.iter().map(|user| {
                        let reason = reason(user, last, link, round, standings);
                        (user.coflow, user.rate, reason)
                    });
                    let all = there.counted();
                    slices.extend(own.into_iter().chain(others).map(|(other, rate, reason)| {
                        Slice {
                            other: Some(other),
                            link: Some(link),
                            reason,
                            ..Slice::of(Kind::OtherEnd, rest * rate / all)
                        }
                    }));
                }
            }
        }
    }
    // The last slice gets what rounding leaves of the time.
    slices.push(Slice {
        link: Some(bottleneck),
        ..Slice::of(Kind::Sending, here.own / capacity(bottleneck))
    });
    slices
}

/// Why a coflow is served before a flow at a link, if it is.
fn reason(
    user: &User,
    flow: FlowId,
    link: LinkId,
    round: &Round<'_>,
    standings: &Standings<'_>,
) -> Option<Reason> {
    if user.is_before { standings.reason(user.flow, flow, link, round) } else { None }
}

/// The link that keeps the last flow from using what is left for it at the bottleneck, and who uses
/// that link.
fn full_link(
    wanted: &Wanted,
    last: FlowId,
    round: &Round<'_>,
    standings: &Standings<'_>,
    used: &mut Option<Vec<f64>>,
) -> Option<(LinkId, Users)> {
    let Explanation { coflow, bottleneck, .. } = wanted.explained;
    let state = round.state;
    let capacity = |link: LinkId| state.fabric().capacity()[link.index()];
    let demand = state.coflow(last.coflow).demand();
    let look = |link: LinkId| {
        let users = Users::at(link, coflow, Some(last), round, standings);
        let is_full = is_full(users.counted() / capacity(link));
        is_full.then_some((link, users))
    };
    let path = demand.path(demand.position(last.index)).map(|l| demand.links()[l]);
    if let Some(found) = path.filter(|&link| link != bottleneck).find_map(look) {
        return Some(found);
    }
    if standings.serves_all_flows(last) {
        return None;
    }
    let used = used.get_or_insert_with(|| users::all_used(round));
    let links = demand.links().iter().zip(demand.count()).filter(|&(_, &flows)| flows > 0);
    let mut links: Vec<LinkId> = links.map(|(&link, _)| link).collect();
    links.sort_unstable();
    links.into_iter().filter(|&link| is_full(used[link.index()] / capacity(link))).find_map(look)
}

/// Whether a link of which this part is used is full.
fn is_full(part: f64) -> bool {
    part >= 1.0 - NEARLY
}
