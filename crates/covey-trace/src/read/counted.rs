//! Text that begins with `PORTS COFLOWS`, with a line for each coflow.

use super::draft::Draft;
use super::fields::Fields;
use super::format::{Format, LineFormat, Rest};
use super::{benchmark, sincronia};
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::workload::Workload;

/// The formats of lines. The first that accepts a line reads it; the last one accepts all lines.
static LINE_FORMATS: &[LineFormat] = &[benchmark::FORMAT, sincronia::FORMAT];

pub(super) const FORMAT: Format = Format {
    header: "PORTS COFLOWS (coflow-benchmark or Sincronia text)",
    accepts: |header| !header.contains(',') && !header.trim_start().starts_with('{'),
    read,
};

fn read(
    location: Location<'_>,
    header: &str,
    mut lines: Rest<'_>,
    name: &str,
) -> Result<Workload, TraceError> {
    let mut fields = Fields::new(location, header);
    let ports = fields.integer("number of ports", "an integer", 1..=MAX_PORTS)?;
    let coflows = fields.integer("number of coflows", "an integer", 0..=MAX_FLOWS)?;
    fields.end("PORTS COFLOWS")?;

    let mut draft = Draft::new(ports);
    let mut format = None;
    while let Some((location, line)) = lines.next()? {
        if draft.len() == coflows as usize {
            let expected = format_args!("{coflows}, as the first line says");
            let found = format_args!("one more: {}", quote(line));
            return Err(location.bad("coflows", expected, found));
        }
        if format.is_none() {
            format = LINE_FORMATS.iter().find(|format| (format.accepts)(line));
        }
        if let Some(format) = format {
            (format.coflow)(Fields::new(location, line), &mut draft)?;
        }
    }
    if draft.len() < coflows as usize {
        let expected = format_args!("{coflows}, as the first line says");
        let found = format_args!("{} at the end of the file", draft.len());
        return Err(lines.location().bad("coflows", expected, found));
    }
    draft.finish(name)
}
