//! `fifo`: coflows in order of arrival; what the first leaves goes to the second, and so on.

use covey_core::{
    Answer, AnyPolicy, Backfill, Group, Knowledge, Plan, Policy, Promises, Share, View,
};

use crate::registry::{Info, Param};

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
    make: |settings| {
        let by_size = settings.choice(
            "share",
            &[("maxmin", None), ("matching", Some(false)), ("madd", Some(true))],
        )?;
        Ok(match by_size {
            None => AnyPolicy::Unsized(Box::new(Fifo {
                share: Share::MAX_MIN,
                backfill: Backfill::None,
            })),
            Some(false) => AnyPolicy::Unsized(Box::new(Fifo {
                share: Share::MATCHING,
                backfill: Backfill::None,
            })),
            Some(true) => {
                AnyPolicy::Sized(Box::new(Fifo { share: Share::MADD, backfill: Backfill::Greedy }))
            }
        })
    },
};

struct Fifo<K> {
    share: Share<K>,
    backfill: Backfill,
}

impl<K: Knowledge + Copy> Policy<K> for Fifo<K> {
    fn promises(&self) -> Promises {
        Promises { conserves_work: true, starves_nobody: true, ..Promises::default() }
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        plan.clear();
        plan.set_backfill(self.backfill);
        for &coflow in view.coflows() {
            plan.push(Group::Coflow(coflow), self.share);
        }
        Answer::Replaced
    }
}
