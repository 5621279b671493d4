//! The command line, from outside.
//!
//! One program, because each test program takes seconds to compile and link.

mod against;
mod attach;
mod bad_input;
mod circles;
mod claims;
mod clock;
mod collectors;
mod common;
mod config;
mod crates;
mod docs;
mod emulation;
mod explain;
mod fabrics;
mod identify;
mod inputs;
mod outputs;
mod page;
mod perfetto;
mod reproduce;
mod sentinels;
mod shell;
mod simgrid;
mod study;
mod suggestions;
mod testbed;
mod units;
mod whatif;
mod workloads;
