//! Flow records in a table whose columns a map names.

#![no_main]

mod records;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| records::check_columns(bytes));
