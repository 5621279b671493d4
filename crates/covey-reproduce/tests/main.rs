//! Tests of the verdicts on the papers.

mod common;
mod verdicts;
