//! The traces of [Sunflow's simulator](https://github.com/sunnyxhuang/sunflow): five fields between
//! tabs, `ID ARRIVAL_MS MAPPERS REDUCERS mapper,…#reducer:MB,…`, without a line before them.
//!
//! A reducer's MB are shared equally by the mappers. The largest rack gives the number of ports.

use super::draft::Draft;
use super::fields::Fields;
use super::format::{First, Format, Notes, Rest};
use super::shuffle::{Shuffle, port, reducer};
use crate::error::{TraceError, quote};
use crate::limits::MAX_PORTS;
use crate::workload::{Coflow, Workload};

pub(super) const FORMAT: Format = Format {
    accepts: |line| {
        line.contains('#') && line.contains(':') && line.split_ascii_whitespace().count() == 5
    },
    read,
};

fn read<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let name = first.0.name;
    let mut draft = Draft::new(MAX_PORTS);
    lines.each(first, |location, line| coflow(Fields::new(location, line), &mut draft))?;
    draft.fit_ports();
    notes(&format!(
        "{name}: a trace of Sunflow: {} ports, from the largest rack; a MB is 1,048,576 bytes, as in coflow-benchmark \
         (Sunflow's simulator takes 1,000,000)",
        draft.ports()
    ));
    draft.finish(name, notes)
}

fn coflow(mut fields: Fields<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    const SHUFFLE: &str = "mapper,…#reducer:MB,…";
    let (location, ports) = (fields.location, draft.ports());
    let id = fields.text("id", "an id")?.to_owned();
    let arrival = fields.milliseconds("arrival")?;
    let num_mappers = fields.integer("number of mappers", "an integer", 1..=MAX_PORTS)?;
    let num_reducers = fields.integer("number of reducers", "an integer", 1..=MAX_PORTS)?;
    let text = fields.text("flows", SHUFFLE)?;
    fields.end(SHUFFLE)?;
    let Some((mappers, reducers)) = text.split_once('#') else {
        return Err(location.bad("flows", SHUFFLE, quote(text)));
    };
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (i, rack) in (1..).zip(mappers.split(',')) {
        from.push(port(location, format_args!("mapper {i} of {num_mappers}"), rack, ports)?);
    }
    for (i, text) in (1..).zip(reducers.split(',')) {
        let field = format_args!("reducer {i} of {num_reducers}");
        to.push(reducer(location, field, text, ports)?);
    }
    for (what, expected, found) in
        [("mappers", num_mappers, from.len()), ("reducers", num_reducers, to.len())]
    {
        if found != expected as usize {
            let expected = format_args!("{expected}, as the number before says");
            return Err(location.bad(what, expected, found));
        }
    }
    // Two mappers on a rack are two: each sends its share.
    let flows = Shuffle { mappers: from, reducers: to }.flows(location, draft)?;
    draft.push(location, Coflow::new(id, 0.0, flows), arrival, Vec::new())
}
