//! The text of coflow-benchmark, with or without weights, without its first line: public copies
//! lack it. The largest rack gives the number of ports.

use super::benchmark::{FORMAT as PLAIN, WEIGHTED};
use super::draft::Draft;
use super::format::{First, Format, Notes, Rest};
use super::line_formats::CoflowLines;
use crate::error::TraceError;
use crate::limits::MAX_PORTS;
use crate::workload::Workload;

pub(super) const FORMAT: Format =
    Format { accepts: |line| (PLAIN.fits)(line) || (WEIGHTED.fits)(line), read };

fn read<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let name = first.0.name;
    let mut draft = Draft::new(MAX_PORTS);
    let mut coflows = CoflowLines::default();
    lines.each(first, |location, line| coflows.take(location, line, &mut draft))?;
    coflows.finish(name, &mut draft)?;
    draft.fit_ports();
    notes(&format!(
        "{name}: no first line PORTS COFLOWS: {} ports, from the largest rack",
        draft.ports()
    ));
    draft.finish(name, notes)
}
