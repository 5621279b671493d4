//! `coda`: coflows that nobody names, found and scheduled so that mistakes cost little (CODA,
//! SIGCOMM 2016).
//!
//! - [`identified`]: flows are clustered by how they look (§3). A flow goes to the coflow of the
//!   highest priority that it may belong to, and stays there once it has been sent (late binding,
//!   §4.2.1).
//! - [`labelled`]: coflows are known, so that errors of identification can be told from the rest.
//! - [`priorities`]: D-CLAS among coflows, and inside a coflow queues by what each flow has sent
//!   (Algorithm 2).
//!
//! Where starts overlap so that coflows cannot be told apart
//! ([`Observer::confidence`](covey_identify::Observer::confidence)), all flows are one coflow: they
//! share the links as they would without a policy.
//!
//! A coflow is demoted when its flows have sent the limit of its queue, and a flow when it has sent
//! that of its own. Flows of one coflow in one flow queue are a group of the policy's own making,
//! which shares max-min.
//!
//! As with Aalo's coordinator, groups are found, flows bound and coflows demoted every `delta`.

mod identified;
mod labelled;
mod priorities;
mod setup;

use covey_core::{AnyPolicy, Promises};
use covey_identify::Metric;

use crate::info::Info;
use crate::queues;
use crate::settings::Settings;
use crate::spec::Param;
use setup::{Labels, Setup};

/// Has flows compared by `metric`; see [`setup::use_metric`].
pub(crate) fn use_metric(settings: &mut Settings, metric: &Metric) {
    setup::use_metric(settings, metric);
}

pub(crate) const INFO: Info = Info {
    name: "coda",
    knows: "unlabelled",
    summary: "coflows found without labels; queues by bytes sent, of coflows and of their flows",
    params: &[
        Param {
            name: "eps",
            default: "1",
            help: "two flows at most this far apart are in one coflow, in units of the metric",
        },
        Param {
            name: "tau",
            default: "0.5",
            help: "flows this near to a leader are clustered by it, from 0 to eps",
        },
        Param {
            name: "d",
            default: "1",
            help: "late binding: a flow nearer than this to a coflow may belong to it; without effect up to eps",
        },
        Param {
            name: "confidence",
            default: "0.6",
            help: "with less confidence that coflows can be told apart all flows are one coflow, and none is held; 0: never",
        },
        queues::K,
        Param {
            name: "E",
            default: "10",
            help: "ratio of adjacent queue limits, and of the weights of queues",
        },
        queues::Q1,
        Param {
            name: "flow_q1",
            default: "10MiB",
            help: "limit of the first queue of flows inside a coflow",
        },
        Param { name: "delta", default: "8ms", help: "interval of coordination; 0 for at once" },
        Param { name: "queues", default: "strict", help: "strict or weighted, of coflows" },
        Param {
            name: "late",
            default: "true",
            help: "bind a flow to the coflow of the highest priority nearer than d when it is first sent; false: to its own",
        },
        Param {
            name: "inner",
            default: "true",
            help: "prefer flows that have sent little inside a coflow",
        },
        Param {
            name: "labels",
            default: "false",
            help: "true: coflows are known, and nothing is identified: unsized instead of unlabelled; told: flows of one community are a coflow, and nothing else counts",
        },
    ],
    source: "CODA (SIGCOMM 2016) 3, 4; queues and interval of Aalo",
    promises: |settings| {
        Setup::from_settings(settings)?;
        Ok(Promises::default())
    },
    make: |settings| {
        let setup = Setup::from_settings(settings)?;
        Ok(match setup.labels {
            Labels::Known => AnyPolicy::NonClairvoyant(Box::new(labelled::Labelled::new(&setup))),
            Labels::Found | Labels::Told => {
                AnyPolicy::Unlabelled(Box::new(identified::Identified::new(&setup)))
            }
        })
    },
};
