//! `pfp`: per-flow prioritisation, flows one by one, shortest remaining first. Coflows do not
//! matter.
//!
//! All flows form one queue, fewest bytes left first, ties in the order in which they started. Each
//! takes all that is free on its links, so a port serves one flow at a time. This is the ideal of
//! pFabric (SIGCOMM 2013). The queue is sorted whenever a flow starts or ends.

use covey_core::{AnyPolicy, Promises, Share};

use crate::all_flows::AllFlows;
use crate::info::Info;

pub(crate) const INFO: Info = Info {
    name: "pfp",
    knows: "sized",
    summary: "flows one by one, fewest bytes left first (also called srtf)",
    params: &[],
    source: "PFP in Swallow (IPDPS 2018) Fig. 4; pFabric (SIGCOMM 2013) 4",
    promises: |_| Ok(Promises { conserves_work: true, ..Promises::default() }),
    make: |_| Ok(AnyPolicy::Clairvoyant(Box::new(AllFlows::new(Share::SHORTEST_FIRST)))),
};
