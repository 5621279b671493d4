//! What collectors write, and how it is put together: outputs behind each other, options that add
//! words, ordinary records of no use, flows that exporters cut.

use covey_trace::records::{Columns, Options, Reader, Records, Stitch};
use proptest::prelude::*;

fn read_with(options: Options, texts: &[&str]) -> Result<Records, String> {
    let mut reader = Reader::new(options);
    for (number, text) in texts.iter().enumerate() {
        reader.read(text.as_bytes(), &format!("f{number}")).map_err(|error| error.to_string())?;
    }
    reader.finish().map_err(|error| error.to_string())
}

fn records(text: &str) -> Records {
    read_with(Options::default(), &[text]).unwrap_or_else(|error| panic!("{error}"))
}

/// Start after the first one, ports, bytes and duration of each flow.
fn shown(records: &Records) -> Vec<String> {
    let zero_s = records.flows.first().map_or(0.0, |flow| flow.start_s);
    let some = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let both = records.flows.iter().zip(&records.hidden);
    both.map(|(flow, hidden)| {
        let start_s = flow.start_s - zero_s;
        let lasted_s = hidden.end_s.map(|end_s| ((end_s - flow.start_s) * 1e6).round() / 1e6);
        let ends = (flow.sport, flow.dport, flow.protocol);
        format!("{start_s} {ends:?} {} for {}", some(hidden.bytes), some(lasted_s))
    })
    .collect()
}

const LINE: &str = "Date first seen             Duration     Proto      Src IP Addr:Port          Dst IP Addr:Port   Packets    Bytes Flows\n";
const LINE_END: &str = "Summary: total flows: 1, total bytes: 1.0 M, total packets: 1000, avg bps: 8000000, avg pps: 1000, avg bpp: 1000\n\
     Time window: 2025-04-08 05:00:00.000 - 2025-04-08 05:00:01.000, Duration:    00:00:01.000\n\
     Total records processed: 1, passed: 1, Blocks skipped: 0, Bytes read: 344\n\
     Sys: 0.0126s User: 0.0153s Wall: 0.0113s flows/second: 88.7 Runtime: 0.0114s\n";

fn line(clock: &str, lasted: &str, port: u16, bytes: &str) -> String {
    format!(
        "2025-04-08 {clock}.000 {lasted:>16} TCP 10.0.1.1:{port} -> 10.0.2.1:7337 1000 {bytes} 1\n"
    )
}

#[test]
fn outputs_of_nfdump_behind_each_other() {
    let output = |clock: &str, port| {
        format!("{LINE}{}{LINE_END}", line(clock, "00:00:01.000", port, "1000000"))
    };
    let three = [output("05:00:00", 5), output("06:00:00", 6), output("07:00:00", 7)].concat();
    let expected = [
        "0 (5, 7337, 6) 1000000 for 1",
        "3600 (6, 7337, 6) 1000000 for 1",
        "7200 (7, 7337, 6) 1000000 for 1",
    ];
    assert_eq!(shown(&records(&three)), expected);
    let files = [output("07:00:00", 7), output("05:00:00", 5), output("06:00:00", 6)];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let found = read_with(Options::default(), &files).unwrap();
    assert_eq!(shown(&found), expected);
    assert!(found.repairs.notes().is_empty(), "the order of files is no repair");

    let empty = format!("{LINE}No matched flows\n{}", output("05:00:00", 5));
    assert_eq!(shown(&records(&empty)).len(), 1);

    let old = "ts,te,td,sa,da,sp,dp,pr,flg,ipkt,ibyt,opkt,obyt\n\
               2025-04-08 05:00:00,2025-04-08 05:00:01,1.000,10.0.1.1,10.0.2.1,5,7337,TCP,...AP.SF,9,100,0,0\n\
               Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,100,9,1,1,1\n";
    let new = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n\
               2025-04-08 06:00:00.000,1d 02:00:01.000,TCP,10.0.1.1,6,10.0.2.1,7337,9,200,1\n\
               Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,200,9,1,1,1\n";
    let fast = "cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,flags,packets,bytes\n\
                1,2,1744092000250,1744092001250,6,10.0.1.1,7,10.0.2.1,7337,...AP.SF,9,300\n";
    assert_eq!(
        shown(&records(&[old, new, fast].concat())),
        [
            "0 (5, 7337, 6) 100 for 1",
            "3600 (6, 7337, 6) 200 for 93601",
            "3600.25 (7, 7337, 6) 300 for 1"
        ]
    );
}

#[test]
fn all_lines_of_nfdump() {
    let long = "Date first seen             Duration     Proto      Src IP Addr:Port          Dst IP Addr:Port     Flags Tos  Packets    Bytes Flows\n\
                2025-04-08 05:00:00.000  1d 02:00:01.000 TCP 10.0.1.1:5 -> 10.0.2.1:7337 ...AP.SF   0        7    2.7 M     1\n";
    let extended = "Date first seen             Duration     Proto      Src IP Addr:Port          Dst IP Addr:Port     Flags Tos  Packets    Bytes      pps      bps    Bpp Flows\n\
                2025-04-08 05:00:01.000     00:00:00.001 TCP 10.0.1.1:6 -> 10.0.2.1:7337 ...AP.SF   0    1.2 M   100372     7000  803.0 M  14338     1\n";
    let both = "Date first seen             Duration     Proto      Src IP Addr:Port          Dst IP Addr:Port  Out Pkt   In Pkt Out Byte  In Byte Flows\n\
                2025-04-08 05:00:02.000     00:00:00.001 TCP 10.0.1.1:7 <-> 10.0.2.1:7337 7 8 500    2.0 M 2\n";
    let found = records(&[long, extended, both].concat());
    assert_eq!(
        shown(&found),
        [
            "0 (5, 7337, 6) 2700000 for 93601",
            "1 (6, 7337, 6) 100372 for 0.001",
            "2 (7, 7337, 6) 2000000 for 0.001"
        ]
    );
    assert_eq!(found.repairs.rounded, 2);
    // nfdump -q
    assert_eq!(shown(&records(&line("05:00:00", "1.000", 5, "77"))), ["0 (5, 7337, 6) 77 for 1"]);
    let unknown = "Date first seen                 Duration Proto           IP Addr    Flows(%)     Packets(%)\n";
    assert!(read_with(Options::default(), &[unknown]).unwrap_err().contains("nfdump -o line"));
}

#[test]
fn an_ordinary_record_never_makes_a_file_unreadable() {
    let other = |name: &str, src: &str, dst: &str| {
        format!("2025-04-08 05:00:02.000 00:00:01.000 {name} {src} -> {dst} 3 240 1\n")
    };
    let usual = line("05:00:00", "00:00:01.000", 5, "100");
    let text = [
        LINE,
        &usual,
        &other("OSPF", "10.0.0.1:0", "224.0.0.5:0"),
        &other("3PC", "10.0.0.1:0", "10.0.0.2:0"),
        &other("TCP", "2001:db..:0:1.40000", "2001:db..:0:9.7337"),
        &other("TCP", "2001:db8::1.40000", "2001:db8::9.7337"),
    ]
    .concat();
    let found = records(&text);
    assert_eq!(
        shown(&found),
        [
            "0 (5, 7337, 6) 100 for 1",
            "2 (0, 0, 89) 240 for 1",
            "2 (0, 0, 34) 240 for 1",
            "2 (40000, 7337, 6) 240 for 1",
        ]
    );
    assert_eq!(
        found.repairs.notes(),
        ["passed over: 1 × condensed IPv6 addresses (nfdump -6 prints whole ones)"]
    );
    let strict = Options { strict: true, ..Options::default() };
    let refused = read_with(strict, &[&text]).unwrap_err();
    assert!(
        refused.starts_with("f0: line 5: record: expected a flow, found condensed"),
        "{refused}"
    );
    let alone = [LINE, &other("TCP", "2001:db..:0:1.40000", "2001:db..:0:9.7337")].concat();
    assert!(read_with(Options::default(), &[&alone]).unwrap_err().contains("nfdump -6"));
}

#[test]
fn broken_lines_are_passed_over_if_told_so() {
    let text = format!(
        "{LINE}{}2025-04-08 05:00\nx\0y\n{}",
        line("05:00:00", "1", 5, "100"),
        line("05:00:01", "1", 6, "200")
    );
    assert!(
        read_with(Options::default(), &[&text]).unwrap_err().starts_with("f0: line 3: record: ")
    );
    let skip = || Options { skip_bad: true, ..Options::default() };
    let found = read_with(skip(), &[&text]).unwrap();
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 100 for 1", "1 (6, 7337, 6) 200 for 1"]);
    assert_eq!(found.repairs.notes(), ["2 broken lines were passed over"]);
    let json =
        "{\"start_s\":1,\"src\":1,\"dst\":2,\"sport\":1,\"dport\":2,\"proto\":6}\n{\"start_s\":\n";
    assert_eq!(read_with(skip(), &[json]).unwrap().repairs.bad_lines, 1);
    assert!(
        read_with(skip(), &["start_s,src,dst,sport,dport,proto\n1\n2\n"])
            .unwrap_err()
            .contains("line 2")
    );
    let long = format!("start_s,src,dst,sport,dport,proto\n{}\n1,a,b,1,2,6\n", "1".repeat(2 << 20));
    assert_eq!(read_with(skip(), &[&long]).unwrap().flows.len(), 1);
}

#[test]
fn nfdump_as_json() {
    let flow = |first: &str, last: &str, port: u16, bytes: u64, more: &str| {
        format!(
            "{{\n\t\"type\" : \"FLOW\",\n\t\"export_sysid\" : 1,\n\t\"{first}\" : \"2023-02-21T06:11:25.568\",\n\
             \t\"{last}\" : \"2023-02-21T06:11:25.824\",\n\t\"in_bytes\" : {bytes},\n\t\"proto\" : 6,\n{more}\
             \t\"src_port\" : {port},\n\t\"dst_port\" : 7337,\n\t\"src4_addr\" : \"10.0.0.1\",\n\t\"dst4_addr\" : \"10.0.0.2\"\n}}"
        )
    };
    let event = "{\n\t\"type\" : \"EVENT\",\n\t\"event\" : \"DENIED\"\n}";
    let new = flow("first", "last", 5, 461_772, "\t\"label\" : \"a \\\"{\",\n");
    let old = flow("t_first", "t_last", 6, 10, "\t\"out_bytes\" : 99,\n");
    let text = format!("[\n{new},\n{event}\n]\n[\n{old}]\n");
    let found = records(&text);
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 461772 for 0.256", "0 (7337, 6, 6) 99 for 0.256"]);
    assert_eq!(found.repairs.notes(), ["passed over: 1 × events, which are no flows"]);
    let lines = "{\"cnt\":1,\"type\":\"FLOW\",\"first\":\"2023-02-21T06:11:25.568\",\"last\":\"2023-02-21T06:11:25.824\",\
                 \"in_bytes\":7,\"proto\":89,\"src6_addr\":\"2001:db8::1\",\"dst6_addr\":\"2001:db8::2\"}\n";
    assert_eq!(shown(&records(lines)), ["0 (0, 0, 89) 7 for 0.256"]);
    assert!(
        read_with(Options::default(), &["[\n{\n\"a\" : 1,\n"])
            .unwrap_err()
            .contains("the end of the object")
    );
    let cut = format!("[\n{{\n\t\"type\" : \"FLOW\n{new}]\n");
    let skipped = read_with(Options { skip_bad: true, ..Options::default() }, &[&cut]).unwrap();
    assert_eq!((skipped.flows.len(), skipped.repairs.bad_lines), (1, 1));
    assert!(records("[\n]\n").flows.is_empty());
}

/// A CSV of nfdump with first and last, bytes, flags and exporter of each record of one five-tuple.
fn exported(rows: &[(&str, &str, u64, &str, &str)]) -> String {
    let header =
        "firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flags,exporterID\n";
    let row = |(first, last, bytes, flags, exporter): &(&str, &str, u64, &str, &str)| {
        format!(
            "2025-04-08 {first},2025-04-08 {last},TCP,10.0.1.1,5,10.0.2.1,7337,9,{bytes},{flags},{exporter}\n"
        )
    };
    rows.iter().fold(header.to_owned(), |text, it| text + &row(it))
}

fn stitched(stitch: Stitch, text: &str) -> Records {
    read_with(Options { stitch, ..Options::default() }, &[text]).unwrap()
}

#[test]
fn flows_that_a_timeout_cut() {
    const NONE: &str = "........";
    let minutes = exported(&[
        ("05:00:00", "05:01:00", 10, NONE, "0"),
        ("05:01:00", "05:02:00", 10, NONE, "0"),
        ("05:02:00.5", "05:03:00", 10, NONE, "0"),
        ("05:03:00", "05:03:20", 3, NONE, "0"),
    ]);
    let whole = ["0 (5, 7337, 6) 33 for 200"];
    let found = records(&minutes);
    assert_eq!(shown(&found), whole);
    let cut = found.repairs.together.cut;
    assert_eq!((cut.records, cut.flows, cut.bytes), (4, 1, 33.0));
    assert_eq!(shown(&stitched(Stitch::UpTo(5.0), &minutes)), whole);
    assert_eq!(stitched(Stitch::UpTo(0.2), &minutes).flows.len(), 2);
    assert_eq!(stitched(Stitch::Off, &minutes).flows.len(), 4);

    // Over two files, in any order.
    let (head, tail) =
        (minutes.lines().next().unwrap(), minutes.lines().skip(3).collect::<Vec<_>>().join("\n"));
    let tail = format!("{head}\n{tail}\n");
    let start: String = minutes.lines().take(3).map(|line| format!("{line}\n")).collect();
    assert_eq!(shown(&read_with(Options::default(), &[&tail, &start]).unwrap()), whole);

    // Short records show nothing: they are said to be apart.
    let short = exported(&[
        ("05:00:00", "05:00:01", 10, NONE, "0"),
        ("05:00:02", "05:00:03", 20, NONE, "0"),
    ]);
    let apart = records(&short);
    assert_eq!((apart.flows.len(), apart.repairs.together.left_apart), (2, 1));
    assert_eq!(stitched(Stitch::UpTo(5.0), &short).flows.len(), 1);

    // Flags show it, whatever the durations; SYN opens another connection.
    let flags = |second: &str| {
        let rows = [
            ("05:00:00", "05:00:01", 10, "...AP.S.", "0"),
            ("05:00:02", "05:00:03", 20, second, "0"),
        ];
        exported(&rows)
    };
    assert_eq!(shown(&records(&flags("...AP..F"))), ["0 (5, 7337, 6) 30 for 3"]);
    assert_eq!(stitched(Stitch::UpTo(5.0), &flags("...AP.SF")).flows.len(), 2);
}

#[test]
fn counters_since_the_record_before() {
    let same_start = exported(&[
        ("05:00:00", "05:03:00", 3, "", "1"),
        ("05:00:00", "05:01:00", 1, "", "1"),
        ("05:00:00", "05:02:00", 2, "", "1"),
        // The same record twice.
        ("05:00:00", "05:03:00", 3, "", "1"),
    ]);
    let found = records(&same_start);
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 6 for 180"]);
    let together = found.repairs.together;
    assert_eq!((together.deltas.records, together.deltas.flows, together.repeated), (3, 1, 1));
}

#[test]
fn a_flow_that_two_exporters_recorded() {
    // The second one sees the flow a little later, with other cuts, and misses packets.
    let rows = [
        ("05:00:00.000", "05:01:00.000", 100, "", "1"),
        ("05:00:00.004", "05:00:30.004", 50, "", "2"),
        ("05:00:30.004", "05:01:00.004", 49, "", "2"),
        ("05:01:00.000", "05:01:10.000", 20, "", "1"),
        ("05:01:00.004", "05:01:10.004", 20, "", "2"),
    ];
    let found = stitched(Stitch::UpTo(5.0), &exported(&rows));
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 120 for 70.004"]);
    assert_eq!(found.repairs.together.seen_again.bytes, 119.0);
    let unknown: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2, "", "0")).collect();
    assert_eq!(
        shown(&stitched(Stitch::UpTo(5.0), &exported(&unknown))),
        ["0 (5, 7337, 6) 120 for 70.004"]
    );
    // A later connection of the same ports is another flow.
    let later = [("05:00:00", "05:00:02", 1, "", "1"), ("06:00:00", "06:00:02", 2, "", "2")];
    assert_eq!(records(&exported(&later)).flows.len(), 2);
}

/// Whole flows of one exporter: a port, the second of the start, and the whole seconds it lasts.
fn whole_flows() -> impl Strategy<Value = Vec<(u16, u64, u64)>> {
    proptest::collection::vec((1..4_u16, 0..40_u64, 0..200_u64), 1..12).prop_map(|flows| {
        // Flows of one port follow each other, ten seconds apart at least.
        let mut free = [0; 4];
        let mut placed = Vec::new();
        for (port, gap, lasts) in flows {
            let start = free[usize::from(port)] + gap;
            free[usize::from(port)] = start + lasts + 10;
            placed.push((port, start, lasts));
        }
        placed
    })
}

proptest! {
    /// An exporter cuts flows at its timeout, a second one sees a part of them a little later, and
    /// records come in any order. The flows come out as they were.
    #[test]
    fn cut_flows_come_out_whole(flows in whole_flows(), timeout in 20..70_u64, seed in any::<u64>()) {
        let header = "first,last,src,sport,dst,dport,proto,bytes,exporter\n";
        let mut rows = Vec::new();
        for &(port, start, lasts) in &flows {
            for exporter in 1..=2_u64 {
                if exporter == 2 && (seed >> (port % 64)) & 1 == 0 {
                    continue;
                }
                let mut from = start;
                loop {
                    let to = (start + lasts).min(from + timeout);
                    let late_ms = if exporter == 2 { 4 } else { 0 };
                    // A byte for each second, and one more.
                    let bytes = to - from + u64::from(to == start + lasts);
                    rows.push(format!("{from}.00{late_ms},{to}.00{late_ms},10.0.0.1,{port},10.0.0.2,80,6,{bytes},{exporter}\n"));
                    if to == start + lasts {
                        break;
                    }
                    from = to;
                }
            }
        }
        let turn = (seed as usize) % rows.len();
        rows.rotate_left(turn);
        if seed & 1 == 1 {
            rows.reverse();
        }
        let map = "start=first,end=last,src=src,sport=sport,dst=dst,dport=dport,proto=proto,bytes=bytes,exporter=exporter";
        let columns: Columns = map.parse().unwrap();
        let options = Options { columns: Some(columns), stitch: Stitch::UpTo(5.0), ..Options::default() };
        let found = read_with(options, &[&format!("{header}{}", rows.concat())]).unwrap();
        let mut whole: Vec<(u16, u64, u64)> =
            flows.iter().map(|&(port, start, lasts)| (port, start, lasts + 1)).collect();
        whole.sort_unstable();
        let mut read: Vec<(u16, u64, u64)> = (found.flows.iter().zip(&found.hidden))
            .map(|(flow, hidden)| (flow.sport, flow.start_s.round() as u64, hidden.bytes.unwrap() as u64))
            .collect();
        read.sort_unstable();
        prop_assert_eq!(read, whole);
    }
}

const HEAD: &str = "State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n";

/// Two samples and an empty one, with words behind the peer and further lines.
fn samples(behind: &str, above: &str, again: &str) -> String {
    let socket = |sent: u64| {
        format!(
            "ESTAB 0 0 10.0.0.1:5 10.0.0.2:7337{behind}\n{above}\t cubic rto:204 bytes_sent:{sent} bytes_acked:{}{again}\n",
            sent + 1
        )
    };
    format!(
        "1700000000.000\n{HEAD}{}1700000000.100\n{HEAD}{}1700000000.200\n{HEAD}",
        socket(1_000_000),
        socket(5_000_000)
    )
}

#[test]
fn words_that_options_of_ss_add() {
    for behind in [
        "",
        " ",
        "  users:((\"java\",pid=4711,fd=301))",
        " users:((\"bytes_sent:9 x\",pid=1,fd=2),(\"b\",pid=2,fd=3))",
        " timer:(on,200ms,0)",
        " timer:(keepalive,9min51sec,0) uid:1000 ino:77 sk:1 cgroup:/user.slice/a.service <->",
        " ino:77 sk:1 <-> skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0)",
    ] {
        for (above, again) in [
            ("", ""),
            ("\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) ts sack\n", ""),
            ("", "\n\t skmem:(r0,rb131072)\n\t tcp-ulp-mptcp flags:Mec"),
        ] {
            let text = samples(behind, above, again);
            assert_eq!(shown(&records(&text)), ["0 (5, 7337, 6) 5000000 for 0.2"], "{text}");
        }
        let one_line = samples(behind, "", "").replace("\n\t", " ");
        assert_eq!(shown(&records(&one_line)), ["0 (5, 7337, 6) 5000000 for 0.2"], "{one_line}");
    }
    let no_state = samples("", "", "").replace("ESTAB ", "").replace("State ", "");
    assert_eq!(shown(&records(&no_state)), ["0 (5, 7337, 6) 5000000 for 0.2"]);
    let other = samples("", "", "")
        .replace("ESTAB", "tcp ESTAB")
        .replace(HEAD, &format!("Netid {HEAD}udp UNCONN 0 0 *:53 *:*\nu_str ESTAB 0 0 * 1 * 2\ntcp LISTEN 0 9 [::]:22 [::]:*\n"));
    let found = records(&other);
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 5000000 for 0.2"]);
    assert_eq!(found.repairs.notes(), ["passed over: 6 × sockets that are not of TCP"]);
}

#[test]
fn connections_that_were_open_before_the_first_sample() {
    let text =
        samples("", "", "").replace("1000000 ", "80000000000 ").replace("1000001", "80000000001");
    let text = text.replace("sent:5000000 ", "sent:80001000000 ").replace("5000001", "80001000001");
    let found = records(&text);
    assert_eq!(shown(&found), ["0 (5, 7337, 6) 1000000 for 0.2"]);
    assert_eq!(found.repairs.open_before, 1);
    // As old as the time between two samples.
    let aged = samples("", "", " busy:900ms");
    assert_eq!(shown(&records(&aged)), ["0 (5, 7337, 6) 4000000 for 0.2"]);
    // It ends before the second sample: what it sent is unknown, unless it can have been sent in
    // between.
    let once = |sent: &str| {
        format!(
            "1700000000\n{HEAD}ESTAB 0 0 10.0.0.1:5 10.0.0.2:7337\n\t rto:204 bytes_sent:{sent}\n1700000000.1\n{HEAD}"
        )
    };
    assert_eq!(shown(&records(&once("900000"))), ["0 (5, 7337, 6) 900000 for 0.1"]);
    assert_eq!(shown(&records(&once("80000000000"))), ["0 (7337, 5, 6) - for 0.1"]);
}

#[test]
fn samples_without_counters_and_other_times() {
    let text = format!(
        "1700000000\n{HEAD}ESTAB 0 0 10.0.0.1:5 10.0.0.2:7337 users:((\"a\",pid=1,fd=2))\n1700000001\n{HEAD}"
    );
    let found = records(&text);
    assert_eq!(shown(&found), ["0 (7337, 5, 6) - for 1"]);
    assert_eq!(
        found.repairs.notes(),
        ["1 connection has no counters, and unknown bytes; ss -i prints them (Linux 4.1 or newer)"]
    );
    for (first, second) in [
        ("Time: 1700000000.25", "Time: 1700000000.45"),
        ("# 1700000000.25", "# 1700000000.45"),
        ("=== 1700000000.25 ===", "=== 1700000000.45 ==="),
        ("time=2023-11-14T22:13:20.25Z", "time=2023-11-14T22:13:20.45Z"),
        ("2023-11-14 22:13:20,250000000+00:00", "2023-11-14 22:13:20,450000000+00:00"),
    ] {
        let text = format!(
            "{first}\n{HEAD}ESTAB 0 0 [2001:db8::2]:5 [2001:db8::9]:7337\n\t rto:204 bytes_sent:900\n---\n{second}\n{HEAD}---\n"
        );
        assert_eq!(shown(&records(&text)), ["0 (5, 7337, 6) 900 for 0.2"], "{first}");
    }
    let none = format!("{HEAD}ESTAB 0 0 10.0.0.1:5 10.0.0.2:7337\n");
    assert!(read_with(Options::default(), &[&none]).unwrap_err().contains("date +%s.%N"));
}

#[test]
fn an_other_socket_with_the_same_ends_is_another_connection() {
    let text = samples(" ino:7 sk:1 <->", "", "").replacen("sk:1", "sk:2", 1);
    assert_eq!(
        shown(&records(&text)),
        ["0 (5, 7337, 6) 1000000 for 0.1", "0.10000000009313226 (5, 7337, 6) 5000000 for 0.1"]
            .map(|it| it.replace("0.10000000009313226", "0.1"))
    );
}

const ZEEK: &str = "#separator \\x09\n#unset_field\t-\n#path\tconn\n\
     #fields\tts\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\tmissed_bytes\torig_ip_bytes\tresp_ip_bytes\n";

#[test]
fn bytes_that_no_packets_of_a_connection_carried() {
    let row =
        |bytes: &str| format!("1700000000.5\t10.0.0.1\t5\t10.0.0.2\t443\ttcp\t32.0\t{bytes}\n");
    for (bytes, expected) in [
        ("1800\t1200000000\t1199946000\t3700\t56400", "0 (443, 5, 6) 54000 for 32"),
        ("1800\t1200000000\t0\t3700\t56400", "0 (443, 5, 6) 56400 for 32"),
        ("1800\t1200000000\t-\t3700\t56400", "0 (443, 5, 6) 56400 for 32"),
        ("1800\t1200000000\t1199946000\t3700\t-", "0 (443, 5, 6) 1200000000 for 32"),
        ("1800\t50000\t7\t3700\t56400", "0 (443, 5, 6) 50000 for 32"),
    ] {
        let found = records(&format!("{ZEEK}{}", row(bytes)));
        assert_eq!(shown(&found), [expected], "{bytes}");
        let is_capped = bytes.contains("1200000000") && !bytes.ends_with('-');
        assert_eq!(found.repairs.capped, u64::from(is_capped), "{bytes}");
    }
    let strict = Options { strict: true, ..Options::default() };
    let text = format!("{ZEEK}{}", row("1800\t1200000000\t0\t3700\t56400"));
    let refused = read_with(strict, &[&text]).unwrap_err();
    assert_eq!(
        refused,
        "f0: line 5: resp_bytes: expected at most 56400 bytes, those of its packets, found 1200000000"
    );
}

#[test]
fn logs_of_zeek_behind_each_other() {
    let row = "1700000000.5\t10.0.0.1\t5\t10.0.0.2\t443\ttcp\t1\t9\t8\t0\t900\t800\n";
    let dns = "#separator \\x09\n#path\tdns\n#fields\tts\tquery\n1700000000.1\texample.org\n#close\t2023\n";
    let later = row.replace("00.5", "01.5").replace("\t5\t", "\t6\t");
    let text = [ZEEK, row, "#close\t2023\n", dns, ZEEK, &later].concat();
    let found = records(&text);
    assert_eq!(shown(&found), ["0 (5, 443, 6) 9 for 1", "1 (6, 443, 6) 9 for 1"]);
    assert_eq!(found.repairs.notes(), ["passed over: 1 × lines of another log of Zeek"]);
    let glued = format!("{ZEEK}{row}{}{later}", row.trim_end());
    assert!(read_with(Options::default(), &[&glued]).unwrap_err().contains("expected 12 values"));
    let skipped = read_with(Options { skip_bad: true, ..Options::default() }, &[&glued]).unwrap();
    assert_eq!((skipped.flows.len(), skipped.repairs.bad_lines), (1, 1));
}

#[test]
fn json_of_zeek() {
    let nested = r#"{"_path":"stats","ts":1.5,"mem":7}
{"_path":"conn","ts":1700000000000.25,"id":{"orig_h":"10.0.0.1","orig_p":5,"resp_h":"10.0.0.9","resp_p":7337},"proto":"tcp","duration":2.0,"orig_bytes":1000,"resp_bytes":5,"missed_bytes":0,"orig_ip_bytes":2100,"resp_ip_bytes":70}
{"_path":"conn","ts":1700000000010,"id_orig_h":"10.0.0.1","id_orig_p":6,"id_resp_h":"10.0.0.9","id_resp_p":7337,"proto":"tcp","duration":null}
{"_path":"conn","ts":1700000001.123456,"id.orig_h":"10.0.0.1","id.orig_p":7,"id.resp_h":"10.0.0.9","id.resp_p":7337,"proto":"tcp"}
"#;
    let found = records(nested);
    let starts: Vec<String> =
        found.flows.iter().map(|flow| found.on_clock(flow.start_s).to_string()).collect();
    assert_eq!(starts, ["1700000000.00025", "1700000000.01", "1700000001.123456"]);
    assert_eq!(found.hidden[0].bytes, Some(1000.0));
    assert_eq!(found.repairs.passed_over.values().sum::<u64>(), 1);
}

fn mapped(map: &str, text: &str) -> Result<Records, String> {
    let columns: Columns =
        map.parse().map_err(|error: covey_trace::TraceError| error.to_string())?;
    read_with(Options { columns: Some(columns), ..Options::default() }, &[text])
}

#[test]
fn columns_of_any_table() {
    let ipfix = "flowStartMilliseconds;flowEndMilliseconds;sourceIPv4Address;destinationIPv4Address;sourceTransportPort;destinationTransportPort;protocolIdentifier;octetDeltaCount\n\
                 1700000000123;1700000001123;10.0.0.1;10.0.0.2;5;7337;6;1000\n1700000000124;;10.0.0.1;10.0.0.2;6;7337;TCP;\n";
    let map = "start=flowStartMilliseconds,unit=ms,end=flowEndMilliseconds,src=sourceIPv4Address,dst=destinationIPv4Address,\
               sport=sourceTransportPort,dport=destinationTransportPort,proto=protocolIdentifier,bytes=octetDeltaCount";
    for separator in [";", "\t", ",", "|"] {
        let found = mapped(map, &ipfix.replace(';', separator)).unwrap();
        assert_eq!(found.on_clock(found.flows[0].start_s).to_string(), "1700000000.123");
        assert_eq!(found.hidden[0].end_s.unwrap() - found.flows[0].start_s, 1.0);
        assert_eq!((found.hidden[0].bytes, found.hidden[1].bytes), (Some(1000.0), None));
        assert_eq!((found.flows[1].sport, found.flows[1].protocol), (6, 6));
    }
    let cic = "Flow ID, Source IP, Source Port, Destination IP, Destination Port, Protocol, Timestamp, Flow Duration, Total Length of Fwd Packets, Total Length of Bwd Packets\n\
               a-b,192.168.10.5,5.0,104.16.0.1,443,6,07/07/2017 03:30:01 PM,2500000,12.0,3000\n\
               a-c,,5,104.16.0.1,443,6,07/07/2017 03:30:01 PM,2500000,12,3000\n";
    let map = "start=Timestamp,unit=dmy,duration=Flow Duration,duration_unit=us,src=Source IP,dst=destination ip,sport=Source Port,\
               dport=Destination Port,proto=Protocol,bytes=Total Length of Fwd Packets,bytes_back=Total Length of Bwd Packets";
    let found = mapped(map, cic).unwrap();
    assert_eq!(shown(&found), ["0 (443, 5, 6) 3000 for 2.5"]);
    assert_eq!(found.on_clock(found.flows[0].start_s).to_string(), "1499441401");
    assert_eq!(found.repairs.notes(), ["passed over: 1 × no addresses"]);
}

#[test]
fn sizes_in_other_units_than_bytes() {
    let text = "start,source,dest,size_kb,job\n0,a,b,1.5,x\n0,a,b,,x\n";
    let map = "src=source,dst=dest,bytes=size_kb";
    for (unit, bytes) in [("kB", 1500.0), ("KB", 1500.0), ("KiB", 1536.0), ("B", 1.5)] {
        let found = mapped(&format!("{map},bytes_unit={unit}"), text).unwrap();
        assert_eq!((found.hidden[0].bytes, found.hidden[1].bytes), (Some(bytes), None), "{unit}");
    }
    // A name that says another unit is no number of bytes without a word.
    let refused = mapped(map, text).unwrap_err();
    let expected = "expected bytes_unit=kB or bytes_unit=B (--columns) with a column of this name \
                    for bytes, found \"size_kb\"";
    assert!(refused.ends_with(expected), "{refused}");
    let refused = mapped(&format!("{map},bytes_unit=bits"), text).unwrap_err();
    assert!(refused.ends_with("one of B, kB, MB, GB, KiB, MiB, GiB, found \"bits\""), "{refused}");
    let large = mapped(&format!("{map},bytes_unit=GiB"), &text.replace("1.5", "1e30")).unwrap_err();
    assert!(large.contains("size_kb: expected"), "{large}");
}

#[test]
fn mistakes_in_a_map_of_columns() {
    for (map, message) in [
        (
            "start=a,src=b",
            "f0: line 1: header: expected a column for dst (--columns dst=NAME says which), found a, b, c",
        ),
        (
            "header=a b",
            "--columns: expected header= the names of all columns between blanks, found \"a b\"",
        ),
        ("start=a,src=b,dst=c,dprt=d", "did you mean 'dport'?"),
        (
            "start=a,src=b,dst=c,unit=min",
            "--columns: expected unit= one of s, ms, us, ns, iso, dmy, mdy, found \"min\"",
        ),
        ("start=a,src", "--columns: expected KEY=COLUMN between commas, found \"src\""),
        ("start=a,src=b,dst=c,src=d", "--columns: expected src= once, found it twice"),
        (
            "start=a,src=b,dst=d",
            "f0: line 1: --columns: expected one of the file's columns for dst=: a, b, c, found \"d\"",
        ),
        ("start=a,src=b,dst=c,unit=ms", "f0: line 2: a: expected a number, found \"x\""),
        (
            "start=a,src=b,dst=c",
            "f0: line 2: a: expected a time like 2026-11-25 16:02:30.250+01:00, or a number since 1970, found \"x\"",
        ),
    ] {
        let found = mapped(map, "a,b,c\nx,1.1.1.1,1.1.1.2\n").unwrap_err();
        assert!(found.ends_with(message), "{map}: {found}");
    }
}
