//! Flow records: each format with known answers, what is repaired, and errors with line and field.

use std::io::Write as _;

use covey_identify::{Algorithm, Metric, identify};
use covey_trace::observe::{recorded, rung};
use covey_trace::records::{FORMATS, Grouped, Hidden, Records, format, read, write_records};
use covey_trace::{TraceError, builtin};
use proptest::prelude::*;

fn records(text: &str) -> Records {
    read(text.as_bytes(), "f", None).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    error_from(text, None)
}

fn error_from(text: &str, name: Option<&str>) -> String {
    let format = name.map(|name| format(name).expect("a format"));
    read(text.as_bytes(), "f", format).map(drop).expect_err("an error").to_string()
}

/// Start, ends, protocol, bytes, end and label of each flow, as a text.
fn shown(records: &Records) -> Vec<String> {
    let some = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let both = records.flows.iter().zip(&records.hidden);
    both.map(|(flow, hidden)| {
        format!(
            "{} {}:{} {}:{} {} {} {} {}",
            records.on_clock(flow.start_s),
            records.host(flow.src),
            flow.sport,
            records.host(flow.dst),
            flow.dport,
            flow.protocol,
            some(hidden.bytes),
            hidden.end_s.map_or("-".to_owned(), |end_s| records.on_clock(end_s).to_string()),
            hidden.label.map_or("-", |label| &records.labels[label as usize]),
        )
    })
    .collect()
}

const CSV: &str = "start_s,src,dst,sport,dport,proto,bytes,end_s,label\n";

#[test]
fn csv() {
    let text = "start_s,src,dst,sport,dport,proto,bytes,end_s,label\r\n\
                0.5,10.0.0.1,10.0.0.2,7337,40000,tcp,1000,1.25,job 1\r\n\
                \r\n\
                -0.25,fd00::1,node-7.rack,1,2,17,,,\n\
                1e1,3,4,0,0,6,0,,\"a, \"\"b\"\"\"";
    let found = records(text);
    assert_eq!(
        shown(&found),
        [
            "-0.25 fd00::1:1 node-7.rack:2 17 - - -",
            "0.5 10.0.0.1:7337 10.0.0.2:40000 6 1000 1.25 job 1",
            "10 3:0 4:0 6 0 - a, \"b\"",
        ]
    );
    assert_eq!(
        found.repairs.notes(),
        ["1 record was out of order; records are now in order of start"]
    );
    let few = records("dst,src,start_s,proto,dport,sport\n2,1,0,TCP,80,5\n");
    assert_eq!(shown(&few), ["0 1:5 2:80 6 - - -"]);
    assert_eq!(records(CSV).flows.len(), 0);
}

#[test]
fn json_lines() {
    let text = r#"{"start_s":0.5,"src":"10.0.0.1","dst":"h2","sport":7337,"dport":40000,"proto":"tcp","bytes":1000,"end_s":1.25,"label":"a\"b"}
{"start_s":1,"src":3,"dst":"4","sport":0,"dport":"0","proto":6,"bytes":null,"label":17}
"#;
    let found = shown(&records(text));
    assert_eq!(found, ["0.5 10.0.0.1:7337 h2:40000 6 1000 1.25 a\"b", "1 3:0 4:0 6 - - 17"]);
}

const SOCKETS: &str = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n";

#[test]
fn samples_of_ss() {
    let text = format!(
        "100.5\n{SOCKETS}\
         LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n\t cubic cwnd:10\n\
         ESTAB 0      0          127.0.0.1:44132    127.0.0.1:45671\n\
         \t bbr wscale:10,10 rto:204 rtt:0.047/0.018 bytes_sent:70000 bytes_retrans:500 bytes_acked:70001 \n\
         ESTAB 0      0              [::1%lo]:45672        [::1]:33540\n\
         \t bbr bytes_received:700 segs_out:7\n\
         101.5\n{SOCKETS}\
         ESTAB 0      0          127.0.0.1:44132    127.0.0.1:45671\n\
         \t bbr bytes_sent:90000 bytes_acked:90001\n\
         TIME-WAIT 0 0 [::1]:45672 [::1]:33540\n\
         1970-01-01T00:01:42,5+00:00\n{SOCKETS}\
         ESTAB 0      0          127.0.0.1:44132    127.0.0.1:45671 bbr bytes_acked:11\n"
    );
    let found = records(&text);
    assert_eq!(
        shown(&found),
        [
            "100.5 ::1:33540 ::1:45672 6 700 101.5 -",
            // It was open before: 70,000 - 500 were sent once up to the first sample, more than up
            // to the second.
            "100.5 127.0.0.1:44132 127.0.0.1:45671 6 20500 102.5 -",
            "102.5 127.0.0.1:44132 127.0.0.1:45671 6 10 - -",
        ]
    );
    assert_eq!(
        found.repairs.notes(),
        ["1 connection was open before the first sample; it counts what it sent from then on"]
    );
}

#[test]
fn both_ends_of_a_connection_are_one_flow() {
    let text = format!(
        "1\n{SOCKETS}ESTAB 0 0 10.0.0.1:5 10.0.0.2:6\n\t bytes_sent:70 bytes_acked:71\n\
         ESTAB 0 0 10.0.0.2:6 10.0.0.1:5\n\t bytes_received:70\n2\n{SOCKETS}"
    );
    let found = records(&text);
    assert_eq!(shown(&found), ["1 10.0.0.1:5 10.0.0.2:6 6 70 2 -"]);
    assert_eq!(found.repairs.together.repeated, 1);
}

#[test]
fn nfdump_as_csv() {
    let old = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out\n\
               2004-07-11 10:30:00,2004-07-11 10:30:10,10.010,10.0.0.1,10.0.0.2,80,4000,TCP,......,0,0,9,1500,0,0,1,2\n\
               2004-07-11 10:30:01,2004-07-11 10:30:01,0.000,10.0.0.2,10.0.0.1,0,8.0,ICMP,......,0,0,1,84,2,99,1,2\n\
               Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,1500,9,1,1,1\n";
    assert_eq!(
        shown(&records(old)),
        [
            "1089541800 10.0.0.1:80 10.0.0.2:4000 6 1500 1089541810 -",
            "1089541801 10.0.0.1:0 10.0.0.2:0 1 99 1089541801 -",
        ]
    );
    let new = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n\
               2026-10-07 04:24:43.250,0.500,TCP,2001:db8::1,22,2001:db8::2,33586,19,5387,1\n";
    let new = shown(&records(new));
    assert_eq!(new, ["1791347083.25 2001:db8::1:22 2001:db8::2:33586 6 5387 1791347083.75 -"]);
}

#[test]
fn nfdump_as_lines() {
    let line = "Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port   Packets    Bytes Flows\n\
                1970-01-01 00:00:01.500     2.250 TCP        10.10.3.149:48274 ->      130.238.3.9:443          1       52     1\n\
                1970-01-01 00:00:02.000     0.000 UDP        2001:db8::7.5353  ->         ff02::fb.5353    2.0 M    2.7 M     1\n\
                Summary: total flows: 2, total bytes: 624\n";
    assert_eq!(
        shown(&records(line)),
        [
            "1.5 10.10.3.149:48274 130.238.3.9:443 6 52 3.75 -",
            "2 2001:db8::7:5353 ff02::fb:5353 17 2700000 2 -",
        ]
    );
    let long = "Date first seen             Duration     Proto      Src IP Addr:Port          Dst IP Addr:Port   Flags Tos  Packets    Bytes Flows\n\
                1970-01-01 00:00:01.000     00:01:00.250 ICMP     10.0.0.1:0  ->     10.0.0.2:8.0  ......  96        1      413     1\n";
    assert_eq!(shown(&records(long)), ["1 10.0.0.1:0 10.0.0.2:0 1 413 61.25 -"]);
}

#[test]
fn zeek() {
    let text = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
                #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\n\
                #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\tcount\n\
                2.5\tC1\t192.168.1.102\t40000\t192.168.1.1\t7337\ttcp\t0.5\t300\t1000\n\
                3.5\tC2\tfe80::1\t133\tff02::2\t134\ticmp\t-\t-\t-\n\
                #close\t2014-05-23-18-02-04\n";
    let expected =
        ["2.5 192.168.1.1:7337 192.168.1.102:40000 6 1000 3 -", "3.5 fe80::1:0 ff02::2:0 1 - - -"];
    assert_eq!(shown(&records(text)), expected);
    let json = r#"{"ts":2.5,"uid":"C1","id.orig_h":"192.168.1.102","id.orig_p":40000,"id.resp_h":"192.168.1.1","id.resp_p":7337,"proto":"tcp","duration":0.5,"orig_bytes":300,"resp_bytes":1000,"conn_state":"SF"}
{"ts":"1970-01-01T00:00:03.500000Z","uid":"C2","id.orig_h":"fe80::1","id.orig_p":133,"id.resp_h":"ff02::2","id.resp_p":134,"proto":"icmp"}
"#;
    assert_eq!(shown(&records(json)), expected);
}

#[test]
fn repairs_are_counted() {
    let text = format!(
        "{CSV}5,a,b,1,2,6,10,4,\n1,a,b,1,2,6,10,3,x\n1,a,c,1,2,6,,,\n1,a,b,1,2,6,30,2,y\n\
         1,a,b,0,0,6,10,3,x\n1,a,b,0,0,6,10,3,x\n"
    );
    let found = records(&text);
    assert_eq!(
        shown(&found),
        [
            "1 a:1 b:2 6 30 3 x",
            "1 a:1 c:2 6 - - -",
            "1 a:0 b:0 6 10 3 x",
            "1 a:0 b:0 6 10 3 x",
            "5 a:1 b:2 6 10 - -",
        ]
    );
    assert_eq!(
        found.repairs.notes(),
        [
            "5 records were out of order; records are now in order of start",
            "1 record repeated a flow, which is kept once",
            "1 record ended before its start; its end counts as unknown",
        ]
    );
}

#[test]
fn errors_name_line_and_field() {
    for (row, message) in [
        ("1,a,b,1,2", "proto: expected 9 values, as the header has columns, found 5"),
        ("x,a,b,1,2,6,,,", "start_s: expected seconds from -1e12 to 1e12, found \"x\""),
        ("nan,a,b,1,2,6,,,", "start_s: expected seconds from -1e12 to 1e12, found \"nan\""),
        (
            "1,10.0.0,b,1,2,6,,,",
            "src: expected an address, or the name or number of a host, found \"10.0.0\"",
        ),
        ("1,a,,1,2,6,,,", "dst: expected an address, or the name or number of a host, found \"\""),
        ("1,a,b,1,65536,6,,,", "dport: expected a port from 0 to 65535, found \"65536\""),
        (
            "1,a,b,1,2,tpc,,,",
            "proto: expected a protocol, such as tcp or its number 6, found \"tpc\"",
        ),
        ("1,a,b,1,2,6,-1,,", "bytes: expected bytes from 0 to 1e18, found \"-1\""),
        ("1,a,b,1,2,6,,inf,", "end_s: expected seconds from -1e12 to 1e12, found \"inf\""),
        (
            "1,a,b,1,2,6,,,\"x",
            "record: expected a quote at both ends of a quoted value, found \"1,a,b,1,2,6,,,\"x\"",
        ),
    ] {
        let text = format!("{CSV}1,a,b,1,2,6,,,\n{row}");
        assert_eq!(error(&text), format!("f: line 3: {message}"));
    }
    assert_eq!(error(""), "f: line 1: header: expected flow records, found an empty file");
    assert_eq!(
        error("start_s,src,dst,sport,dport,proto,byte\n"),
        "f: line 1: header: expected the columns start_s,src,dst,sport,dport,proto,bytes,end_s,label, found \
         \"byte\"; did you mean 'bytes'?"
    );
    assert_eq!(
        error("start_s,src\n"),
        "f: line 1: header: expected a column dst, found \"start_s,src\""
    );
    assert_eq!(
        error("\x1b[0m\u{fffd}?\n"),
        "f: line 1: header: expected flow records as gcp (flow logs of GCP's VPCs in JSON), azure (flow logs of Azure's security groups \
         or virtual networks), csv (a header start_s,src,dst,…), zeek (Zeek's conn.log), \
         json (lines {\"start_s\":…,\"src\":…}), nfdump (nfdump -o csv, line, long or json), aws (flow logs of AWS's VPCs), ss (samples of \
         ss -tin, each below a time as date +%s.%N prints it), table (a header with names such as start,src,dst,bytes; \
         --columns says others), found \"\\u{1b}[0m\u{fffd}?\"; --from says which one it is"
    );
    for trace in ["3 2\n1 0 1 0 1 1:10\n", "{\"covey_trace\":1,\"ports\":2}\n"] {
        assert!(
            error(trace).ends_with("(covey trace records makes flow records of it)"),
            "{}",
            error(trace)
        );
    }
}

#[test]
fn errors_of_the_other_formats() {
    let json = "{\"start_s\":1,\"src\":1,\"dst\":2,\"sport\":1,\"dport\":2,\"proto\":6}\n";
    for (line, message) in [
        (
            "{\"start_s\":1,\"src\":1",
            "record: expected the JSON of a record, found EOF while parsing an object (column 20)",
        ),
        (
            "{\"start_s\":1,\"src\":[]}",
            "src: expected a text or a number, found a list (column 22)",
        ),
        ("{\"start_s\":\"1\"}", "start_s: expected a number, found \"1\" (column 15)"),
        (
            "{\"start_s\":1e13,\"src\":1,\"dst\":2,\"sport\":1,\"dport\":2,\"proto\":6}",
            "start_s: expected seconds from -1e12 to 1e12, found \"1e13\"",
        ),
    ] {
        assert_eq!(error(&format!("{json}{line}")), format!("f: line 2: {message}"));
    }
    let sockets = format!("5\n{SOCKETS}");
    for (rest, message) in [
        (
            "ESTAB 0 0 1.1.1.1:5",
            "line 3: socket: expected STATE RECV-Q SEND-Q LOCAL PEER, or a time as date +%s.%N or date -Ins prints it, \
             found \"ESTAB 0 0 1.1.1.1:5\"",
        ),
        (
            "ESTAB 0 0 1.1.1.1:http 1.1.1.2:6\n",
            "line 3: local: expected a port as a number (ss -n), found \"http\"",
        ),
        (
            "4.5\n",
            "line 3: time: expected a time from 5 on, that of the sample before (a file for each host), found 4.5",
        ),
        (
            "ESTAB 0 0 1.1.1.1:5 1.1.1.2:6\n\t bytes_sent:x\n",
            "line 4: bytes_sent: expected bytes, found \"x\"",
        ),
    ] {
        assert_eq!(error(&format!("{sockets}{rest}")), format!("f: {message}"));
    }
    assert!(records(SOCKETS).flows.is_empty());
}

#[test]
fn errors_of_collectors() {
    let nfdump = "ts,te,td,sa,da,sp,dp,pr,ibyt\n";
    assert_eq!(
        error(&format!("{nfdump}2004-07-11 10:30,x,0,1.1.1.1,1.1.1.2,1,2,TCP,5\n")),
        "f: line 2: ts: expected a time like 2026-11-25 16:02:30.250, found \"2004-07-11 10:30\""
    );
    assert_eq!(
        error(&format!("{nfdump}2004-07-11 10:30:00,2004-07-11 10:30:00,0,1.1.1.1,1.1")),
        "f: line 2: sp: expected 9 values, as the header has columns, found 5"
    );
    let lines = "Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port   Packets    Bytes Flows\n";
    for (line, message) in [
        (
            "2018-01-16 13:10:31.848 2.148 UDP 10.1.3.1",
            "record: expected DATE TIME DURATION PROTOCOL SOURCE -> DESTINATION, found",
        ),
        (
            "2018-01-16 13:10:31.848 2.148 UDP 10.1.3.1:5 -> 10.1.1.1:6 5",
            "bytes: expected Packets Bytes Flows at the end of the line, found",
        ),
        (
            "2018-01-16 13:10:31.848 1.024 UDP fe80::1..9a:bc53.5353 -> ff02::fb.5353 2 951 1",
            "record: expected a flow, found condensed IPv6 addresses (nfdump -6 prints whole ones)",
        ),
    ] {
        let found = error(&format!("{lines}{line}"));
        assert!(found.starts_with(&format!("f: line 2: {message}")), "{found}");
    }
    assert_eq!(
        error("#separator \\x09\n1\t2\n"),
        "f: line 2: header: expected a line #fields before the first record, found \"1\\t2\""
    );
    assert_eq!(
        error("#fields\tts\tuid\tid.orig_h\n"),
        "f: line 1: header: expected a column id.resp_h, found \"ts,uid,id.orig_h\""
    );
}

#[test]
fn a_format_can_be_forced() {
    let csv = format!("{CSV}1,a,b,1,2,6,,,\n");
    let forced = read(csv.as_bytes(), "f", Some(format("CSV").expect("a format")));
    assert_eq!(forced.expect("records").flows.len(), 1);
    assert!(error_from(&csv, Some("json")).starts_with("f: line 1: record: expected"));
    assert!(
        error_from(&csv, Some("nfdump"))
            .starts_with("f: line 1: header: expected a column sa or srcAddr")
    );
    assert!(
        error_from(&csv, Some("ss")).starts_with("f: line 1: time: expected a line with the time")
    );
    assert!(
        error_from(&csv, Some("zeek")).starts_with("f: line 1: header: expected a line #fields")
    );
    let unknown = format("zeke").map(drop).expect_err("an error").to_string();
    assert_eq!(
        unknown,
        "--from: expected one of gcp, azure, csv, zeek, json, nfdump, aws, ss, table, found \"zeke\"; did you mean 'zeek'?"
    );
    assert_eq!(FORMATS.len(), 9);
}

#[test]
fn compressed_records_and_long_lines() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!("{CSV}1,a,b,1,2,6,,,\n").as_bytes()).expect("memory");
    let file = gzip.finish().expect("memory");
    assert_eq!(read(file.as_slice(), "f", None).expect("records").flows.len(), 1);
    let cut = read(&file[..file.len() - 12], "f", None).expect_err("an error");
    assert!(matches!(cut, TraceError::Io { .. }), "{cut}");
    let long = format!("{CSV}{}", "1".repeat(2 << 20));
    assert_eq!(error(&long), "f: line 2: line: expected at most 1 MiB, found a longer line");
}

#[test]
fn records_of_every_rung_come_back_from_csv() {
    let workload = builtin("fb-like:seed=3,coflows=40").expect("parameters in range");
    for name in ["trace", "batches", "mixed-denser"] {
        let labelled = rung(name).expect("a rung").flows(&workload, 4).expect("a rung");
        let written = recorded(&labelled, &workload);
        let bytes: f64 = written.hidden.iter().filter_map(|hidden| hidden.bytes).sum();
        assert!((bytes / workload.bytes() - 1.0).abs() < 1e-12, "{name}: no bytes are lost");
        let mut file = Vec::new();
        write_records(&written, &mut file).expect("memory");
        let read = read(file.as_slice(), "f", None).expect("what was written");
        assert_eq!(read.repairs.out_of_order, 0);
        let [before, after] = [&written, &read].map(shown);
        if read.repairs.together.repeated == 0 {
            assert_eq!(before, after, "{name}");
        } else {
            assert_eq!(
                before.len(),
                after.len() + read.repairs.together.repeated as usize,
                "{name}"
            );
        }
    }
}

#[test]
fn groups_become_coflows_on_ports() {
    let text = format!(
        "{CSV}100,b,a,1,2,6,10,103,x\n100.5,10.0.0.9,a,1,2,6,20,102,x\n101,a,a,3,4,6,,,\n102,c,b,3,4,6,5,,y\n"
    );
    let found = records(&text);
    let grouped = Grouped::new(&found, vec![0, 0, 1, 2]);
    let group = grouped.groups[0];
    assert_eq!((group.flows, group.bytes, group.first_start_s), (2, 30.0, 100.0));
    assert_eq!((group.last_end_s, group.sources, group.destinations), (Some(103.0), 2, 1));
    assert_eq!((grouped.groups[1].bytes, grouped.groups[2].last_end_s), (0.0, None));
    let accuracies = grouped.accuracies().expect("labels");
    assert_eq!((accuracies.per_flow.precision, accuracies.per_coflow.recall), (1.0, 1.0));
    let hosts: Vec<String> = grouped.hosts().into_iter().map(|host| found.host(host)).collect();
    assert_eq!(hosts, ["10.0.0.9", "a", "b", "c"]);
    let (workload, left) = grouped.workload().expect("flows with bytes");
    assert_eq!((left.flows, left.groups, workload.ports), (1, 1, 4));
    let ids: Vec<&str> = workload.coflows.iter().map(|coflow| coflow.id.as_str()).collect();
    assert_eq!(ids, ["0", "2"]);
    let first = &workload.coflows[0];
    assert_eq!((first.arrival_s, workload.coflows[1].arrival_s), (0.0, 2.0));
    let flows: Vec<_> =
        first.flows.iter().map(|it| (it.src, it.dst, it.bytes, it.start_s)).collect();
    assert_eq!(flows, [(2, 1, 10.0, 0.0), (0, 1, 20.0, 0.5)]);
    let mut none = found.clone();
    none.hidden = vec![Hidden::default(); 4];
    let grouped = Grouped::new(&none, vec![0; 4]);
    assert!(grouped.accuracies().is_none());
    let error = grouped.workload().map(drop).expect_err("no bytes").to_string();
    assert_eq!(
        error,
        "flow records: expected records with bytes, which a trace must have (--columns bytes=COLUMN says where a table has them), found none"
    );
}

/// Names and labels may not decide.
#[test]
fn labels_do_not_change_groups() {
    let workload = builtin("fb-like:seed=3,coflows=40").expect("parameters in range");
    let labelled = rung("mixed-denser").expect("a rung").flows(&workload, 4).expect("a rung");
    let mut with = recorded(&labelled, &workload);
    let groups =
        |records: &Records| identify(&records.flows, &Metric::default(), Algorithm::DEFAULT);
    let before = groups(&with);
    with.hidden.iter_mut().for_each(|hidden| *hidden = Hidden::default());
    assert_eq!(groups(&with), before);
}

/// A sample of each format, for damage.
const SAMPLES: [&str; 9] = [
    "start_s,src,dst,sport,dport,proto,bytes,end_s,label\n1,10.0.0.1,h,1,2,tcp,3,4,\"a\"\n2,::1,7,0,0,6,,,\n",
    "{\"start_s\":0.5,\"src\":\"h\",\"dst\":2,\"sport\":7,\"dport\":4,\"proto\":\"tcp\",\"bytes\":1,\"label\":\"x\"}\n",
    "1.5\nState Recv-Q\nESTAB 0 0 1.1.1.1:5 [::1]:6\n\t bytes_sent:7\n2026-11-25T16:02:30,5+01:00\n",
    "ts,te,td,sa,da,sp,dp,pr,ibyt\n2004-07-11 10:30:00,2004-07-11 10:30:00,0,1.1.1.1,1.1.1.2,1,2,TCP,5\nSummary\n",
    "Date first seen Duration Proto Src IP Addr:Port Dst IP Addr:Port Packets    Bytes Flows\n2018-01-16 13:10:31.8 1:2.1 UDP ::1.5 -> ::2.6 5 2.7 M 1\n",
    "#separator \\x09\n#fields\tts\tid.orig_h\tid.resp_h\tid.orig_p\tid.resp_p\tproto\n1\t1.1.1.1\th\t1\t2\ttcp\n",
    "[\n{\n\t\"type\" : \"FLOW\",\n\t\"first\" : \"2023-02-21T06:11:25.568\",\n\t\"in_bytes\" : 5,\n\t\"proto\" : 6,\n\
     \t\"src_port\" : 4,\n\t\"dst_port\" : 7,\n\t\"src4_addr\" : \"1.1.1.1\",\n\t\"dst4_addr\" : \"1.1.1.2\"\n},\n{\n}\n]\n",
    "{\"ts\":2,\"_path\":\"conn\",\"id\":{\"orig_h\":\"1.1.1.1\",\"orig_p\":4,\"resp_h\":\"h\",\"resp_p\":7},\"proto\":\"tcp\"}\n",
    "{\"ts\":2,\"id.orig_h\":\"1.1.1.1\",\"id.orig_p\":4,\"id.resp_h\":\"h\",\"id.resp_p\":7,\"proto\":\"tcp\"}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_records_give_one_line_or_records(
        sample in 0..SAMPLES.len(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<proptest::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for format in std::iter::once(None).chain(FORMATS.iter().map(Some)) {
            match read(bytes.as_slice(), "f", format) {
                Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
                Ok(records) => {
                    let groups = identify(&records.flows, &Metric::default(), Algorithm::DEFAULT);
                    let grouped = Grouped::new(&records, groups);
                    let flows: u64 = grouped.groups.iter().map(|group| group.flows).sum();
                    prop_assert_eq!(flows, records.flows.len() as u64);
                }
            }
        }
    }
}
