//! `ncf`: narrowest coflow first (Varys, SIGCOMM 2014, §5.3).
//!
//! The width of a coflow is the smaller of its numbers of senders and receivers, as in CoflowSim.
//! Backfill serves only coflows that got nothing from MADD. Otherwise narrow coflows with much to
//! send would take all spare capacity: on the Facebook trace the mean CCT is 42.6 s, and 53.5 s if
//! all coflows are offered it.

use covey_core::Criterion;

use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{self, Key, SHARE, WORK_CONSERVATION, ranked};
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "ncf",
    knows: "sized",
    summary: "narrowest coflow first: by the smaller of its numbers of senders and receivers",
    params: &[SHARE, Param { default: "skipped", ..WORK_CONSERVATION }],
    source: "NCF in Varys (SIGCOMM 2014) 5.3; CoflowSim",
    promises: ranked::promises,
    make: |settings| {
        let key = Key::new(
            |view, coflow| view.senders(coflow).min(view.receivers(coflow)) as f64,
            |key| Criterion::number("width", key),
        );
        ranked(settings, Tie::Relative, key)
    },
};
