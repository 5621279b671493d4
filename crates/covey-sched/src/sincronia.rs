//! `sincronia`: the BSSI order on what is left, at every arrival and end of a coflow (Sincronia,
//! SIGCOMM 2018).
//!
//! The order is all that the policy decides; any work-conserving allocation that keeps it will do.

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Group, Plan, Policy, Promises, Share, View,
};

use crate::bssi::Bssi;
use crate::registry::{Info, Param};

pub(crate) const INFO: Info = Info {
    name: "sincronia",
    knows: "sized",
    summary: "bottleneck-select-scale-iterate order on remaining demand",
    params: &[Param {
        name: "share",
        default: "matching",
        help: "matching (one flow per port at full rate) or maxmin, in the order",
    }],
    source: "Sincronia (SIGCOMM 2018) 3",
    make: |settings| {
        let share = settings
            .choice("share", &[("matching", Share::MATCHING), ("maxmin", Share::MAX_MIN)])?;
        Ok(AnyPolicy::Sized(Box::new(Sincronia {
            share,
            bssi: Bssi::default(),
            arrived: Vec::new(),
        })))
    },
};

struct Sincronia {
    share: Share<Clairvoyant>,
    bssi: Bssi,
    arrived: Vec<CoflowId>,
}

impl Policy<Clairvoyant> for Sincronia {
    fn promises(&self) -> Promises {
        Promises { conserves_work: true, ..Promises::default() }
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        let capacity = view.fabric().capacity();
        self.arrived.clear();
        self.arrived.extend_from_slice(view.coflows());
        self.bssi.clear();
        for &coflow in &self.arrived {
            let loads =
                view.left_at(coflow).map(|(link, left)| (link, left / capacity[link.index()]));
            self.bssi.add(view.weight(coflow), loads);
        }
        plan.clear();
        for &k in self.bssi.order() {
            plan.push(Group::Coflow(self.arrived[k]), self.share);
        }
        Answer::Replaced
    }
}
