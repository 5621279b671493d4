//! Any bytes give a one-line error, or flow records of which no flow is lost: neither in groups,
//! nor in a workload, nor when they are written and read again. The options are those that the
//! first byte names.

#![allow(dead_code, reason = "not every target needs all of it")]

use covey_identify::{Algorithm, Metric, identify};
use covey_trace::records::{Grouped, Options, Reader, Records, Stitch, format, read, write_records};
use covey_trace::TraceError;

/// Reads `bytes` as flow records in the format of this name.
pub fn check(name: &str, bytes: &[u8]) {
    let format = Some(format(name).expect("a format"));
    check_with(Options { format, ..Options::default() }, bytes);
}

/// Reads `bytes` as a table whose map is the first line.
pub fn check_columns(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (map, table) = text.split_once('\n').unwrap_or((&text, ""));
    match map.parse() {
        Ok(columns) => {
            check_with(Options { columns: Some(columns), ..Options::default() }, table.as_bytes());
        }
        Err(error) => check_error(&error),
    }
}

fn check_error(error: &TraceError) {
    assert_eq!(error.to_string().lines().count(), 1);
}

fn check_with(options: Options, bytes: &[u8]) {
    let (&way, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let stitch = [Stitch::WhereShown, Stitch::UpTo(5.0), Stitch::Off][usize::from(way % 3)];
    let options =
        Options { stitch, skip_bad: way & 64 != 0, strict: way & 128 != 0, ..options };
    // The same flows in two files are the same flows.
    let read_all = |times: usize| -> Result<Records, TraceError> {
        let mut reader = Reader::new(options.clone());
        (0..times).try_for_each(|_| reader.read(bytes, "fuzz"))?;
        reader.finish()
    };
    match read_all(1) {
        Err(error) => check_error(&error),
        Ok(records) => {
            check_groups(&records);
            let mut file = Vec::new();
            write_records(&records, &mut file).expect("writing to memory");
            let again = read(file.as_slice(), "fuzz", None).expect("what was written");
            assert_eq!(records.flows.len(), again.flows.len());
            assert_eq!(flows(&records), flows(&again));
            if let Ok(twice) = read_all(2) {
                assert!(twice.flows.len() >= records.flows.len());
            }
        }
    }
}

fn check_groups(records: &Records) {
    let groups = identify(&records.flows, &Metric::default(), Algorithm::DEFAULT);
    let grouped = Grouped::new(records, groups);
    let flows: u64 = grouped.groups.iter().map(|group| group.flows).sum();
    assert_eq!(flows, records.flows.len() as u64);
    assert!(grouped.groups.iter().all(|group| group.flows > 0));
    if let Ok((workload, left)) = grouped.workload() {
        assert_eq!(workload.num_flows() as u64 + left.flows, flows);
        assert_eq!(workload.coflows.len() as u64 + left.groups, grouped.groups.len() as u64);
    }
}

/// The flows as texts.
fn flows(records: &Records) -> Vec<String> {
    let all = records.flows.iter().zip(&records.hidden);
    let text = |(flow, hidden): (&covey_identify::Observed, &covey_trace::records::Hidden)| {
        let label = hidden.label.map(|label| &records.labels[label as usize]);
        let ends = [flow.src, flow.dst].map(|host| records.host(host));
        let ports = (flow.sport, flow.dport, flow.protocol);
        format!(
            "{:.6} {ends:?} {ports:?} {:?} {:?} {label:?}",
            records.on_clock(flow.start_s).as_secs(),
            hidden.bytes,
            hidden.end_s.map(|end_s| format!("{:.6}", records.on_clock(end_s).as_secs()))
        )
    };
    all.map(text).collect()
}
