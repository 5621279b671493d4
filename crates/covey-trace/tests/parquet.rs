//! Tables in Parquet files are read as the same tables in CSV.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use covey_trace::Source;

const SCHEMA: &str = "message flows {
    REQUIRED INT64 first (TIMESTAMP(MILLIS,true));
    REQUIRED BYTE_ARRAY client (STRING);
    REQUIRED BYTE_ARRAY server (STRING);
    OPTIONAL INT64 sent;
    REQUIRED DOUBLE ignored;
}";

const COLUMNS: &str = "start=first,src=client,dst=server,bytes=sent";

/// A file of this test alone, which goes with it.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str, bytes: &[u8]) -> TestFile {
        let name = format!("covey-parquet-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        TestFile(path)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Four flows in two groups of rows.
fn table(compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let names = |names: [&'static str; 2]| names.map(ByteArray::from);
    for (start, client, server, sent) in [
        (
            [1_714_557_600_000, 1_714_557_600_500],
            ["web-2", "web-1"],
            ["db", "db"],
            [Some(7), Some(9)],
        ),
        (
            [1_714_557_601_000, 1_714_557_602_000],
            ["web-1", "db"],
            ["cache", "web-2"],
            [Some(1), Some(4)],
        ),
    ] {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&start, None, None).unwrap();
        column.close().unwrap();
        for names in [names(client), names(server)] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let there: Vec<i64> = sent.into_iter().flatten().collect();
        let levels = sent.map(|sent| i16::from(sent.is_some()));
        column.typed::<Int64Type>().write_batch(&there, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5, 1.5], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// The coflows of a file as text, or the error.
fn opened(file: &TestFile, columns: &str) -> Result<String, String> {
    let items = vec![file.0.display().to_string()];
    let columns = Some(columns.parse().unwrap());
    let workload = Source { items, columns, ..Source::default() }
        .open(&mut |_| {})
        .map_err(|error| error.to_string())?;
    Ok(format!("{workload:?}"))
}

#[test]
fn a_table_is_read_as_in_csv_whatever_its_compression() {
    let csv = "first,client,server,sent\n\
        2024-05-01T10:00:00Z,web-2,db,7\n\
        2024-05-01T10:00:00.5Z,web-1,db,9\n\
        2024-05-01T10:00:01Z,web-1,cache,1\n\
        2024-05-01T10:00:02Z,db,web-2,4\n";
    let csv = opened(&TestFile::new("a.csv", csv.as_bytes()), COLUMNS).unwrap();
    assert!(csv.contains("web-2"), "{csv}");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd] {
        let file = TestFile::new("a.parquet", &table(compression));
        assert_eq!(opened(&file, COLUMNS).unwrap(), csv, "{compression:?}");
    }
}

/// AWS writes its flow logs as Parquet with `_` in names of fields.
#[test]
fn flow_logs_of_aws_are_known_by_their_columns() {
    let schema = "message log {
        REQUIRED BYTE_ARRAY srcaddr (STRING);
        REQUIRED BYTE_ARRAY dstaddr (STRING);
        REQUIRED INT64 bytes;
        REQUIRED INT64 start;
        REQUIRED INT64 end;
        REQUIRED BYTE_ARRAY action (STRING);
        REQUIRED BYTE_ARRAY log_status (STRING);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let texts = [["10.0.0.1", "10.0.0.3"], ["10.0.0.2", "10.0.0.2"]];
    let numbers = [[4249, 40], [1_700_000_010, 1_700_000_011], [1_700_000_070, 1_700_000_060]];
    let last = [["ACCEPT", "REJECT"], ["OK", "OK"]];
    for column in 0..7 {
        let mut writer = group.next_column().unwrap().unwrap();
        if (2..5).contains(&column) {
            writer.typed::<Int64Type>().write_batch(&numbers[column - 2], None, None).unwrap();
        } else {
            let texts = if column < 2 { texts[column] } else { last[column - 5] };
            let texts = texts.map(ByteArray::from);
            writer.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        }
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let file = TestFile::new("aws.parquet", &bytes);
    let mut notes = Vec::new();
    let items = vec![file.0.display().to_string()];
    let opened =
        Source { items, ..Source::default() }.open(&mut |note| notes.push(note.to_owned()));
    let workload = opened.unwrap();
    assert_eq!(workload.coflows.len(), 1, "{notes:?}");
    assert_eq!(workload.coflows[0].flows[0].bytes, 4249.0);
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let file = TestFile::new("b.parquet", &table(Compression::SNAPPY));
    let error = opened(&file, "start=first,src=clint,dst=server,bytes=sent").unwrap_err();
    assert!(error.contains("clint") && error.contains("client"), "{error}");
}

#[test]
fn broken_files_are_errors() {
    let whole = table(Compression::SNAPPY);
    for cut in [4, 8, 20, whole.len() / 2, whole.len() - 1] {
        let file = TestFile::new("c.parquet", &whole[..cut]);
        let error = opened(&file, COLUMNS).unwrap_err();
        assert!(error.contains("Parquet"), "{cut}: {error}");
    }
    for place in 4..whole.len() {
        let mut broken = whole.clone();
        broken[place] ^= 0x5a;
        // It may still be a table: what counts is that nothing panics.
        let _ = opened(&TestFile::new("d.parquet", &broken), COLUMNS);
    }
}
