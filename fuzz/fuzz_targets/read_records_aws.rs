//! Flow records in the format `aws`.

#![no_main]

mod records;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| records::check("aws", bytes));
