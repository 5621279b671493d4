//! Flow logs of clouds, in files made after their documentation.

use covey_trace::read;
use covey_trace::records::{Options, Reader, Records};

fn try_read(files: &[&str], options: Options) -> Result<Records, String> {
    let mut reader = Reader::new(options);
    let all = files.iter().try_for_each(|text| reader.read(text.as_bytes(), "f"));
    all.and_then(|()| reader.finish()).map_err(|error| error.to_string())
}

fn records(files: &[&str]) -> Records {
    try_read(files, Options::default()).unwrap()
}

/// Start, ends, bytes and end of each flow.
fn shown(records: &Records) -> Vec<String> {
    let both = records.flows.iter().zip(&records.hidden);
    let text = both.map(|(flow, hidden)| {
        format!(
            "{} {}:{}>{}:{}/{} {} {}",
            records.on_clock(flow.start_s),
            records.host(flow.src),
            flow.sport,
            records.host(flow.dst),
            flow.dport,
            flow.protocol,
            hidden.bytes.map_or("-".to_owned(), |bytes| bytes.to_string()),
            hidden.end_s.map_or("-".to_owned(), |end_s| records.on_clock(end_s).to_string()),
        )
    });
    text.collect()
}

const HEADER: &str = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status";
const AWS: &str = "\
2 123456789010 eni-0a 10.0.0.1 10.0.0.2 40000 7337 6 20 4249 1700000010 1700000070 ACCEPT OK
2 123456789010 eni-0a 10.0.0.9 10.0.0.2 49761 3389 6 20 4249 1700000010 1700000070 REJECT OK
2 123456789010 eni-0a - - - - - - - 1700000010 1700000070 - NODATA
2 123456789010 eni-0a - - - - - - - 1700000070 1700000130 - SKIPDATA
2 123456789010 eni-0a 10.0.0.1 10.0.0.2 40000 7337 6 20 1000 1700000070 1700000130 ACCEPT OK
2 123456789010 eni-0b 10.0.0.1 10.0.0.2 40000 7337 6 20 4249 1700000011 1700000071 ACCEPT OK
2 123456789010 eni-0b 10.0.0.3 10.0.0.2 0 0 1 1 84 1700000012 1700000012 ACCEPT OK
";
const AWS_NOTE: &str = "passed over: 1 × NODATA: windows without traffic, 1 × REJECT: rejected traffic, \
                        1 × SKIPDATA: windows that AWS did not record, whose flows are missing";

#[test]
fn aws_in_the_default_format() {
    let found = records(&[AWS]);
    // Windows of a flow are one flow, which both interfaces saw.
    let flows = [
        "1700000010 10.0.0.1:40000>10.0.0.2:7337/6 5249 1700000130",
        "1700000012 10.0.0.3:0>10.0.0.2:0/1 84 1700000012",
    ];
    assert_eq!(shown(&found), flows);
    assert_eq!(found.repairs.notes()[1..], [AWS_NOTE]);
    assert_eq!(
        (found.repairs.together.cut.records, found.repairs.together.seen_again.records),
        (2, 1)
    );
    // With a header, and as CloudWatch exports it.
    assert_eq!(shown(&records(&[&format!("{HEADER}\n{AWS}")])), flows);
    let exported: String =
        AWS.lines().map(|line| format!("2023-11-14T22:13:30.000Z {line}\n")).collect();
    assert_eq!(shown(&records(&[&exported])), flows);
    let strict = Options { strict: true, ..Options::default() };
    assert_eq!(
        try_read(&[AWS], strict).unwrap_err(),
        "f: line 2: record: expected a flow, found REJECT: rejected traffic"
    );
}

#[test]
fn aws_in_other_formats() {
    let custom =
        "srcaddr dstaddr bytes start end tcp-flags interface-id\n10.0.0.1 10.0.0.2 7 5 6 2 eni-1\n";
    assert_eq!(shown(&records(&[custom])), ["5 10.0.0.1:0>10.0.0.2:0/0 7 6"]);
    let commas = custom.replace(' ', ",").replace('-', "_");
    assert_eq!(shown(&records(&[&commas])), ["5 10.0.0.1:0>10.0.0.2:0/0 7 6"]);
    let map = "header=${srcaddr} ${dstaddr} ${bytes} ${start} ${end} ${tcp-flags} ${interface-id}";
    let options = Options { columns: Some(map.parse().unwrap()), ..Options::default() };
    let (_, headerless) = custom.split_once('\n').unwrap();
    assert_eq!(shown(&try_read(&[headerless], options).unwrap()).len(), 1);
    assert_eq!(
        try_read(&["srcaddr dstaddr action\n"], Options::default()).unwrap_err(),
        "f: line 1: header: expected a column start, found \"srcaddr,dstaddr,action\""
    );
}

/// An entry of Cloud Logging.
fn gcp(reporter: &str, bytes: &str, start: &str, end: &str) -> String {
    format!(
        r#"{{"insertId":"x","logName":"projects/p/logs/compute.googleapis.com%2Fvpc_flows","jsonPayload":{{"bytes_sent":"{bytes}","connection":{{"dest_ip":"10.0.0.2","dest_port":7337,"protocol":6,"src_ip":"10.0.0.1","src_port":40000}},"end_time":"2024-05-01T10:00:{end}Z","packets_sent":"9","reporter":"{reporter}","start_time":"2024-05-01T10:00:{start}Z","src_instance":{{"vm_name":"web-1"}}}},"timestamp":"2024-05-01T10:01:00Z"}}"#
    )
}

#[test]
fn gcp_as_lines_and_as_an_array() {
    let entries = [
        gcp("SRC", "1000", "00.25", "04.5"),
        gcp("SRC", "500", "05.0", "09.0"),
        gcp("DEST", "990", "00.3", "04.5"),
        gcp("DEST", "500", "05.1", "09.0"),
        r#"{"jsonPayload":{"message":"hello"}}"#.to_owned(),
    ];
    let lines = entries.join("\n");
    let array = format!("[\n  {}\n]\n", entries.join(",\n  "));
    for text in [&lines, &array] {
        let found = records(&[text]);
        assert_eq!(shown(&found), ["1714557600.25 10.0.0.1:40000>10.0.0.2:7337/6 1500 1714557609"]);
        assert_eq!(found.repairs.together.seen_again.records, 2);
        assert_eq!(
            found.repairs.notes().last().unwrap(),
            "passed over: 1 × entries of other logs than VPC flow logs"
        );
    }
    let workload = read(lines.as_bytes(), "f").unwrap();
    assert_eq!(
        (workload.hosts, workload.coflows[0].size_bytes()),
        (vec!["10.0.0.1".into(), "10.0.0.2".into()], 1500.0)
    );
}

#[test]
fn broken_documents() {
    let good = gcp("SRC", "1", "00", "01");
    let bad = gcp("SRC", "-1", "00", "01");
    let text = format!("{good}\n{bad}\n{good}\n");
    assert_eq!(
        try_read(&[&text], Options::default()).unwrap_err(),
        "f: line 2: bytes_sent: expected bytes from 0 to 1e18, found \"-1\""
    );
    let skip_bad = Options { skip_bad: true, ..Options::default() };
    assert_eq!(try_read(&[&text], skip_bad).unwrap().repairs.bad_lines, 1);
    let cut = format!("{good}\n{}", &bad[..300]);
    let error = try_read(&[&cut], Options::default()).unwrap_err();
    assert!(
        error.starts_with(
            "f: line 2: record: expected the JSON of flow logs, found EOF while parsing"
        ),
        "{error}"
    );
    let wrong = good.replace("\"10.0.0.1\"", "[1]");
    let error = try_read(&[&wrong], Options::default()).unwrap_err();
    assert!(error.contains("invalid type: sequence, expected a text or a number"), "{error}");
    // Memory is bounded.
    let long = format!("{{\"jsonPayload\":{{\"bytes_sent\":\"{}", "9".repeat(17 << 20));
    assert_eq!(
        try_read(&[&long], Options::default()).unwrap_err(),
        "f: expected a record in each 16 MiB, found none"
    );
}

/// A file of a security group with these states.
fn group(states: &[&str]) -> String {
    let states = states.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"records":[{{"time":"2024-05-01T10:00:00Z","macAddress":"000D3AF87856","category":"NetworkSecurityGroupFlowEvent","properties":{{"Version":2,"flows":[{{"rule":"r","flows":[{{"mac":"000D3AF87856","flowTuples":[{states}]}}]}}]}}}}]}}"#
    )
}

const STATES: [&str; 5] = [
    "1714557600,10.0.0.1,10.0.0.2,40000,7337,T,O,A,B,,,,",
    "1714557660,10.0.0.1,10.0.0.2,40000,7337,T,O,A,C,10,1000,5,400",
    "1714557690,10.0.0.1,10.0.0.2,40000,7337,T,O,A,E,10,500,5,100",
    "1714557601,10.0.0.9,10.0.0.2,40000,22,T,I,D,B,,,,",
    "1714557650,10.0.0.3,10.0.0.2,53,53,U,O,A,E,1,80,2,900",
];

#[test]
fn azure_security_groups() {
    let flows = [
        "1714557600 10.0.0.1:40000>10.0.0.2:7337/6 1500 1714557690",
        "1714557650 10.0.0.2:53>10.0.0.3:53/17 900 1714557650",
    ];
    let found = records(&[&group(&STATES)]);
    assert_eq!(shown(&found), flows);
    assert_eq!((found.repairs.open_before, found.repairs.out_of_order), (1, 0));
    assert_eq!(found.repairs.passed_over["denied traffic"], 1);
    // A flow may begin in one file and end in another, whatever their order, and may be in two
    // files.
    let parts = [group(&STATES[1..]), group(&STATES[..2])];
    let parts = records(&[&parts[0], &parts[1]]);
    assert_eq!(
        (shown(&parts), parts.repairs.passed_over["states of flows that are there twice"]),
        (shown(&found), 1)
    );
    // One that has not ended.
    let open = records(&[&group(&STATES[..2])]);
    assert_eq!(shown(&open), ["1714557600 10.0.0.1:40000>10.0.0.2:7337/6 1000 -"]);
}

#[test]
fn azure_virtual_networks() {
    let states = STATES.map(|it| {
        let it =
            it.replacen("17145576", "17145576000", 0).replace(",T,", ",6,").replace(",U,", ",17,");
        let it = it.replace(",D,B,", ",D,NX,").replace(",A,B,", ",B,NX,");
        let it = it.replace(",A,C,", ",C,NX,").replace(",A,E,", ",E,X,");
        let (time, rest) = it.split_once(',').unwrap();
        format!("\"{time}250,{rest}\"")
    });
    let text = format!(
        r#"{{"records":[{{"time":"x","flowLogVersion":4,"macAddress":"112233445566","category":"FlowLogFlowEvent","flowRecords":{{"flows":[{{"aclID":"0","flowGroups":[{{"rule":"r","flowTuples":[{}]}}]}}]}}}}]}}"#,
        states.join(",")
    );
    assert_eq!(
        shown(&records(&[&text])),
        [
            "1714557600.25 10.0.0.1:40000>10.0.0.2:7337/6 1500 1714557690.25",
            "1714557650.25 10.0.0.2:53>10.0.0.3:53/17 900 1714557650.25"
        ]
    );
    for (state, error) in [
        (
            "1,2",
            "f: line 1: flowTuples: expected a state of 13 values, TIME,SRC,DST,SPORT,DPORT,PROTOCOL,DIRECTION,…, found \"1,2\"",
        ),
        (
            "1714557600,10.0.0.1,10.0.0.2,40000,99999,T,O,A,B,,,,",
            "f: line 1: flowTuples: expected a port from 0 to 65535, found \"99999\"",
        ),
    ] {
        assert_eq!(try_read(&[&group(&[state])], Options::default()).unwrap_err(), error);
    }
}
