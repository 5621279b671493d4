//! `ncf`: narrowest coflow first (Varys, SIGCOMM 2014, §5.3).
//!
//! How narrow a coflow is, the lesser of its numbers of senders and receivers tells, as in CoflowSim.
//! Leftovers go only to coflows that MADD has passed over: narrow coflows with much to send would take
//! them all (on the Facebook trace the mean CCT is 42.6 s, where all are offered them 53.5 s).

use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{SHARE, WORK_CONSERVATION, ranked};
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "ncf",
    knows: "sized",
    summary: "narrowest coflow first: by the lesser of its numbers of senders and receivers",
    params: &[SHARE, Param { default: "skipped", ..WORK_CONSERVATION }],
    source: "NCF in Varys (SIGCOMM 2014) 5.3; CoflowSim",
    make: |settings| {
        ranked(settings, Tie::Relative, |view, coflow| {
            view.senders(coflow).min(view.receivers(coflow)) as f64
        })
    },
};
