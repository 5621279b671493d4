//! What a file seems to be that is no trace, and what to do with it.

use crate::records;

/// The first bytes of binary files, and what such a file is.
const BINARY: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a zip archive: unpack it first, as with unzip -p FILE | covey … -"),
    (b"PAR1", "a Parquet file: name it as a file, neither compressed nor through a pipe"),
    (b"Obj\x01", "an Avro file: write its rows as JSON lines first"),
    (b"ORC", "an ORC file: write its rows as JSON lines first"),
    (b"SQLite format 3\0", "an SQLite database: write its rows as JSON lines or CSV first"),
    (b"\x89HDF\r\n", "an HDF5 file: write its values as JSON lines first"),
    (b"ARROW1\0\0", "an Arrow file: write its rows as JSON lines first"),
    (b"\xfd7zXZ\0", "an xz file: unpack it first, as with xz -dc FILE | covey … -"),
    (b"BZh", "a bzip2 file: unpack it first, as with bzip2 -dc FILE | covey … -"),
    (b"\x04\x22\x4d\x18", "an lz4 file: unpack it first, as with lz4 -dc FILE | covey … -"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as UTF-8"),
    (b"\xa1\xb2\xc3\xd4", PACKETS),
    (b"\xd4\xc3\xb2\xa1", PACKETS),
    (b"\x4d\x3c\xb2\xa1", PACKETS),
    (b"\x0a\x0d\x0d\x0a", PACKETS),
    (b"\x0c\xa5", NFCAPD),
    (b"\xa5\x0c", NFCAPD),
];
const PACKETS: &str =
    "captured packets: make flow records of them (Zeek, softflowd with nfdump) for covey identify";
const NFCAPD: &str =
    "flow records in nfdump's binary form: nfdump -r FILE -o csv writes text for covey identify";

/// What a file with these first bytes is, if that is no text.
pub(crate) fn binary(first: &[u8]) -> Option<&'static str> {
    BINARY.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, what)| *what)
}

/// What a file with this first line is, if that is a document and no table.
pub(crate) fn document(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let begins =
        |what: &str| line.get(..what.len()).is_some_and(|it| it.eq_ignore_ascii_case(what));
    Some(if begins("<!doctype html") || begins("<html") {
        "an HTML page: save the file itself, not the page that shows it"
    } else if line.starts_with('<') {
        "an XML file: write its flows as Covey JSON lines (docs/workloads.md)"
    } else if line.starts_with('{') && line.contains("\"Event\"") {
        "a Spark event log: `covey whatif LOG` answers what it would gain, and `covey whatif LOG -o trace.jsonl` makes a trace of it"
    } else if line.starts_with('[') {
        "a JSON array: Covey JSON lines have an object on each line (docs/workloads.md)"
    } else if line.starts_with("covey-topology") {
        "a topology: give it to --fabric file:PATH"
    } else if line.starts_with('{') && line.contains("\"covey_metric\"") {
        "a metric of covey identify: give it to --metric"
    } else {
        return None;
    })
}

/// What a file with this first line seems to be, if that is a table and no trace.
pub(crate) fn table(line: &str) -> Option<&'static str> {
    if !line.contains("covey_trace") && records::FORMATS.iter().any(|it| it.accepts(line)) {
        return Some("flow records");
    }
    (line.contains(',') && !line.contains(':')).then_some(
        "values separated by commas (a CSV file?): --columns start=NAME,src=NAME,dst=NAME,bytes=NAME says what they are",
    )
}
