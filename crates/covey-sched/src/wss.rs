//! `wss`: weighted shuffle scheduling (Orchestra, SIGCOMM 2011, §5.3). Coflows do not matter, sizes
//! do.
//!
//! Each link is divided among all flows there in proportion to their sizes, so that the flows of
//! one transfer tend to end together. A flow gets the smaller share of its two links. As in the
//! paper, what a flow cannot use at one link because of the other stays idle.

use covey_core::{AnyPolicy, Promises, Share};

use crate::all_flows::AllFlows;
use crate::info::Info;

pub(crate) const INFO: Info = Info {
    name: "wss",
    knows: "sized",
    summary: "links divided in proportion to flow sizes",
    params: &[],
    source: "WSS in Orchestra (SIGCOMM 2011) 5.3; Swallow (IPDPS 2018) Fig. 4",
    promises: |_| Ok(Promises::default()),
    make: |_| Ok(AnyPolicy::Clairvoyant(Box::new(AllFlows::new(Share::BY_SIZE)))),
};
