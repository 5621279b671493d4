//! `fair`: exact max-min fairness among all flows, the ideal of TCP. Coflows do not matter.

use covey_core::{AnyPolicy, Share};

use crate::everything::Everything;
use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "fair",
    knows: "unsized",
    summary: "exact per-flow max-min fairness",
    params: &[],
    source: "Bertsekas and Gallager, Data Networks, 6.5; FAIR in Philae 8.4",
    make: |_| Ok(AnyPolicy::Unsized(Box::new(Everything::new(Share::MAX_MIN, true)))),
};
