//! The text format of [coflow-benchmark](https://github.com/coflow/coflow-benchmark), the format of
//! the public Facebook trace: `ID ARRIVAL_MS M mapper… R reducer:MB…`.
//!
//! A reducer's MB are shared equally by the mappers: one flow per pair. Flows come mapper by
//! mapper, and for each mapper reducer by reducer, both in the order of the line. A rack is named
//! at most once as a mapper and once as a reducer, because the format merges the tasks of a rack.

use std::fmt::Display;

use super::draft::{Draft, first_duplicate};
use super::fields::{Fields, number};
use super::format::LineFormat;
use crate::MB;
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::workload::{Coflow, Flow};

/// Of the text formats, only this one has a colon in every line.
pub(super) const FORMAT: LineFormat = LineFormat { accepts: |line| line.contains(':'), coflow };

/// Reads the coflow of one line.
fn coflow(mut fields: Fields<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    let location = fields.location;
    let ports = draft.ports();
    let id = fields.text("id", "an id")?.to_owned();
    let arrival_s = fields.milliseconds("arrival")?;

    let num_mappers = fields.integer("number of mappers", "an integer", 1..=ports)?;
    let mut mappers = Vec::new();
    for i in 1..=num_mappers {
        mappers.push(fields.port(format_args!("mapper {i} of {num_mappers}"), ports)?);
    }
    each_once(location, "mappers", &mappers)?;

    let num_reducers = fields.integer("number of reducers", "an integer", 1..=ports)?;
    let mut reducers = Vec::new();
    for i in 1..=num_reducers {
        let field = format_args!("reducer {i} of {num_reducers}");
        let text = fields.text(field, "RACK:MB")?;
        let (dst, mb) = reducer(location, field, text, ports)?;
        reducers.push((dst, mb * MB / f64::from(num_mappers)));
    }
    let racks: Vec<u32> = reducers.iter().map(|&(dst, _)| dst).collect();
    each_once(location, "reducers", &racks)?;
    fields.end(format_args!("{num_reducers} reducers"))?;

    draft.announce(location, u64::from(num_mappers) * u64::from(num_reducers))?;
    let mut flows = Vec::with_capacity(mappers.len() * reducers.len());
    for &src in &mappers {
        flows.extend(reducers.iter().map(|&(dst, bytes)| Flow { src, dst, bytes, start_s: 0.0 }));
    }
    draft.push(location, Coflow::new(id, arrival_s, flows), Vec::new())
}

/// `RACK:MB` as a port and a number of MB.
fn reducer(
    location: Location<'_>,
    field: impl Display,
    text: &str,
    ports: u32,
) -> Result<(u32, f64), TraceError> {
    let Some((rack, mb)) = text.split_once(':') else {
        return Err(location.bad(field, "RACK:MB", quote(text)));
    };
    let Some(dst) = rack.parse().ok().filter(|&dst| dst < ports) else {
        let expected = format_args!("a port from 0 to {}", ports - 1);
        return Err(location.bad(field, expected, quote(rack)));
    };
    let mb = number(location, field, "MB", mb, MAX_BYTES / MB)?;
    Ok((dst, mb))
}

/// Rejects a rack named twice.
fn each_once(location: Location<'_>, field: &str, racks: &[u32]) -> Result<(), TraceError> {
    match first_duplicate(&mut racks.to_vec()) {
        None => Ok(()),
        Some(rack) => {
            let found = format_args!("{rack} twice");
            Err(location.bad(field, "each rack once", found))
        }
    }
}
