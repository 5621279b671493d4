//! Any bytes give a one-line error, or a workload that survives writing and reading.

#![no_main]

use covey_trace::{Stats, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match read(bytes, "fuzz") {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        Ok(workload) => {
            let _ = Stats::of(&workload).to_string();
            let mut file = Vec::new();
            write(&workload, &mut file).expect("writing to memory");
            let again = read(file.as_slice(), "fuzz").expect("what was written");
            assert_eq!(workload, again);
        }
    }
});
