//! The flows of [HPCC's
//! simulator](https://github.com/alibaba-edu/High-Precision-Congestion-Control), `flow.txt`: the
//! number of flows, then `SRC DST PRIORITY [PORT] BYTES START_S` for each. A flow is a coflow of
//! its own, whose id is its number from 0. The largest host gives the number of ports.

use super::draft::Draft;
use super::fields::{Fields, check_room, check_total, number};
use super::format::{First, Format, Notes, Rest};
use crate::error::{TraceError, quote};
use crate::limits::{MAX_BYTES, MAX_FLOWS, MAX_PORTS};
use crate::workload::{Coflow, Flow, Workload};

pub(super) const FORMAT: Format = Format {
    // A larger number is a time, as above a sample of `ss`.
    accepts: |line| line.trim().parse().is_ok_and(|flows: u32| flows <= MAX_FLOWS),
    read,
};

fn read<'a>(
    (location, header): First<'a>,
    mut lines: Rest<'a>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let name = location.name;
    let flows =
        Fields::new(location, header).integer("number of flows", "an integer", 0..=MAX_FLOWS)?;
    let mut draft = Draft::new(MAX_PORTS);
    let mut columns = None;
    while let Some((location, line)) = lines.next()? {
        check_room(location, "flows", (flows as usize, draft.len()), line)?;
        let found = line.split_ascii_whitespace().count();
        let expected = *columns.get_or_insert(found);
        if !(5..=6).contains(&found) || found != expected {
            let expected = "SRC DST PRIORITY [PORT] BYTES START_S, as on the lines before";
            return Err(location.bad("flow", expected, quote(line)));
        }
        flow(Fields::new(location, line), found == 6, &mut draft)?;
    }
    check_total(lines.location(), "flows", (flows as usize, draft.len()))?;
    draft.fit_ports();
    notes(&format!(
        "{name}: flows of HPCC's simulator: each is a coflow; {} ports, from the largest host; priorities are not used",
        draft.ports()
    ));
    draft.finish(name, notes)
}

fn flow(mut fields: Fields<'_>, has_port: bool, draft: &mut Draft) -> Result<(), TraceError> {
    let (location, ports) = (fields.location, draft.ports());
    let src = fields.port("source", ports)?;
    let dst = fields.port("destination", ports)?;
    fields.integer("priority", "an integer", 0..=u32::MAX)?;
    if has_port {
        fields.integer("port", "an integer", 0..=65_535)?;
    }
    let text = fields.text("size", "bytes")?;
    let bytes = number(location, "size", "bytes", text, MAX_BYTES)?;
    let arrival = fields.seconds("start")?;
    draft.announce(location, 1)?;
    let flows = vec![Flow { src, dst, bytes, start_s: 0.0 }];
    draft.push(location, Coflow::new(draft.len().to_string(), 0.0, flows), arrival, Vec::new())
}
