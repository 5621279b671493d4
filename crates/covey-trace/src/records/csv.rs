//! Records as CSV: a header, then a line for each flow.
//!
//! The columns are `start_s,src,dst,sport,dport,proto,bytes,end_s,label`, in any order. The last three may be
//! missing, and their values may be empty.

use covey_identify::Observed;

use covey_core::suggest::{did_you_mean, nearest};

use super::draft::Draft;
use super::fields::{port, protocol, seconds};
use super::format::{First, Format};
use super::record::Hidden;
use super::table::{Header, Row};
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::read::{Rest, number};

/// All columns; the last three are optional.
pub(super) const COLUMNS: [&str; 9] =
    ["start_s", "src", "dst", "sport", "dport", "proto", "bytes", "end_s", "label"];

pub(super) const FORMAT: Format = Format {
    name: "csv",
    what: "a header start_s,src,dst,…",
    accepts: |line| line.split(',').any(|name| name.trim().eq_ignore_ascii_case("start_s")),
    read,
};

/// The places of the columns.
struct Layout {
    needed: [usize; 6],
    optional: [Option<usize>; 3],
}

fn read(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let header = Header::new(line.split(','));
    let layout = Layout::new(location, &header)?;
    while let Some((location, line)) = lines.next()? {
        let row = header.row(location, line, ',')?;
        layout.add(&row, draft)?;
    }
    Ok(())
}

impl Layout {
    fn new(location: Location<'_>, header: &Header) -> Result<Layout, TraceError> {
        let known = |name: &str| COLUMNS.iter().any(|it| it.eq_ignore_ascii_case(name));
        if let Some(name) = header.names().find(|name| !known(name)) {
            let expected = format_args!("the columns {}", COLUMNS.join(","));
            let found = format!("{}{}", quote(name), did_you_mean(nearest(name, COLUMNS)));
            return Err(location.bad("header", expected, found));
        }
        let mut needed = [0; 6];
        for (place, name) in needed.iter_mut().zip(COLUMNS) {
            *place = header.need(location, &[name])?;
        }
        let optional = [COLUMNS[6], COLUMNS[7], COLUMNS[8]].map(|name| header.place(&[name]));
        Ok(Layout { needed, optional })
    }

    fn add(&self, row: &Row<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let location = row.location;
        let [start_s, src, dst, sport, dport, proto] = self.needed.map(|place| row.get(place));
        let [bytes, end_s, label] = self.optional.map(|place| row.get_some(place));
        let flow = Observed {
            start_s: seconds(location, "start_s", start_s)?,
            src: draft.host(location, "src", src)?,
            dst: draft.host(location, "dst", dst)?,
            sport: port(location, "sport", sport)?,
            dport: port(location, "dport", dport)?,
            protocol: protocol(location, "proto", proto)?,
            packets: None,
            community: None,
        };
        let bytes = bytes.map(|text| number(location, "bytes", "bytes", text, MAX_BYTES));
        let hidden = Hidden {
            bytes: bytes.transpose()?,
            end_s: end_s.map(|text| seconds(location, "end_s", text)).transpose()?,
            label: draft.label(location, label.unwrap_or_default())?,
        };
        draft.push(location, flow, hidden)
    }
}
