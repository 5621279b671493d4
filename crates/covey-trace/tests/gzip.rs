//! Traces compressed by gzip.

use std::io::Write;

use covey_trace::{builtin, read, write};
use flate2::Compression;
use flate2::write::GzEncoder;

fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::best());
    parts.iter().for_each(|part| file.write_all(part).expect("writing to memory"));
    file.finish().expect("writing to memory")
}

#[test]
fn compressed_traces_are_read_as_the_plain_ones() {
    let hour = builtin("fb-like:coflows=50").expect("the workload");
    let mut plain = Vec::new();
    write(&hour, &mut plain).expect("writing to memory");
    let compressed = gzip(&[&plain]);
    assert!(compressed.len() * 2 < plain.len());
    assert_eq!(read(compressed.as_slice(), "t").expect("a trace"), hour);
    // A file may be several compressed ones, one after the other, as `cat` makes it.
    let (head, tail) = plain.split_at(plain.len() / 2);
    let both = [gzip(&[head]), gzip(&[tail])].concat();
    assert_eq!(read(both.as_slice(), "t").expect("a trace"), hour);
}

#[test]
fn damage_is_reported() {
    let whole = gzip(&[b"3 1\n1 0 1 0 1 1:10\n"]);
    let message = |bytes: &[u8]| read(bytes, "t").expect_err("damage").to_string();
    for end in 1..whole.len() {
        let message = message(&whole[..end]);
        assert!(message.starts_with("t: expected a whole gzip file, found: "), "{message}");
    }
    let mut wrong = whole.clone();
    let crc = wrong.len() - 8;
    wrong[crc] ^= 1;
    assert!(message(&wrong).starts_with("t: expected a whole gzip file, found: "));
    assert!(message(&gzip(&[&whole])).contains("(a binary file?)"));
}

/// A hundred thousand bytes that become a hundred million.
#[test]
fn a_bomb_is_refused_like_the_plain_file() {
    let part = [b'1'; 1 << 20];
    let parts: Vec<&[u8]> = std::iter::repeat_n(part.as_slice(), 100).collect();
    let bomb = gzip(&parts);
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    let message = read(bomb.as_slice(), "t").expect_err("a long line").to_string();
    assert_eq!(message, "t: line 1: line: expected at most 64 MiB, found a longer line");
}
