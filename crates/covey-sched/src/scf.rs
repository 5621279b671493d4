//! `scf`: shortest coflow first, by what is left of the longest flow (Varys, SIGCOMM 2014, §5.3).

use covey_core::Criterion;

use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{self, Key, SHARE, WORK_CONSERVATION, ranked};

pub(crate) const INFO: Info = Info {
    name: "scf",
    knows: "sized",
    summary: "shortest coflow first: by the bytes left of the longest flow",
    params: &[SHARE, WORK_CONSERVATION],
    source: "SCF in Varys (SIGCOMM 2014) 5.3; CoflowSim",
    promises: ranked::promises,
    make: |settings| {
        let key = Key::new(
            |view, coflow| view.flows(coflow).map(|flow| view.left(flow)).fold(0.0, f64::max),
            |key| Criterion::bytes("bytes left of the longest flow", key),
        );
        ranked(settings, Tie::Relative, key)
    },
};
