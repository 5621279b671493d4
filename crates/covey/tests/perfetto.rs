//! `covey simulate --trace-out`, read back by the wire format of protobuf alone. A test of the
//! Python package reads it by Perfetto's own schema.

use std::collections::BTreeMap;
use std::fs;

use crate::common::TestFolder;

/// The fields of a message: numbers, and their values.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (fixed, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Number(u64::from_le_bytes(fixed.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inside, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(inside)
            }
            kind => panic!("wire type {kind}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The numbers of a field.
fn numbers(message: &[u8], field: u64) -> Vec<u64> {
    let all = fields(message).into_iter();
    let of = |(number, value)| match value {
        Value::Number(value) if number == field => Some(value),
        _ => None,
    };
    all.filter_map(of).collect()
}

/// The messages and texts of a field.
fn inside(message: &[u8], field: u64) -> Vec<&[u8]> {
    let all = fields(message).into_iter();
    let of = |(number, value)| match value {
        Value::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    };
    all.filter_map(of).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_trace_for_perfetto_has_every_completion_time() {
    let folder = TestFolder::new();
    folder.write(
        "dag.jsonl",
        concat!(
            "{\"covey_trace\":1,\"ports\":3,\"hosts\":[\"store\"]}\n",
            "{\"id\":\"a\",\"arrival_s\":0,\"flows\":[{\"src\":0,\"dst\":1,\"bytes\":25e6}]}\n",
            "{\"id\":\"b\",\"arrival_s\":0.25,\"flows\":[{\"src\":0,\"dst\":2,\"bytes\":50e6}]}\n",
            "{\"id\":\"c\",\"arrival_s\":0,\"flows\":[{\"src\":1,\"dst\":1,\"bytes\":1e6}],\"parents\":[\"a\"]}\n",
        ),
    );
    for policy in ["fair", "aalo:q1=1MB", "covey", "pfp"] {
        let simulate = ["simulate", "dag.jsonl", "--policy", policy, "--port-rate", "1gbps"];
        let outputs = ["--trace-out", "run.pftrace", "--per-coflow", "coflows.csv"];
        folder.results(&[&simulate[..], &outputs].concat());
        let bytes = fs::read(folder.path("run.pftrace")).unwrap();
        let packets = inside(&bytes, 1);
        let tracks: BTreeMap<u64, (String, u64)> = packets
            .iter()
            .flat_map(|packet| inside(packet, 60))
            .map(|track| {
                let parent = numbers(track, 5).first().copied().unwrap_or(0);
                (numbers(track, 1)[0], (text(inside(track, 2)[0]), parent))
            })
            .collect();
        let names = |name: &str| tracks.values().any(|(known, _)| known == name);
        assert!(names("store up") && names("capacity in use") && names("waiting coflows"));
        let interned = inside(packets[0], 12);
        let ids: BTreeMap<u64, String> = inside(interned[0], 2)
            .iter()
            .map(|name| (numbers(name, 1)[0], text(inside(name, 2)[0])))
            .collect();
        let mut open: BTreeMap<u64, (String, u64)> = BTreeMap::new();
        let mut found: BTreeMap<String, f64> = BTreeMap::new();
        let (mut last, mut arrows) = (0, [Vec::new(), Vec::new()]);
        for packet in &packets {
            for event in inside(packet, 11) {
                let (ns, track) = (numbers(packet, 8)[0], numbers(event, 11)[0]);
                assert!(ns >= last, "{policy}: {ns} after {last}");
                last = ns;
                match numbers(event, 9)[0] {
                    1 => {
                        let id = ids[&numbers(event, 10)[0]].clone();
                        assert!(open.insert(track, (id, ns)).is_none(), "{policy}: overlap");
                        arrows[0].extend(numbers(event, 47));
                        arrows[1].extend(numbers(event, 48));
                    }
                    2 => {
                        let (id, from) = open.remove(&track).expect("it has begun");
                        if tracks[&track].0 == "coflow" {
                            found.insert(id, (ns - from) as f64 / 1e9);
                        }
                    }
                    4 => {}
                    kind => panic!("{kind}"),
                }
            }
        }
        assert!(open.is_empty(), "{policy}: {open:?}");
        assert_eq!(arrows, [[1], [1]], "{policy}");
        let table = folder.read("coflows.csv");
        assert_eq!(found.len(), 3);
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let cct_s: f64 = cells[3].parse().unwrap();
            assert!((found[cells[0]] - cct_s).abs() <= 2e-9, "{policy}: {line}: {found:?}");
        }
    }
}

#[test]
fn emulated_simulators_have_no_trace() {
    let folder = TestFolder::new();
    let simulate = ["simulate", "tiny.txt", "--policy", "sebf", "--sim", "coflowsim"];
    let refusal = folder.refusal(&[&simulate[..], &["--trace-out", "run.pftrace"]].concat());
    assert!(refusal.starts_with("--trace-out: expected --sim exact with it"), "{refusal}");
    let simulate = ["simulate", "tiny.txt", "--trace-out", "run.csv"];
    assert!(folder.refusal(&simulate).contains("a name that ends in .pftrace"));
}
