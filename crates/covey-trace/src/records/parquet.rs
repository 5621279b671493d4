//! Tables in Parquet files, with any columns, and flow logs of AWS.
//!
//! Rows are read one by one, so that memory does not grow with their number.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use time::OffsetDateTime;

use super::aws;
use super::columns::Columns;
use super::draft::Draft;
use super::table::Header;
use crate::error::{Location, TraceError, escape};

/// Bytes of a column in a row group, at most: more would not fit into memory.
const MOST: i64 = 1 << 30;

/// Whether a file is one of Parquet. Leaves it at its start.
pub(crate) fn is_parquet(file: &mut File) -> io::Result<bool> {
    let mut magic = [0; 4];
    // Pipes cannot be read again from their start, and Parquet cannot be read from them.
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let is_parquet = match file.read_exact(&mut magic) {
        Ok(()) => magic == *b"PAR1",
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error),
    };
    file.rewind()?;
    Ok(is_parquet)
}

/// Reads the rows of a file. In messages a row counts as a line.
pub(super) fn read(
    file: File,
    name: &str,
    columns: Option<&Columns>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let header_at = Location { name, line: 1 };
    let reader = SerializedFileReader::new(file).map_err(|error| broken(header_at, &error))?;
    let columns_of_groups = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    if let Some(large) = columns_of_groups.map(|it| it.uncompressed_size()).find(|it| *it > MOST) {
        let expected = "at most 1 GiB of a column in a row group";
        return Err(header_at.bad("row group", expected, large));
    }
    let schema = reader.metadata().file_metadata().schema();
    // Columns of lists and objects have no text.
    let fields: Vec<Arc<Type>> =
        schema.get_fields().iter().filter(|field| is_value(field)).cloned().collect();
    let names = fields.iter().map(|field| field.name().to_owned()).collect();
    let header = Header::of_names(names, ',');
    let layout = match columns {
        None if aws::accepts_names(&header) => aws::layout_of(header_at, header)?,
        None => Columns::default().layout(header_at, header, draft)?,
        Some(columns) => columns.layout(header_at, header, draft)?,
    };
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build();
    let projection = projection.map_err(|error| broken(header_at, &error))?;
    let mut rows =
        reader.get_row_iter(Some(projection)).map_err(|error| broken(header_at, &error))?;
    for number in 1.. {
        let location = Location { name, line: number };
        // The library panics where the bytes of a page are not what its header says.
        let next = catch_unwind(AssertUnwindSafe(|| rows.next()));
        let next =
            next.unwrap_or_else(|_| Some(Err(ParquetError::General("a broken page".into()))));
        let Some(row) = next else { break };
        let row = row.map_err(|error| broken(location, &error))?;
        let cells = row.get_column_iter().map(|(_, field)| Cow::Owned(text(field))).collect();
        let result = layout.header.of_cells(location, cells);
        let result = result.and_then(|row| layout.add_row(&row, draft));
        draft.accept(result)?;
    }
    Ok(())
}

/// Whether a column has one value in a row.
fn is_value(field: &Type) -> bool {
    use parquet::basic::Repetition;
    let info = field.get_basic_info();
    field.is_primitive() && info.has_repetition() && info.repetition() != Repetition::REPEATED
}

fn broken(location: Location<'_>, error: &ParquetError) -> TraceError {
    location.bad("row", "a whole Parquet file", escape(&error.to_string(), 200))
}

/// A value as a table of text would have it.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::TimestampMillis(ms) => date(i128::from(*ms) * 1_000_000),
        Field::TimestampMicros(us) => date(i128::from(*us) * 1_000),
        other => other.to_string(),
    }
}

/// The date and time so many nanoseconds after 1970.
fn date(nanoseconds: i128) -> String {
    match OffsetDateTime::from_unix_timestamp_nanos(nanoseconds) {
        Err(_) => format!("{nanoseconds} ns"),
        Ok(at) => format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.nanosecond()
        ),
    }
}
