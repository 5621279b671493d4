//! Coflows with deadlines: admission, and rates that are just enough (Varys, SIGCOMM 2014, §5.3).
//!
//! When a coflow arrives, Γ is calculated on the capacity that admitted coflows leave of each link.
//! The coflow is admitted if it can end in time, with some time to spare. From then on all its
//! flows get the rates with which they end together at the deadline, and no later coflow can delay
//! it. All others, those that were not admitted and those without a deadline, share the rest in an
//! order of their own.
//!
//! Admission counts only flows that are known on arrival, not those that start later or again. A
//! coflow that misses its deadline for such a reason continues among the others.

use covey_core::{
    Answer, Clairvoyant, CoflowId, Criterion, FlowId, Group, LinkId, Plan, Policy, Share, Time,
    View, Wants,
};

use crate::rank::KeyOrder;
use crate::ranked::Ranked;

/// Rounding of rates, as a share of a link's capacity.
const ROUNDING: f64 = 1e-10;

/// Serves admitted coflows first, and the others by rank.
pub(crate) struct Deadlines {
    others: Ranked<Clairvoyant>,
    order: KeyOrder,
    padding: f64,
    min_s: f64,
    /// Admitted coflows in order of arrival.
    admitted: Vec<CoflowId>,
    /// Bytes per second of each link that admitted coflows need.
    booked: Vec<f64>,
}

impl Deadlines {
    /// `padding` is the share of Γ by which a deadline must exceed Γ. `min_s` is the shortest
    /// deadline in seconds that is admitted.
    pub(crate) fn new(others: Ranked<Clairvoyant>, padding: f64, min_s: f64) -> Deadlines {
        Deadlines {
            others,
            order: KeyOrder::default(),
            padding,
            min_s,
            admitted: Vec::new(),
            booked: Vec::new(),
        }
    }

    /// Whether a coflow that has sent nothing can end within its deadline.
    fn admits(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) -> bool {
        let Some(deadline_s) = view.deadline_s(coflow).filter(|&d| d > 0.0 && d >= self.min_s)
        else {
            return false;
        };
        let capacity = view.fabric().capacity();
        self.booked.clear();
        self.booked.resize(capacity.len(), 0.0);
        for &earlier in &self.admitted {
            if let Some(deadline) = deadline(earlier, view) {
                let seconds = deadline - view.now();
                for (link, left) in view.left_at(earlier) {
                    self.booked[link.index()] += left / seconds;
                }
            }
        }
        // Γ (1 + padding) is at most the deadline.
        view.left_at(coflow).all(|(link, left)| {
            let need = left * (1.0 + self.padding) / deadline_s;
            let all = capacity[link.index()] * (1.0 + ROUNDING);
            left <= 0.0 || self.booked[link.index()] + need <= all
        })
    }
}

/// The deadline of a coflow, unless it has passed or there is none.
fn deadline(coflow: CoflowId, view: &View<'_, Clairvoyant>) -> Option<Time> {
    let deadline = view.arrival(coflow) + view.deadline_s(coflow)?;
    Some(deadline).filter(|deadline| !deadline.due(view.now()))
}

impl Policy<Clairvoyant> for Deadlines {
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, ..Wants::default() }
    }

    fn ranked_by(&self, flow: FlowId, _: LinkId, view: &View<'_, Clairvoyant>) -> Vec<Criterion> {
        let coflow = flow.coflow;
        match deadline(coflow, view).filter(|_| self.admitted.contains(&coflow)) {
            Some(_) => vec![
                Criterion::property("admitted with its deadline"),
                Criterion::seconds("arrival", view.arrival(coflow).as_secs()),
            ],
            None => vec![(self.others.key.criterion)(self.order.key(coflow))],
        }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) {
        if self.admits(coflow, view) {
            self.admitted.push(coflow);
        }
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.admitted.retain(|&c| c != coflow);
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        plan.clear();
        plan.set_backfill(self.others.backfill);
        self.admitted.retain(|&coflow| match deadline(coflow, view) {
            Some(deadline) => {
                plan.push(Group::Coflow(coflow), Share::madd_within(deadline - view.now()));
                plan.wake_at(deadline);
                true
            }
            None => false,
        });
        let admitted = &self.admitted;
        let Ranked { ref key, tie, share, .. } = self.others;
        let meant = |coflow| !admitted.contains(&coflow);
        let others = self.order.rank(view, tie, meant, |coflow| key.value(view, coflow));
        others.for_each(|coflow| plan.push(Group::Coflow(coflow), share));
        Answer::Replaced
    }
}
