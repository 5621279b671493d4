//! `sebf`: smallest effective bottleneck first (Varys, SIGCOMM 2014, §5).
//!
//! Coflows are ordered by Γ, the time the rest of the coflow needs when it is alone; see
//! [`ranked`](crate::ranked) for how they share.

use crate::ranked::{SHARE, ranked};
use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "sebf",
    knows: "sized",
    summary: "smallest effective bottleneck first",
    params: &[SHARE],
    source: "Varys (SIGCOMM 2014) 5.1, 5.2",
    make: |settings| ranked(settings, |view, coflow| view.bottleneck_s(coflow)),
};
