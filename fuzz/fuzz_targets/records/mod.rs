//! Any bytes give a one-line error, or flow records of which no flow is lost: neither in groups, nor in a
//! workload, nor when they are written and read again.

use covey_identify::{Algorithm, Metric, identify};
use covey_trace::records::{Grouped, Records, format, read, write_records};

/// Reads `bytes` as flow records in the format of this name.
pub fn check(name: &str, bytes: &[u8]) {
    let format = format(name).expect("a format");
    match read(bytes, "fuzz", Some(format)) {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        Ok(records) => {
            check_groups(&records);
            let mut file = Vec::new();
            write_records(&records, &mut file).expect("writing to memory");
            let again = read(file.as_slice(), "fuzz", None).expect("what was written");
            assert!(again.repairs.notes().is_empty());
            assert_eq!(flows(&records), flows(&again));
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
            "{} {ends:?} {ports:?} {:?} {:?} {label:?}",
            flow.start_s, hidden.bytes, hidden.end_s
        )
    };
    all.map(text).collect()
}
