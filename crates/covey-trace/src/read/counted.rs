//! Text that begins with `PORTS COFLOWS`, with a line for each coflow.

use super::draft::Draft;
use super::fields::Fields;
use super::foreign;
use super::format::{Format, Notes, Rest};
use super::line_formats::CoflowLines;
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::workload::Workload;

pub(super) const FORMAT: Format =
    Format { accepts: |header| foreign::table(header).is_none(), read };

fn read(
    location: Location<'_>,
    header: &str,
    mut lines: Rest<'_>,
    name: &str,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let mut fields = Fields::new(location, header);
    let ports = fields.integer("number of ports", "an integer", 1..=MAX_PORTS)?;
    let coflows = fields.integer("number of coflows", "an integer", 0..=MAX_FLOWS)?;
    fields.end("PORTS COFLOWS")?;

    let mut draft = Draft::new(ports);
    let mut read = CoflowLines::default();
    while let Some((location, line)) = lines.next()? {
        if draft.len() + read.kept() == coflows as usize {
            let expected = format_args!("{coflows}, as the first line says");
            let found = format_args!("one more: {}", quote(line));
            return Err(location.bad("coflows", expected, found));
        }
        read.take(location, line, &mut draft)?;
    }
    read.finish(name, &mut draft)?;
    if draft.len() < coflows as usize {
        let expected = format_args!("{coflows}, as the first line says");
        let found = format_args!("{} at the end of the file", draft.len());
        return Err(lines.location().bad("coflows", expected, found));
    }
    draft.finish(name, notes)
}
