//! Traces that other programs write, and files that are no traces.

use std::io::Write;
use std::path::Path;

use covey_trace::{Coflow, Flow, MB, Moment, Workload, read, read_noting, read_path_noting, write};
use proptest::prelude::*;

fn parse(text: &str) -> (Workload, Vec<String>) {
    let mut notes = Vec::new();
    let read = read_noting(text.as_bytes(), "t", &mut |note| notes.push(note.to_owned()));
    (read.unwrap_or_else(|error| panic!("{error}")), notes)
}

fn message(text: &[u8]) -> String {
    match read(text, "t") {
        Ok(workload) => format!("no error, but {} coflows", workload.coflows.len()),
        Err(error) => error.to_string(),
    }
}

/// `(src, dst, MB)` of each flow.
fn flows(coflow: &Coflow) -> Vec<(u32, u32, f64)> {
    coflow.flows.iter().map(|f: &Flow| (f.src, f.dst, f.bytes / MB)).collect()
}

/// A file of the cases beside the checkout, or nothing where they are not.
fn case(name: &str) -> Option<(Workload, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/trace").join(name);
    if !path.exists() {
        eprintln!("ignored: {} is not there", path.display());
        return None;
    }
    let mut notes = Vec::new();
    let read = read_path_noting(&path, &mut |note| notes.push(note.to_owned()));
    Some((read.unwrap_or_else(|error| panic!("{error}")), notes))
}

#[test]
fn the_cases_beside_the_checkout() {
    if let Some((trace, notes)) = case("weighted.txt") {
        let found: Vec<_> =
            trace.coflows.iter().map(|c| (c.weight, c.arrival_s, c.width())).collect();
        assert_eq!(found, [(1.0, 0.0, 1), (3.0, 10.833, 2), (2.0, 13.122, 2)]);
        assert_eq!((trace.ports, notes.len()), (150, 0));
    }
    if let Some((trace, notes)) = case("noheader.txt") {
        assert_eq!((trace.ports, trace.coflows.len()), (141, 2));
        assert!(
            notes[0].ends_with("no first line PORTS COFLOWS: 141 ports, from the largest rack")
        );
    }
    if let Some((trace, notes)) = case("bom.jsonl") {
        assert_eq!((trace.ports, trace.coflows.len(), notes.len()), (2, 1, 0));
    }
}

#[test]
fn weights_stand_behind_the_id() {
    let (trace, _) = parse("4 2\n7 2.5 1500 2 3 0 2 1:6.0 2:0\nx 1 0 1 0 1 0:0.5\n");
    let [a, b] = trace.coflows.as_slice() else { panic!("two coflows") };
    assert_eq!((a.id.as_str(), a.weight, a.arrival_s), ("7", 2.5, 1.5));
    assert_eq!(flows(a), [(3, 1, 3.0), (3, 2, 0.0), (0, 1, 3.0), (0, 2, 0.0)]);
    assert_eq!((b.weight, flows(b)), (1.0, vec![(0, 0, 0.5)]));
    assert_eq!(
        message(b"4 1\n7 0 1500 2 3 0 1 1:6\n"),
        "t: line 2: weight: expected a weight above 0, found \"0\""
    );
    // Weights survive writing.
    let mut file = Vec::new();
    write(&trace, &mut file).unwrap();
    assert_eq!(read(file.as_slice(), "t").unwrap(), trace);
}

#[test]
fn a_line_that_fits_both_ways_is_read_as_the_others() {
    // With a weight: coflow 5 arrives after 2 ms, from 7 to 3. Without: after 100 ms, from 1 and 7
    // to 3.
    let both = "5 100 2 1 7 1 3:4\n";
    let (with, _) = parse(&format!("9 2\n{both}6 1 0 1 2 1 3:4\n"));
    let found: Vec<_> = with.coflows.iter().map(|c| (c.weight, c.arrival_s, c.width())).collect();
    assert_eq!(found, [(100.0, 0.002, 1), (1.0, 0.0, 1)]);
    let (without, _) = parse(&format!("9 2\n{both}6 0 1 2 1 3:4\n"));
    let found: Vec<_> =
        without.coflows.iter().map(|c| (c.weight, c.arrival_s, c.width())).collect();
    assert_eq!(found, [(1.0, 0.1, 2), (1.0, 0.0, 1)]);
    assert_eq!(parse(&format!("9 1\n{both}")).0.coflows[0].width(), 2);
    let more = message(format!("9 1\n{both}{both}").as_bytes());
    assert_eq!(
        more,
        "t: line 3: coflows: expected 1, as the first line says, found one more: \"5 100 2 1 7 1 3:4\""
    );
}

#[test]
fn tasks_on_a_rack_are_merged() {
    let (trace, notes) = parse("4 2\n7 0 3 3 0 3 2 1:6 1:2\n8 0 1 0 1 1:1\n");
    assert_eq!(flows(&trace.coflows[0]), [(3, 1, 4.0), (0, 1, 4.0)]);
    assert_eq!(
        notes,
        [
            "t: coflows that name a rack twice: 1, first on line 2; as in CoflowSim, its mappers are one, and its reducers get the sum"
        ]
    );
    // More mappers than racks.
    assert_eq!(flows(&parse("1 1\n7 0 3 0 0 0 1 0:6\n").0.coflows[0]), [(0, 0, 6.0)]);
}

#[test]
fn sunflow_lists_mappers_and_reducers() {
    let (trace, notes) = parse("1\t1500\t2\t2\t3,0#1:6,2:1\n2\t2000\t1\t1\t4#4:1\n");
    assert_eq!(flows(&trace.coflows[0]), [(3, 1, 3.0), (3, 2, 0.5), (0, 1, 3.0), (0, 2, 0.5)]);
    assert_eq!((trace.ports, trace.coflows[1].arrival_s), (5, 0.5));
    assert_eq!(trace.origin, Moment::parse("1.5").unwrap());
    assert!(notes[0].starts_with("t: a trace of Sunflow: 5 ports, from the largest rack; a MB is"));
    assert_eq!(
        message(b"1\t0\t2\t1\t3#1:6\n"),
        "t: line 1: mappers: expected 2, as the number before says, found 1"
    );
    assert_eq!(
        message(b"1\t0\t1\t1\thost3#1:6\n"),
        "t: line 1: mapper 1 of 1: expected a port from 0 to 999999, found \"host3\""
    );
}

#[test]
fn connections_of_htsim_are_coflows() {
    let (trace, notes) = parse(
        "# made by hand\nNodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 2000000 size 1500 send_done_trigger 7\n\
         1->2 id 2 start 0 size 3000 recv_done_trigger 7 prio 3\n2->3 id 9 trigger 7 size 10\ntrigger id 7 barrier count 2\n",
    );
    let found: Vec<_> = trace
        .coflows
        .iter()
        .map(|c| (c.id.as_str(), c.arrival_s, c.flows[0].bytes, c.parents.clone()))
        .collect();
    assert_eq!(
        found,
        [("1", 2e-6, 1500.0, vec![]), ("2", 0.0, 3000.0, vec![]), ("9", 0.0, 10.0, vec![0, 1])]
    );
    assert_eq!(notes, ["t: connections of htsim: each is a coflow; priorities are not used"]);
    for (lines, found) in [
        (
            "Nodes 2\n0->2 start 0 size 1\n",
            "t: line 2: destination: expected a node from 0 to 1, found \"2\"",
        ),
        (
            "Nodes 2\nConnections 2\n0->1 start 0 size 1\n",
            "t: line 3: Connections: expected 2, as the line says, found 1",
        ),
        (
            "Nodes 2\nTiers 3\n",
            "t: line 2: first word: expected Nodes, Connections, Triggers, SRC->DST or trigger, found a topology of htsim (.topo): give it to --fabric file:PATH",
        ),
        (
            "Nodes 2\n0->1 size 1\n",
            "t: line 2: start: expected start PICOSECONDS or trigger ID, found both or none",
        ),
        (
            "Nodes 2\n0->1 trigger 3 size 1\n",
            "t: line 2: trigger: expected a trigger of this file, found 3",
        ),
        (
            "0->1 start 0 size 1\n",
            "t: line 1: connection: expected Nodes before it, found a connection",
        ),
    ] {
        assert_eq!(message(lines.as_bytes()), found);
    }
    assert!(message(b"Nodes 2\n0->1 start 0.5 size 1\n").contains("microseconds"));
}

#[test]
fn flows_of_hpcc_are_coflows() {
    let (trace, notes) = parse("2\n0 1 3 100 200000 2.0\n5 1 3 100 1000 2.000001\n");
    let found: Vec<_> =
        trace.coflows.iter().map(|c| (c.id.as_str(), c.arrival_s, c.flows[0].bytes)).collect();
    assert_eq!(found, [("0", 0.0, 200_000.0), ("1", 1e-6, 1000.0)]);
    assert_eq!((trace.ports, notes.len()), (6, 1));
    assert_eq!(parse("1\n0 1 3 200000 2\n").0.coflows[0].flows[0].bytes, 200_000.0);
    assert_eq!(
        message(b"2\n0 1 3 100 200000 2.0\n"),
        "t: line 2: flows: expected 2, as the first line says, found 1 at the end of the file"
    );
    assert!(message(b"1\n0 1 3\n").contains("SRC DST PRIORITY [PORT] BYTES START_S"));
}

#[test]
fn zstd_is_read_frame_by_frame() {
    let text = "4 2\n7 1500 2 3 0 2 1:6.0 2:0\nx 0 1 0 1 0:0.5\n";
    let (first, second) = text.split_at(9);
    let frame = |text: &str| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let file = [frame(first), frame(second)].concat();
    assert_eq!(read(file.as_slice(), "t").unwrap(), parse(text).0);
    // A frame that a decoder skips, as pzstd writes it.
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &file].concat();
    assert_eq!(read(skipped.as_slice(), "t").unwrap(), parse(text).0);
    assert!(message(&file[..file.len() - 5]).contains("expected a whole zstd file"));
    // As long as the longest line, and then some: memory stays bounded.
    let bomb = frame(&"1 ".repeat(33 << 20));
    assert_eq!(message(&bomb), "t: line 1: line: expected at most 64 MiB, found a longer line");
}

#[test]
fn other_files_are_named() {
    for (file, named) in [
        (&b"<!DOCTYPE html>\n<html>"[..], "an HTML page"),
        (b"  <HTML lang=\"en\">", "an HTML page"),
        (b"<?xml version=\"1.0\"?>", "an XML file"),
        (
            b"{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"3.5.1\"}\n",
            "covey whatif LOG",
        ),
        (b"[{\"id\":1}]", "a JSON array"),
        (b"covey-topology 1\n", "--fabric file:PATH"),
        (b"id,arrival,src\n", "a CSV file?"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"PAR1rest", "a Parquet file"),
        (b"\xfd7zXZ\0rest", "xz -dc FILE"),
        (b"BZh9rest", "bzip2 -dc FILE"),
        (b"\xd4\xc3\xb2\xa1rest", "captured packets"),
        (b"\x0c\xa5\x02\0rest", "nfdump -r FILE"),
        (b"\xff\xfe3\0", "UTF-16"),
    ] {
        let message = message(file);
        assert!(message.contains(named) && message.lines().count() == 1, "{message}");
    }
    assert_eq!(
        message(b"{\"covey_trace\":1,\"ports\":2}\n{\"id\":\"1\",\"arrival_s\":0,\"flows\":[{\"src\":\"host1\",\"dst\":1,\"bytes\":1}]}"),
        "t: line 2: flows[0].dst: expected the name of a host, as before (\"hosts\" in the header, the names by port, allow both), found 1"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let text = "4 1\n7 1500 2 3 0 2 1:6.0 2:0\n";
    for before in ["\u{feff}", "\u{feff}\n", "\u{feff}\r\n\r\n"] {
        assert_eq!(parse(&format!("{before}{text}")).0, parse(text).0);
    }
    assert!(message("4 1\n\u{feff}7 x".as_bytes()).contains("arrival"));
}

proptest! {
    /// Lines of numbers in the shapes of all formats give a one-line error, or a workload that
    /// survives writing.
    #[test]
    fn any_lines_give_an_error_or_a_workload(
        header in prop::option::of("(3|3 2|Nodes 4|Connections 2)"),
        lines in prop::collection::vec(
            "([0-9] ){2,6}([0-9]:[0-9] ?){0,2}|[0-3]->[0-3] start [0-9] size [0-9]|[0-9]\t[0-9]\t1\t1\t[0-9]#[0-9]:[0-9]",
            0..4,
        ),
    ) {
        let text = header.into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        match read(text.as_bytes(), "t") {
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            Ok(workload) => {
                let mut file = Vec::new();
                write(&workload, &mut file).unwrap();
                prop_assert_eq!(read(file.as_slice(), "t").unwrap(), workload);
            }
        }
    }
}
