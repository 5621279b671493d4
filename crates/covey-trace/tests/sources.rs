//! Workloads from traces, flow records, and several files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use covey_trace::records::{Options, Reader, Records};
use covey_trace::{Source, Workload};

/// A folder of this test alone, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("covey-sources-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(items: &[&String], columns: Option<&str>) -> Result<(Workload, Vec<String>), String> {
    let items = items.iter().map(|item| (*item).clone()).collect();
    let columns = columns.map(|map| map.parse().unwrap());
    let mut notes = Vec::new();
    let opened = Source { items, columns, ..Source::default() }.open(&mut |note| {
        let (file, rest) = note.split_once(": ").unwrap();
        notes.push(format!("{}: {rest}", file.rsplit('/').next().unwrap()));
    });
    opened.map(|workload| (workload, notes)).map_err(|error| error.to_string())
}

/// Id, arrival and flows (ends by name, bytes, start) of each coflow.
fn shown(workload: &Workload) -> Vec<String> {
    let host = |port| workload.host(port).unwrap_or("?").to_owned();
    let coflows = workload.coflows.iter().map(|coflow| {
        let flows = coflow
            .flows
            .iter()
            .map(|f| format!("{}>{} {}@{}", host(f.src), host(f.dst), f.bytes, f.start_s));
        format!("{} {} {}", coflow.id, coflow.arrival_s, flows.collect::<Vec<_>>().join(" "))
    });
    coflows.collect()
}

const JOBS: &str = "ts,te,client,server,n,job\n\
    2024-05-01 12:00:00+02:00,2024-05-01 12:00:09+02:00,web-3,db,1000,q1\n\
    2024-05-01T10:00:01Z,,web-1,db,500,q1\n\
    2024-05-01 10:00:03 UTC,,web-1,web-3,7,q2\n";

#[test]
fn a_table_with_a_column_of_coflows() {
    let folder = Folder::new("table");
    let file = folder.file("jobs.csv", JOBS.as_bytes());
    let map = "start=ts,end=te,src=client,dst=server,bytes=n,coflow=job";
    let (workload, notes) = open(&[&file], Some(map)).unwrap();
    assert_eq!(workload.hosts, ["db", "web-1", "web-3"]);
    assert_eq!(shown(&workload), ["q1 0 web-3>db 1000@0 web-1>db 500@1", "q2 3 web-1>web-3 7@0"]);
    assert!(notes.is_empty(), "{notes:?}");
    // The same with names that are common, and without some of the coflows.
    let text = JOBS.replace(",n,job", ",bytes,coflow").replace("7,q2", "7,");
    let (workload, notes) = open(&[&folder.file("t.csv", text.as_bytes())], None).unwrap();
    assert_eq!(
        notes,
        [
            "t.csv: columns taken by their names: start=ts,end=te,src=client,dst=server,bytes=bytes,coflow=coflow",
            "t.csv: flows without a coflow: 1; each is a coflow of its own"
        ]
    );
    assert_eq!(shown(&workload)[1], "flow 1 3 web-1>web-3 7@0");
}

#[test]
fn a_table_without_coflows() {
    let folder = Folder::new("found");
    let text = "start_ms;source;destination;size\n0;a;b;10\n1;c;b;10\n90000;a;b;10\n";
    let (workload, notes) = open(&[&folder.file("t.csv", text.as_bytes())], None).unwrap();
    assert_eq!(workload.coflows.len(), 2);
    assert_eq!(
        notes[0],
        "t.csv: columns taken by their names: start=start_ms,src=source,dst=destination,bytes=size"
    );
    assert!(
        notes[1]
            .starts_with("t.csv: no flow names its coflow: 2 coflows found in 3 flows, confidence"),
        "{notes:?}"
    );
    assert_eq!(shown(&workload)[1], "1 90 a>b 10@0");
}

#[test]
fn times_of_any_unit() {
    for (start, unit) in [
        ("1714557600", "seconds"),
        ("1714557600000", "milliseconds"),
        ("1714557600000000", "microseconds"),
        ("1714557600000000000", "nanoseconds"),
        ("17145576e2", "seconds"),
    ] {
        let records = records(&format!("ts,src,dst\n{start},a,b\n"), None).unwrap();
        assert_eq!(records.on_clock(records.flows[0].start_s).to_string(), "1714557600", "{start}");
        let said = format!("times count {unit}, by their size");
        assert!(records.repairs.notes().contains(&said), "{:?}", records.repairs.notes());
    }
    let dates = "ts,src,dst\n2024-05-01 10:00:00,a,b\n2024-05-01T10:00:00.5,a,c\n";
    let notes = records(dates, None).unwrap().repairs.notes();
    assert_eq!(notes[1], "times without a zone count as UTC");
    assert_eq!(
        records("ts,src,dst\n1714557600,a,b\n1714557600000,a,b\n", None).unwrap_err(),
        "f: line 3: ts: expected seconds, as before (--columns unit=… says the unit), found milliseconds, by its size"
    );
}

#[test]
fn columns_that_are_not_clear() {
    for (header, map, error) in [
        (
            "ts,time,src,dst",
            None,
            "f: line 1: header: expected one column for start (--columns start=NAME says which), found \"ts\" and \"time\"",
        ),
        (
            "ts,from,dst,when",
            Some("start=whn,dst=dst"),
            "f: line 1: --columns: expected one of the file's columns for start=: ts, from, dst, when, found \"whn\"; did you mean 'when'?",
        ),
        (
            "ts,who,dst",
            Some("start=ts"),
            "f: line 1: header: expected a column for src (--columns src=NAME says which), found ts, who, dst",
        ),
        (
            "start_s_x,start_ms,end_us,src,dst",
            None,
            "f: line 1: header: expected a column for end in the unit of start, found \"end_us\"",
        ),
    ] {
        let found = records(&format!("{header}\n0,a,b,c,d\n"), map).unwrap_err();
        assert_eq!(found, error, "{header}");
    }
}

fn records(text: &str, map: Option<&str>) -> Result<Records, String> {
    let columns = map.map(|map| map.parse().unwrap());
    let mut reader = Reader::new(Options { columns, ..Options::default() });
    let read = reader.read(text.as_bytes(), "f").and_then(|()| reader.finish());
    read.map_err(|error| error.to_string())
}

#[test]
fn a_table_without_a_header() {
    let text = "5 a b 100\n6 c b 200\n";
    let records = records(text, Some("header=${start} ${srcaddr} ${dstaddr} ${bytes}")).unwrap();
    assert_eq!((records.flows.len(), records.hidden[1].bytes), (2, Some(200.0)));
}

#[test]
fn several_files_of_flow_records() {
    let folder = Folder::new("several");
    let (header, rows) = JOBS.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let first = format!("{header}\n{}\n", rows[2]);
    let second = format!("{header}\n{}\n{}\n", rows[1], rows[0]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(second.as_bytes()).unwrap();
    let first = folder.file("a.csv.zst", &zstd::encode_all(first.as_bytes(), 3).unwrap());
    let second = folder.file("b.csv.gz", &gzip.finish().unwrap());
    let map = "start=ts,end=te,src=client,dst=server,bytes=n,coflow=job";
    let whole = open(&[&folder.file("whole.csv", JOBS.as_bytes())], Some(map)).unwrap().0;
    for files in [[&first, &second], [&second, &first]] {
        let (parts, _) = open(&files, Some(map)).unwrap();
        assert_eq!(parts, whole);
    }
}

#[test]
fn several_traces() {
    let folder = Folder::new("traces");
    let trace = |name: &str, at: f64, ends: [&str; 2], header: &str| {
        let [src, dst] = ends;
        let line = format!(
            r#"{{"id":"1","arrival_s":{at},"flows":[{{"src":{src},"dst":{dst},"bytes":1}}],"job":"j"}}"#
        );
        let event = format!(r#"{{"event":"fail","at_s":{at},"host":{src}}}"#);
        folder.file(name, format!("{{\"covey_trace\":1{header}}}\n{line}\n{event}\n").as_bytes())
    };
    let a = trace("a.jsonl", 1700000005.25, [r#""web""#, r#""db""#], "");
    let b = trace("b.jsonl", 1700000005.0, [r#""app""#, r#""db""#], "");
    let c = trace("c.jsonl", 0.0, ["0", "1"], r#","ports":2"#);
    let (both, notes) = open(&[&a, &b], None).unwrap();
    assert_eq!(shown(&both), ["1 0.25 web>db 1@0", "1@2 0 app>db 1@0"]);
    assert_eq!(
        notes,
        ["b.jsonl: coflows with ids that files before it have, too: 1; here they are ID@2"]
    );
    assert_eq!(both.events.iter().map(|event| event.at_s).collect::<Vec<_>>(), [0.0, 0.25]);
    let (numbers, _) = open(&[&c, &c], None).unwrap();
    assert_eq!((numbers.ports, numbers.coflows.len(), numbers.hosts.len()), (2, 2, 0));
    let error = open(&[&a, &c], None).unwrap_err();
    assert_eq!(
        error,
        format!(
            "files: expected names of all hosts in all files, or in none, found names in {a}, ports without names in {c}"
        )
    );
    let records = folder.file("flows.csv", b"start_s,src,dst,bytes\n0,a,b,1\n");
    let error = open(&[&records, &a], None).unwrap_err();
    assert_eq!(
        error,
        format!(
            "files: expected traces or flow records alone, found a trace, {a}, and flow records, {records}"
        )
    );
}
