//! `fair`: exact max-min fairness among all flows, the ideal of TCP. Coflows do not matter.

use covey_core::{AnyPolicy, Promises, Share};

use crate::all_flows::AllFlows;
use crate::info::Info;

pub(crate) const INFO: Info = Info {
    name: "fair",
    knows: "unsized",
    summary: "exact per-flow max-min fairness",
    params: &[],
    source: "Bertsekas and Gallager, Data Networks, 6.5; FAIR in Philae 8.4",
    promises: |_| {
        Ok(Promises { conserves_work: true, starves_nobody: true, ..Promises::default() })
    },
    make: |_| Ok(AnyPolicy::NonClairvoyant(Box::new(AllFlows::new(Share::MAX_MIN)))),
};
