//! `lcf`: lightest coflow first, by the bytes left of all its flows (CoflowSim's name; "smallest
//! coflow first" in Varys, SIGCOMM 2014, §5.3).

use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{self, SHARE, WORK_CONSERVATION, ranked};

pub(crate) const INFO: Info = Info {
    name: "lcf",
    knows: "sized",
    summary: "lightest coflow first: by the bytes left of all flows",
    params: &[SHARE, WORK_CONSERVATION],
    source: "LCF in CoflowSim; Varys (SIGCOMM 2014) 5.3",
    promises: ranked::promises,
    make: |settings| ranked(settings, Tie::Relative, |view, coflow| view.left_of(coflow)),
};
