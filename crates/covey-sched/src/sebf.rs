//! `sebf`: smallest effective bottleneck first (Varys, SIGCOMM 2014, §5).
//!
//! Coflows are ordered by Γ, the time the rest of the coflow needs when it is alone. How they share
//! is in [`ranked`](crate::ranked); coflows with deadlines are in [`deadlines`](crate::deadlines).

use covey_core::{AnyPolicy, Backfill, Criterion, Promises};

use crate::deadlines::Deadlines;
use crate::info::Info;
use crate::rank::Tie;
use crate::ranked::{self, Key, Ranked, SHARE, WORK_CONSERVATION, offered};
use crate::spec::Param;

/// Values of the parameter `mode`: whether deadlines are met.
const MODES: &[(&str, bool)] = &[("cct", false), ("deadline", true)];

pub(crate) const INFO: Info = Info {
    name: "sebf",
    knows: "sized",
    summary: "smallest effective bottleneck first",
    params: &[
        SHARE,
        Param {
            name: "mode",
            default: "cct",
            help: "cct (completion times), or deadline (coflows whose deadlines can be kept are admitted when they arrive and go first; the others as under cct)",
        },
        Param {
            name: "padding",
            default: "0.1",
            help: "under mode=deadline, time to spare at admission, as a share of what is needed",
        },
        Param {
            name: "min",
            default: "200ms",
            help: "under mode=deadline, the shortest deadline that is admitted",
        },
        WORK_CONSERVATION,
    ],
    source: "Varys (SIGCOMM 2014) 5.1 to 5.3",
    promises: |settings| {
        // Rates that just meet a deadline leave capacity over, however the others share.
        let meets_deadlines = settings.choice("mode", MODES)?;
        let conserves_work = offered(settings)? == Backfill::Greedy;
        Ok(match meets_deadlines {
            true => Promises { conserves_work, ..Promises::default() },
            false => ranked::promises(settings)?,
        })
    },
    make: |settings| {
        let key = Key::new(
            |view, coflow| view.bottleneck_s(coflow),
            |key| Criterion::seconds("bottleneck", key),
        );
        let mut ranked = Ranked::from_settings(settings, Tie::Absolute, key)?;
        let meets_deadlines = settings.choice("mode", MODES)?;
        let padding = settings.number("padding", 0.0, 1e6)?;
        let min_s = settings.duration("min")?;
        if meets_deadlines {
            // Rates that just meet a deadline leave capacity over, however the others share.
            ranked.backfill = offered(settings)?;
        }
        Ok(AnyPolicy::Clairvoyant(if meets_deadlines {
            Box::new(Deadlines::new(ranked, padding, min_s))
        } else {
            Box::new(ranked)
        }))
    },
};
