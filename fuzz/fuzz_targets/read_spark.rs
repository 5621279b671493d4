//! Any bytes, compressed or not, have a status, and a reason in one line; what is read makes a
//! workload.

#![no_main]

use covey_spark::{read_from, workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let log = read_from(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    assert!(log.reason.lines().count() <= 1);
    let _ = workload(&log);
});
