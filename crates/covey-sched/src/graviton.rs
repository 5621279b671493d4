//! `graviton`: Aalo's queues, ordered by the space that a coflow takes (Graviton, HotCloud 2017).
//!
//! The publication's insight is that coflows block each other in space, at ports, and not only in
//! time: inside a queue narrow coflows go first, and a coflow takes all its ports together. The
//! publication leaves some rules open; they are those of Saath, its successor. So this is `saath`
//! without its per-flow limits and without its deadlines. It is an approximation of Graviton, not
//! the authors' system.

use covey_core::{AnyPolicy, Backfill, Promises};

use crate::info::Info;
use crate::queues::{self, Queues};
use crate::saath::{Order, Rules, Saath};
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "graviton",
    knows: "unsized",
    summary: "queues by bytes sent, narrow coflows first inside a queue, all ports together",
    params: &[
        queues::K,
        queues::E_OF_LIMITS,
        queues::Q1,
        Param { name: "order", default: "width", help: "inside a queue: width or contention" },
    ],
    source: "after Graviton (HotCloud 2017); simplified as Saath without per-flow limits and deadlines",
    promises: |_| Ok(Promises::default()),
    make: |settings| {
        Ok(AnyPolicy::NonClairvoyant(Box::new(Saath::new(Rules {
            queues: Queues::from_settings(settings)?,
            per_flow: false,
            order: settings
                .choice("order", &[("width", Order::Width), ("contention", Order::Contention)])?,
            deadline: 0.0,
            backfill: Backfill::Skipped,
            dynamics: false,
        }))))
    },
};
