//! `fifo`: coflows in order of arrival. The second gets the capacity that the first leaves, and so
//! on.

use covey_core::{
    Answer, AnyPolicy, Backfill, CoflowId, Criterion, FlowId, Knowledge, LinkId, Plan, Policy,
    Promises, Rank, Share, View,
};

use crate::info::Info;
use crate::kept_ranks::KeptRanks;
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "fifo",
    knows: "unsized",
    summary: "coflows in order of arrival",
    params: &[Param {
        name: "share",
        default: "maxmin",
        help: "inside a coflow: maxmin, matching (one flow per port at full rate), or madd with greedy backfill, which needs sizes",
    }],
    source: "FIFO in Philae 8.4; Varys (SIGCOMM 2014) 7",
    promises: |_| {
        Ok(Promises { conserves_work: true, starves_nobody: true, ..Promises::default() })
    },
    make: |settings| {
        let by_size = settings.choice(
            "share",
            &[("maxmin", None), ("matching", Some(false)), ("madd", Some(true))],
        )?;
        Ok(match by_size {
            None => AnyPolicy::NonClairvoyant(Box::new(Fifo::new(Share::MAX_MIN, Backfill::None))),
            Some(false) => {
                AnyPolicy::NonClairvoyant(Box::new(Fifo::new(Share::MATCHING, Backfill::None)))
            }
            Some(true) => {
                AnyPolicy::Clairvoyant(Box::new(Fifo::new(Share::MADD, Backfill::Greedy)))
            }
        })
    },
};

struct Fifo<K> {
    share: Share<K>,
    backfill: Backfill,
    ranks: KeptRanks,
    /// Coflows that have arrived since the last plan.
    arrived: Vec<CoflowId>,
}

impl<K> Fifo<K> {
    fn new(share: Share<K>, backfill: Backfill) -> Fifo<K> {
        Fifo { share, backfill, ranks: KeptRanks::default(), arrived: Vec::new() }
    }
}

impl<K: Knowledge + Copy> Policy<K> for Fifo<K> {
    fn ranked_by(&self, flow: FlowId, _: LinkId, view: &View<'_, K>) -> Vec<Criterion> {
        vec![Criterion::seconds("arrival", view.arrival(flow.coflow).as_secs())]
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, _: &View<'_, K>) {
        self.arrived.push(coflow);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, K>) {
        self.arrived.retain(|&arrived| arrived != coflow);
        self.ranks.leave(coflow);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        plan.set_backfill(self.backfill);
        let mut changed = self.ranks.clear_left(plan);
        for coflow in self.arrived.drain(..) {
            let rank = Rank::new(0, 0.0, view.order(coflow));
            changed |= self.ranks.put(plan, coflow, rank, self.share);
        }
        if changed { Answer::Replaced } else { Answer::Unchanged }
    }
}
