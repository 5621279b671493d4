//! Reads topology files.

mod draft;
mod htsim;
mod listed;

use std::io::BufRead;

use covey_trace::TraceError;
use covey_trace::text::{Lines, decompressed, quote};

pub use draft::FileTopology;

/// Most bytes of a line.
const MAX_LINE_BYTES: usize = 1 << 20;
/// The first word of Covey's own form, and its version.
const HEADER: [&str; 2] = ["covey-topology", "1"];

/// Reads the topology file `source`, which messages call `name`. Links without a capacity carry
/// `rate` bytes per second. The content decides between two forms:
///
/// - Covey's own, whose first line is `covey-topology 1`, see docs/fabrics.md;
/// - the `.topo` files of htsim, which describe a tree of two or three tiers by numbers.
///
/// `#` starts a comment, and blank lines are skipped. The file may be compressed by gzip or zstd.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that are invalid; [`TraceError::Io`] is a failure
/// to read.
pub fn read(source: impl BufRead, name: &str, rate: f64) -> Result<FileTopology, TraceError> {
    let mut source = decompressed(source).map_err(|error| TraceError::io(name, error))?;
    let mut lines: TextLines<'_> = Lines::with_limit(&mut source, name, MAX_LINE_BYTES);
    let expected = "'covey-topology 1', or 'Nodes NUMBER' as in a .topo file of htsim";
    while let Some((location, line)) = lines.next()? {
        let words = words(line);
        match words.as_slice() {
            [] => {}
            words if words == HEADER => return listed::read(lines, rate),
            [first, ..] if htsim::is_header(first) => {
                let first = line.to_owned();
                return htsim::read((location, first), lines);
            }
            _ if line.trim_start().starts_with('<') => {
                let found =
                    "an HTML or XML file: save the topology itself, not a page that shows it";
                return Err(location.bad("header", expected, found));
            }
            _ => return Err(location.bad("header", expected, quote(line))),
        }
    }
    Err(lines.location().bad("header", expected, "the end of the file"))
}

/// The lines of a topology file.
type TextLines<'a> = Lines<'a, &'a mut dyn BufRead>;

/// The words of a line before a comment.
fn words(line: &str) -> Vec<&str> {
    line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect()
}
