//! Flow records in the format `azure`.

#![no_main]

mod records;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| records::check("azure", bytes));
