//! What coordinator and relay have in common: connections that are accepted, HTTP, credentials of
//! agents, and messages that are handed over one group at a time.

mod accept;
mod admission;
mod door_metrics;
mod http;
mod lock;
mod outbox;

pub(crate) use accept::{Stop, accept, bind};
pub(crate) use admission::{Admission, Stream, garbage, refuse};
pub(crate) use door_metrics::{METRICS_TYPE, write_doors};
pub(crate) use http::{Http, PROBES};
pub(crate) use lock::lock;
pub(crate) use outbox::{Outbox, Rest};
