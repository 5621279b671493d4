//! Names of hosts in traces.

use covey_trace::{Happening, Part, Stats, Workload, read, transform, write};

fn trace(header: &str, lines: &[&str]) -> Result<Workload, String> {
    let text = format!("{header}\n{}\n", lines.join("\n"));
    read(text.as_bytes(), "t").map_err(|error| error.to_string())
}

fn ends(workload: &Workload) -> Vec<(u32, u32)> {
    let flows = workload.coflows.iter().flat_map(|coflow| &coflow.flows);
    flows.map(|flow| (flow.src, flow.dst)).collect()
}

const NAMED: &str = r#"{"id":"1","arrival_s":0,"flows":[{"src":"web-3","dst":"db","bytes":1},{"src":"db","dst":"app","bytes":2}]}"#;

#[test]
fn names_become_ports_in_sorted_order() {
    let event = r#"{"event":"fail","at_s":0,"host":"web-3"}"#;
    let moved = r#"{"event":"move","at_s":0,"coflow":"1","flow":0,"dst":"zoo"}"#;
    let named = trace(r#"{"covey_trace":1}"#, &[event, NAMED, moved]).unwrap();
    assert_eq!(named.hosts, ["app", "db", "web-3", "zoo"]);
    assert_eq!((named.ports, ends(&named)), (4, vec![(2, 1), (1, 0)]));
    assert_eq!(named.events[0].what.part(), Some(&Part::Host(2)));
    assert!(matches!(named.events[1].what, Happening::Move { dst: Some(3), src: None, .. }));
    // The order of lines does not matter.
    let other = trace(r#"{"covey_trace":1}"#, &[moved, event, NAMED]).unwrap();
    assert_eq!((other.hosts, other.coflows), (named.hosts, named.coflows));
}

#[test]
fn the_header_may_list_hosts() {
    let header = r#"{"covey_trace":1,"ports":5,"hosts":["web-3","","db","app"]}"#;
    let number = r#"{"id":"2","arrival_s":0,"flows":[{"src":4,"dst":"db","bytes":1}]}"#;
    let listed = trace(header, &[NAMED, number]).unwrap();
    assert_eq!((listed.ports, ends(&listed)), (5, vec![(0, 2), (2, 3), (4, 2)]));
    assert_eq!([0, 1, 4].map(|port| listed.host(port)), [Some("web-3"), None, None]);
    // What is written is read again.
    let mut text = Vec::new();
    write(&listed, &mut text).unwrap();
    assert_eq!(read(text.as_slice(), "t").unwrap(), listed);
    let without_ports = trace(r#"{"covey_trace":1,"hosts":["web-3","db","app"]}"#, &[NAMED]);
    assert_eq!(without_ports.unwrap().ports, 3);
}

#[test]
fn more_ports_than_names() {
    let named = trace(r#"{"covey_trace":1,"ports":5}"#, &[NAMED]).unwrap();
    assert_eq!((named.ports, named.hosts.len()), (5, 3));
}

#[test]
fn what_is_refused() {
    let number = r#"{"id":"2","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1}]}"#;
    for (header, lines, error) in [
        (
            r#"{"covey_trace":1,"ports":2}"#,
            vec![NAMED],
            "line 2: flows[1].dst: expected at most 2 hosts, found one more, \"app\"",
        ),
        (
            r#"{"covey_trace":1,"ports":9}"#,
            vec![NAMED, number],
            "line 3: flows[0].src: expected the name of a host, as before (\"hosts\" in the header, the names by port, allow both), found 0",
        ),
        (
            r#"{"covey_trace":1,"ports":9}"#,
            vec![number, NAMED],
            "line 3: flows[0].src: expected the number of a port, as before (\"hosts\" in the header, the names by port, allow both), found \"web-3\"",
        ),
        (
            r#"{"covey_trace":1,"hosts":["web-3","dbx","app"]}"#,
            vec![NAMED],
            "line 2: flows[0].dst: expected one of the \"hosts\" of the header, found \"db\"; did you mean 'dbx'?",
        ),
        (
            r#"{"covey_trace":1,"hosts":["a","a"]}"#,
            vec![],
            "line 1: hosts: expected each name once, found \"a\"",
        ),
        (
            r#"{"covey_trace":1,"hosts":[]}"#,
            vec![],
            "line 1: ports: expected an integer from 1 to 1000000, found 0",
        ),
        (
            r#"{"covey_trace":1,"ports":1,"hosts":["a","b"]}"#,
            vec![],
            "line 1: hosts: expected at most 1 names, as many as ports, found 2",
        ),
        (
            r#"{"covey_trace":1}"#,
            vec![number],
            "line 2: flows[0].src: expected the name of a host, as the header has no \"ports\", found 0",
        ),
    ] {
        assert_eq!(trace(header, &lines).unwrap_err(), format!("t: {error}"), "{header}");
    }
}

#[test]
fn statistics_and_changes_keep_names() {
    let named = trace(r#"{"covey_trace":1}"#, &[NAMED]).unwrap();
    let stats = Stats::of(&named);
    assert_eq!(stats.busiest_egress.host.as_deref(), Some("db"));
    assert!(stats.to_string().contains("at port 1 (db)"), "{stats}");
    assert!(serde_json::to_string(&stats).unwrap().contains(r#""host":"app""#));
    let twice = transform::replicate(&named, 2).unwrap();
    assert_eq!(twice.hosts, ["app.0", "db.0", "web-3.0", "app.1", "db.1", "web-3.1"]);
    let fewer = transform::Scale { time: 1.0, size: 1.0, ports: Some(2) };
    assert!(transform::scale(&named, fewer).unwrap().hosts.is_empty());
}
