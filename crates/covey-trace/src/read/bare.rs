//! The text of coflow-benchmark, with or without weights, without its first line: public copies lack it. The largest
//! rack gives the number of ports.

use super::benchmark::{FORMAT as PLAIN, WEIGHTED};
use super::draft::Draft;
use super::format::{Format, Notes, Rest};
use super::line_formats::CoflowLines;
use crate::error::{Location, TraceError};
use crate::limits::MAX_PORTS;
use crate::workload::Workload;

pub(super) const FORMAT: Format =
    Format { accepts: |line| (PLAIN.fits)(line) || (WEIGHTED.fits)(line), read };

fn read(
    location: Location<'_>,
    first: &str,
    mut lines: Rest<'_>,
    name: &str,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let mut draft = Draft::new(MAX_PORTS);
    let mut coflows = CoflowLines::default();
    coflows.take(location, first, &mut draft)?;
    while let Some((location, line)) = lines.next()? {
        coflows.take(location, line, &mut draft)?;
    }
    coflows.finish(name, &mut draft)?;
    draft.fit_ports();
    notes(&format!(
        "{name}: no first line PORTS COFLOWS: {} ports, from the largest rack",
        draft.ports()
    ));
    draft.finish(name, notes)
}
