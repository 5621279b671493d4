//! Tables whose columns have common names, such as `timestamp,src_ip,dst_ip,bytes`.

use super::columns::{Columns, separator_of};
use super::common_names;
use super::draft::Draft;
use super::format::{Format, Reading};
use super::table::Header;
use crate::error::TraceError;
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "table",
    what: "a header with names such as start,src,dst,bytes; --columns says others",
    accepts: |line| accepts_names(Header::new(line, separator_of(line)).names()),
    read: Reading::Lines(read),
};

/// Whether columns of these names have what flows need.
pub(super) fn accepts_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    ["start", "src", "dst"].iter().all(|key| !common_names::columns(key, names.clone()).is_empty())
}

fn read<'a>(first: First<'a>, lines: Rest<'a>, draft: &mut Draft) -> Result<(), TraceError> {
    Columns::default().read(first, lines, draft)
}
