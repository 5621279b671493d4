//! Tests of the reports.
//!
//! They are one program, since each program takes seconds to compile and link.

mod common;
mod contrast;
mod outputs;
mod page;
