//! `fifo-flow`: flows one by one, first come first served. Coflows do not matter.
//!
//! All flows form one queue in the order in which they started; ties go by arrival of the coflow,
//! then by index in it. Each takes all that is free on its links, so a port serves one flow at a
//! time.

use covey_core::{AnyPolicy, Promises, Share};

use crate::all_flows::AllFlows;
use crate::info::Info;

pub(crate) const INFO: Info = Info {
    name: "fifo-flow",
    knows: "unsized",
    summary: "flows one by one, in order of their starts",
    params: &[],
    source: "FIFO in Swallow (IPDPS 2018) Fig. 4",
    promises: |_| {
        Ok(Promises { conserves_work: true, starves_nobody: true, ..Promises::default() })
    },
    make: |_| Ok(AnyPolicy::NonClairvoyant(Box::new(AllFlows::new(Share::OLDEST_FIRST)))),
};
