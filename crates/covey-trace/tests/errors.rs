//! The messages of readers about bad input, to the letter.

use covey_trace::{TraceError, limits, read};

fn message(text: &[u8]) -> String {
    match read(text, "t") {
        Ok(workload) => format!("no error, but {} coflows", workload.coflows.len()),
        Err(error) => error.to_string(),
    }
}

/// Each text of `cases` gets its message.
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let message = message(text.as_bytes());
        assert_eq!(message, *expected, "for {text:?}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn files() {
    let empty = "t: line 1: header: expected PORTS COFLOWS, or a JSON header, found an empty file";
    check(&[
        ("", empty),
        ("x y", "t: line 1: number of ports: expected an integer from 1 to 1000000, found \"x\""),
        (
            "3",
            "t: line 1: flows: expected 3, as the first line says, found 0 at the end of the file",
        ),
        ("0 1", "t: line 1: number of ports: expected an integer from 1 to 1000000, found \"0\""),
        (
            "1000001 1",
            "t: line 1: number of ports: expected an integer from 1 to 1000000, found \"1000001\"",
        ),
        ("-1 1", "t: line 1: number of ports: expected an integer from 1 to 1000000, found \"-1\""),
        (
            "id,arrival,src,dst\n1,0,0,1\n",
            "flow records: expected records with bytes, which a trace must have (--columns bytes=COLUMN says where a table has them), found none",
        ),
        ("3 1 2", "t: line 1: end of line: expected nothing after PORTS COFLOWS, found \"2\""),
        (
            "3 1\n",
            "t: line 1: coflows: expected 1, as the first line says, found 0 at the end of the file",
        ),
        (
            "3 2\n1 0 1 0 1 1:1\n",
            "t: line 2: coflows: expected 2, as the first line says, found 1 at the end of the file",
        ),
        (
            "3 1\n1 0 1 0 1 1:1\n2 0 1 0 1 1:1\n",
            "t: line 3: coflows: expected 1, as the first line says, found one more: \"2 0 1 0 1 1:1\"",
        ),
        (
            "3 2\n1 0 1 0 1 1:1\n\n1 0 1 0 1 1:1\n",
            "t: line 4: id: expected an id not used before (line 2 has it), found \"1\"",
        ),
        (
            "3 \u{1b}[31m",
            "t: line 1: number of coflows: expected an integer from 0 to 50000000, found \"\\u{1b}[31m\"",
        ),
        (
            "3 123456789012345678901234567890123456789012345",
            "t: line 1: number of coflows: expected an integer from 0 to 50000000, found \"1234567890123456789012345678901234567890…\"",
        ),
    ]);
    assert_eq!(message(b"\r\n \n"), empty.replace("line 1", "line 2"));
    assert_eq!(
        message(b"3 1\n1 0 \0"),
        "t: line 2: text: expected UTF-8 without NUL, found the byte 0x00 (a binary file?)"
    );
    assert_eq!(
        message(b"\xff\xfe3"),
        "t: line 1: file: expected a trace, which is text, found text in UTF-16: save it as UTF-8"
    );
}

#[test]
fn coflow_benchmark() {
    check(&[
        (
            "3 1\n1 x 1 0 1 1:1",
            "t: line 2: arrival: expected milliseconds from 0 to 1e15, found \"x\"",
        ),
        (
            "3 1\n1 -5 1 0 1 1:1",
            "t: line 2: arrival: expected milliseconds from 0 to 1e15, found \"-5\"",
        ),
        (
            "3 1\n1 nan 1 0 1 1:1",
            "t: line 2: arrival: expected milliseconds from 0 to 1e15, found \"nan\"",
        ),
        (
            "3 1\n1 1e16 1 0 1 1:1",
            "t: line 2: arrival: expected milliseconds from 0 to 1e15, found \"1e16\"",
        ),
        (
            "3 1\n1 0 0 1 1:1",
            "t: line 2: number of mappers: expected an integer from 1 to 1000000, found \"0\"",
        ),
        (
            "3 1\n1 0 4000000000 1 1:1",
            "t: line 2: number of mappers: expected an integer from 1 to 1000000, found \"4000000000\"",
        ),
        (
            "3 1\n1 0 2 0 3 1 1:1",
            "t: line 2: mapper 2 of 2: expected a port from 0 to 2, found \"3\"",
        ),
        (
            "3 1\n1 0 1 0 0 :",
            "t: line 2: number of reducers: expected an integer from 1 to 1000000, found \"0\"",
        ),
        (
            "3 1\n1 0 1 0 2 1:1",
            "t: line 2: reducer 2 of 2: expected RACK:MB, found the end of the line",
        ),
        ("3 1\n1 0 1 0 2 1:1 2", "t: line 2: reducer 2 of 2: expected RACK:MB, found \"2\""),
        (
            "3 1\n1 0 1 0 1 3:1",
            "t: line 2: reducer 1 of 1: expected a port from 0 to 2, found \"3\"",
        ),
        (
            "3 1\n1 0 1 0 1 1:-1",
            "t: line 2: reducer 1 of 1: expected MB from 0 to 9.5367431640625e11, found \"-1\"",
        ),
        (
            "3 1\n1 0 1 0 1 1:inf",
            "t: line 2: reducer 1 of 1: expected MB from 0 to 9.5367431640625e11, found \"inf\"",
        ),
        (
            "3 1\n1 0 1 0 1 1:1 2:1",
            "t: line 2: end of line: expected nothing after 1 reducers, found \"2:1\"",
        ),
    ]);
}

#[test]
fn sincronia() {
    check(&[
        ("3 1\n1", "t: line 2: arrival: expected milliseconds, found the end of the line"),
        (
            "3 1\n1 0 0 1 1",
            "t: line 2: number of flows: expected an integer from 1 to 50000000, found \"0\"",
        ),
        (
            "3 1\n1 0 60000000 1 1",
            "t: line 2: number of flows: expected an integer from 1 to 50000000, found \"60000000\"",
        ),
        (
            "3 1\n1 0 1 4 1 0 1 1",
            "t: line 2: number of sources: expected an integer from 1 to 3, found \"4\"",
        ),
        (
            "3 1\n1 0 1 1 0 0 1 1",
            "t: line 2: number of destinations: expected an integer from 1 to 3, found \"0\"",
        ),
        (
            "3 1\n1 0 1 1 1 3 1 1",
            "t: line 2: source of flow 1 of 1: expected a port from 0 to 2, found \"3\"",
        ),
        (
            "3 1\n1 0 1 1 1 0 -1 1",
            "t: line 2: destination of flow 1 of 1: expected a port from 0 to 2, found \"-1\"",
        ),
        (
            "3 1\n1 0 1 1 1 0 1",
            "t: line 2: size of flow 1 of 1: expected MB, found the end of the line",
        ),
        (
            "3 1\n1 0 1 1 1 0 1 1e12",
            "t: line 2: size of flow 1 of 1: expected MB from 0 to 9.5367431640625e11, found \"1e12\"",
        ),
        (
            "3 1\n1 0 1 1 1 0 1 1 7",
            "t: line 2: end of line: expected nothing after 1 flows, found \"7\"",
        ),
    ]);
}

#[test]
fn json_header() {
    check(&[
        ("{", "t: line 1: record: expected the end of the object, found the end of the file"),
        (
            r#"{"covey_trace":1}"#,
            "t: line 1: ports: expected the number of ports in the header, as no flow names a host, found none",
        ),
        (r#"{"covey_trace":2,"ports":3}"#, "t: line 1: covey_trace: expected version 1, found 2"),
        (
            r#"{"covey_trace":1,"ports":0}"#,
            "t: line 1: ports: expected an integer from 1 to 1000000, found 0",
        ),
        (
            r#"{"covey_trace":1,"ports":"3"}"#,
            "t: line 1: ports: expected a whole number, found string \"3\" (column 28)",
        ),
        (
            r#"{"covey_trace":1,"ports":3,"coflows":1}"#,
            "t: line 1: coflows: expected 1, as the first line says, found 0 at the end of the file",
        ),
        (
            r#"{"covey_trace":1,"ports":3} x"#,
            "t: line 1: end of line: expected the JSON of a header, found trailing characters (column 29)",
        ),
    ]);
}

#[test]
fn json_coflows() {
    let flow = r#"{"src":0,"dst":1,"bytes":1}"#;
    for (line, expected) in [
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0"#.to_owned(),
            "flows[0]: expected the JSON of a coflow, found EOF while parsing an object (column 41)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[]}"#.to_owned(),
            "flows: expected at least one flow, found none",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":3,"dst":1,"bytes":1}]}"#.to_owned(),
            "flows[0].src: expected a port from 0 to 2, found 3",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":-1,"dst":1,"bytes":1}]}"#.to_owned(),
            "flows[0].src: expected a port, which is a whole number from 0 on, or the name of a host, found integer `-1` (column 42)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1}]}"#.to_owned(),
            "flows[0]: expected the JSON of a coflow, found missing field `bytes` (column 50)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":"1"}]}"#.to_owned(),
            "flows[0].bytes: expected a number, found string \"1\" (column 61)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":null}]}"#.to_owned(),
            "flows[0].bytes: expected a number, found null (column 62)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":-1}]}"#.to_owned(),
            "flows[0].bytes: expected bytes from 0 to 1e18, found -1",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":2e18}]}"#.to_owned(),
            "flows[0].bytes: expected bytes from 0 to 1e18, found 2000000000000000000",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1e999}]}"#.to_owned(),
            "flows[0].bytes: expected the JSON of a coflow, found number out of range (column 63)",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1,"size":1}]}"#.to_owned(),
            "flows[0].size: expected one of `src`, `dst`, `bytes`, `start_s`, `restart_s`, `ratio`, `attempt`, found unknown field `size` (column 66)",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":-1,"flows":[{flow}]}}"#),
            "arrival_s: expected seconds from 0 to 1e12, found -1",
        ),
        (
            format!(r#"{{"id":1,"arrival_s":0,"flows":[{flow}]}}"#),
            "id: expected a string, found integer `1` (column 7)",
        ),
        (
            format!(r#"{{"id":"","arrival_s":0,"flows":[{flow}]}}"#),
            "id: expected 1 to 1024 bytes, found \"\"",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"job":""}}"#),
            "job: expected 1 to 1024 bytes, found \"\"",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"tenant":""}}"#),
            "tenant: expected 1 to 1024 bytes, found \"\"",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"weight":0}}"#),
            "weight: expected a positive number up to 1e18, found 0",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"deadline_s":-2}}"#),
            "deadline_s: expected seconds from 0 to 1e12, found -2",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"ratio":0}}"#),
            "ratio: expected a number above 0, and at most 1, found 0",
        ),
        (
            r#"{"id":"1","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1,"ratio":1.5}]}"#
                .to_owned(),
            "flows[0].ratio: expected a number above 0, and at most 1, found 1.5",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"compress":"no"}}"#),
            "compress: expected a boolean, found string \"no\" (column 77)",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"parents":["1"]}}"#),
            "parents: expected predecessors without a cycle, found \"1\", which waits for itself",
        ),
        (
            format!(r#"{{"id":"1","arrival_s":0,"flows":[{flow}],"parents":["a\nb"]}}"#),
            "parents: expected the id of a coflow of this trace, found \"a\\nb\"",
        ),
    ] {
        let text = format!("{{\"covey_trace\":1,\"ports\":3}}\n{line}\n");
        assert_eq!(message(text.as_bytes()), format!("t: line 2: {expected}"));
    }
}

#[test]
fn json_parents() {
    let header = r#"{"covey_trace":1,"ports":3}"#;
    let coflow = |id: &str, parents: &str| {
        let flows = r#"[{"src":0,"dst":1,"bytes":1}]"#;
        format!("{{\"id\":\"{id}\",\"arrival_s\":0,\"flows\":{flows},\"parents\":[{parents}]}}")
    };
    let file = |coflows: &[String]| format!("{header}\n{}", coflows.join("\n"));
    check(&[(
        &file(&[coflow("a", r#""b","b""#), coflow("b", "")]),
        "t: line 2: parents: expected each id once, found \"b\" twice",
    )]);
    check(&[(
        &file(&[
            coflow("z", r#""a""#),
            coflow("a", r#""b","d""#),
            coflow("b", r#""d","c""#),
            coflow("c", r#""a""#),
            coflow("d", ""),
        ]),
        "t: line 3: parents: expected predecessors without a cycle, found \"a\", which waits for itself",
    )]);
}

/// An endless line is refused before it is read whole.
#[test]
fn endless_line() {
    let message = match read(std::io::BufReader::new(std::io::repeat(b'1')), "t") {
        Err(error) => error.to_string(),
        Ok(_) => String::new(),
    };
    assert_eq!(message, "t: line 1: line: expected at most 64 MiB, found a longer line");
}

/// Two short lines that stand for a trillion flows.
#[test]
fn explosion() {
    let mappers: Vec<String> = (0..8000).map(|i| i.to_string()).collect();
    let reducers: Vec<String> = (0..8000).map(|i| format!("{i}:1")).collect();
    let text = format!("8000 1\n1 0 8000 {} 8000 {}", mappers.join(" "), reducers.join(" "));
    assert_eq!(
        message(text.as_bytes()),
        format!(
            "t: line 2: flows: expected at most {} in a trace, found 64000000",
            limits::MAX_FLOWS
        )
    );
}

#[test]
fn operating_system() {
    let directory = covey_trace::read_path(env!("CARGO_MANIFEST_DIR").as_ref());
    assert!(matches!(directory, Err(TraceError::Io { .. })));
    let missing = covey_trace::read_path("no\nsuch file".as_ref());
    let message = missing.map_or_else(|e| e.to_string(), |_| String::new());
    assert!(message.starts_with("no\\nsuch file: "), "{message}");
}
