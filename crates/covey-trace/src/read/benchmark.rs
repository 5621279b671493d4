//! The text format of [coflow-benchmark](https://github.com/coflow/coflow-benchmark), in which
//! the public Facebook trace comes: `ID ARRIVAL_MS M mapper… R reducer:MB…`.
//!
//! A reducer's MB are shared equally by the mappers: one flow per pair. Flows come mapper by
//! mapper, and for each mapper reducer by reducer, both in the order of the line. A rack is named
//! at most once as a mapper and once as a reducer, since the format has merged the tasks of a
//! rack.

use std::fmt::Display;

use super::draft::{Draft, first_duplicate};
use super::fields::{Fields, number};
use crate::MB;
use crate::error::{Place, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::workload::{Coflow, Flow};

/// Reads the coflow of one line.
pub(crate) fn coflow(mut fields: Fields<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    let place = fields.place;
    let ports = draft.ports();
    let id = fields.text("id", "an id")?.to_owned();
    let arrival_s = fields.milliseconds("arrival")?;

    let num_mappers = fields.integer("number of mappers", "an integer", 1..=ports)?;
    let mut mappers = Vec::new();
    for i in 1..=num_mappers {
        mappers.push(fields.port(format_args!("mapper {i} of {num_mappers}"), ports)?);
    }
    each_once(place, "mappers", &mappers)?;

    let num_reducers = fields.integer("number of reducers", "an integer", 1..=ports)?;
    let mut reducers = Vec::new();
    for i in 1..=num_reducers {
        let field = format_args!("reducer {i} of {num_reducers}");
        let text = fields.text(field, "RACK:MB")?;
        let (dst, mb) = reducer(place, field, text, ports)?;
        reducers.push((dst, mb * MB / f64::from(num_mappers)));
    }
    let racks: Vec<u32> = reducers.iter().map(|&(dst, _)| dst).collect();
    each_once(place, "reducers", &racks)?;
    fields.end(format_args!("{num_reducers} reducers"))?;

    draft.announce(place, u64::from(num_mappers) * u64::from(num_reducers))?;
    let mut flows = Vec::with_capacity(mappers.len() * reducers.len());
    for &src in &mappers {
        flows.extend(reducers.iter().map(|&(dst, bytes)| Flow { src, dst, bytes, start_s: 0.0 }));
    }
    draft.push(place, Coflow::new(id, arrival_s, flows), Vec::new())
}

/// `RACK:MB` as a port and a number of MB.
fn reducer(
    place: Place<'_>,
    field: impl Display,
    text: &str,
    ports: u32,
) -> Result<(u32, f64), TraceError> {
    let Some((rack, mb)) = text.split_once(':') else {
        return Err(place.bad(field, "RACK:MB", quote(text)));
    };
    let Some(dst) = rack.parse().ok().filter(|&dst| dst < ports) else {
        let expected = format_args!("a port from 0 to {}", ports - 1);
        return Err(place.bad(field, expected, quote(rack)));
    };
    let mb = number(place, field, "MB", mb, MAX_BYTES / MB)?;
    Ok((dst, mb))
}

/// Refuses a rack named twice.
fn each_once(place: Place<'_>, field: &str, racks: &[u32]) -> Result<(), TraceError> {
    match first_duplicate(&mut racks.to_vec()) {
        None => Ok(()),
        Some(rack) => {
            let found = format_args!("{rack} twice");
            Err(place.bad(field, "each rack once", found))
        }
    }
}
