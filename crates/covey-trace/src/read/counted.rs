//! Text that begins with `PORTS COFLOWS`, with a line for each coflow.

use super::draft::Draft;
use super::fields::{Fields, check_room, check_total};
use super::foreign;
use super::format::{First, Format, Notes, Rest};
use super::line_formats::CoflowLines;
use crate::error::TraceError;
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::workload::Workload;

pub(super) const FORMAT: Format =
    Format { accepts: |header| foreign::table(header).is_none(), read };

fn read<'a>(
    (location, header): First<'a>,
    mut lines: Rest<'a>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let name = location.name;
    let mut fields = Fields::new(location, header);
    let ports = fields.integer("number of ports", "an integer", 1..=MAX_PORTS)?;
    let coflows = fields.integer("number of coflows", "an integer", 0..=MAX_FLOWS)?;
    fields.end("PORTS COFLOWS")?;

    let mut draft = Draft::new(ports);
    let mut read = CoflowLines::default();
    while let Some((location, line)) = lines.next()? {
        check_room(location, "coflows", (coflows as usize, draft.len() + read.kept()), line)?;
        read.take(location, line, &mut draft)?;
    }
    read.finish(name, &mut draft)?;
    check_total(lines.location(), "coflows", (coflows as usize, draft.len()))?;
    draft.finish(name, notes)
}
