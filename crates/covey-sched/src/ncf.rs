//! `ncf`: narrowest coflow first (Varys, SIGCOMM 2014, §5.3).
//!
//! How narrow a coflow is, the lesser of its numbers of senders and receivers tells, as in CoflowSim.

use crate::ranked::{SHARE, ranked};
use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "ncf",
    knows: "sized",
    summary: "narrowest coflow first: by the lesser of its numbers of senders and receivers",
    params: &[SHARE],
    source: "NCF in Varys (SIGCOMM 2014) 5.3; CoflowSim",
    make: |settings| {
        ranked(settings, |view, coflow| view.senders(coflow).min(view.receivers(coflow)) as f64)
    },
};
