//! The text format of [coflow-benchmark](https://github.com/coflow/coflow-benchmark), the format of
//! the public Facebook trace: `ID ARRIVAL_MS M mapper… R reducer:MB…`, and the one of
//! [IAOA and Yosemite](https://github.com/zhanghan1990/IAOA), which has a weight behind the id.
//!
//! A reducer's MB are shared equally by the mappers: one flow per pair. Flows come mapper by
//! mapper, and for each mapper reducer by reducer, both in the order of the line. The format merges
//! the tasks of a rack; where a line names a rack twice, the reader merges them as CoflowSim does.

use super::draft::Draft;
use super::fields::{Fields, number};
use super::format::LineFormat;
use super::shuffle::{Shuffle, reducer};
use crate::error::{TraceError, quote};
use crate::limits::{MAX_PORTS, MAX_WEIGHT};
use crate::workload::Coflow;

/// The format without weights.
pub(super) const FORMAT: LineFormat = LineFormat {
    fits: |line| fits(line, 2),
    seems: |line| line.contains(':'),
    coflow: |fields, draft| coflow(fields, draft, false),
};

/// The format with weights.
pub(super) const WEIGHTED: LineFormat = LineFormat {
    fits: |line| fits(line, 3),
    seems: |_| false,
    coflow: |fields, draft| coflow(fields, draft, true),
};

/// Whether the numbers of mappers and of reducers are right in a line in which the former is field
/// `at`.
fn fits(line: &str, at: usize) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let count = |at: usize| fields.get(at)?.parse::<usize>().ok();
    let reducers = fields.iter().rev().take_while(|field| field.contains(':')).count();
    let Some(mappers) = count(at).filter(|mappers| *mappers > 0) else { return false };
    reducers > 0
        && mappers.checked_add(at + 2 + reducers) == Some(fields.len())
        && count(at + 1 + mappers) == Some(reducers)
}

/// Reads the coflow of one line.
fn coflow(mut fields: Fields<'_>, draft: &mut Draft, weighted: bool) -> Result<(), TraceError> {
    let location = fields.location;
    let ports = draft.ports();
    let id = fields.text("id", "an id")?.to_owned();
    let mut weight = 1.0;
    if weighted {
        let text = fields.text("weight", "a weight")?;
        weight = number(location, "weight", "a weight", text, MAX_WEIGHT)?;
        if weight == 0.0 {
            return Err(location.bad("weight", "a weight above 0", quote(text)));
        }
    }
    let arrival = fields.milliseconds("arrival")?;

    let num_mappers = fields.integer("number of mappers", "an integer", 1..=MAX_PORTS)?;
    let mut mappers = Vec::new();
    for i in 1..=num_mappers {
        mappers.push(fields.port(format_args!("mapper {i} of {num_mappers}"), ports)?);
    }
    let num_reducers = fields.integer("number of reducers", "an integer", 1..=MAX_PORTS)?;
    let mut reducers = Vec::new();
    for i in 1..=num_reducers {
        let field = format_args!("reducer {i} of {num_reducers}");
        let text = fields.text(field, "RACK:MB")?;
        reducers.push(reducer(location, field, text, ports)?);
    }
    fields.end(format_args!("{num_reducers} reducers"))?;

    let mut shuffle = Shuffle { mappers, reducers };
    shuffle.merge(location, draft);
    let flows = shuffle.flows(location, draft)?;
    let coflow = Coflow { weight, ..Coflow::new(id, 0.0, flows) };
    draft.push(location, coflow, arrival, Vec::new())
}
