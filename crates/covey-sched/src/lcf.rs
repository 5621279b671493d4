//! `lcf`: lightest coflow first, by the bytes left of all its flows (CoflowSim's name; "smallest
//! coflow first" in Varys, SIGCOMM 2014, §5.3).

use covey_core::Criterion;

use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{self, Key, SHARE, WORK_CONSERVATION, ranked};

pub(crate) const INFO: Info = Info {
    name: "lcf",
    knows: "sized",
    summary: "lightest coflow first: by the bytes left of all flows",
    params: &[SHARE, WORK_CONSERVATION],
    source: "LCF in CoflowSim; Varys (SIGCOMM 2014) 5.3",
    promises: ranked::promises,
    make: |settings| {
        let key = Key::new(
            |view, coflow| view.left_of(coflow),
            |key| Criterion::bytes("bytes left", key),
        );
        ranked(settings, Tie::Relative, key)
    },
};
