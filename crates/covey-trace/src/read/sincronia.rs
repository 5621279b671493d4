//! The text format of Sincronia's workload generator:
//! `ID ARRIVAL_MS FLOWS SOURCES DESTINATIONS (src dst MB)…`, ports 0-based.
//!
//! The numbers of sources and destinations are redundant. They must be in range, but are not
//! compared with the flows. Two flows may have the same ends.

use super::draft::Draft;
use super::fields::{Fields, number};
use super::format::LineFormat;
use crate::MB;
use crate::error::TraceError;
use crate::limits::{MAX_BYTES, MAX_FLOWS};
use crate::workload::{Coflow, Flow};

pub(super) const FORMAT: LineFormat = LineFormat { fits: |_| false, seems: |_| true, coflow };

/// Reads the coflow of one line.
fn coflow(mut fields: Fields<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    let location = fields.location;
    let ports = draft.ports();
    let id = fields.text("id", "an id")?.to_owned();
    let arrival = fields.milliseconds("arrival")?;
    let num_flows = fields.integer("number of flows", "an integer", 1..=MAX_FLOWS)?;
    draft.announce(location, u64::from(num_flows))?;
    fields.integer("number of sources", "an integer", 1..=ports)?;
    fields.integer("number of destinations", "an integer", 1..=ports)?;

    let mut flows = Vec::new();
    for i in 1..=num_flows {
        let src = fields.port(format_args!("source of flow {i} of {num_flows}"), ports)?;
        let dst = fields.port(format_args!("destination of flow {i} of {num_flows}"), ports)?;
        let field = format_args!("size of flow {i} of {num_flows}");
        let text = fields.text(field, "MB")?;
        let mb = number(location, field, "MB", text, MAX_BYTES / MB)?;
        flows.push(Flow { src, dst, bytes: mb * MB, start_s: 0.0 });
    }
    fields.end(format_args!("{num_flows} flows"))?;
    draft.push(location, Coflow::new(id, 0.0, flows), arrival, Vec::new())
}
