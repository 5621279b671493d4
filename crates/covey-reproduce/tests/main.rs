//! Verdicts on the papers.

mod common;
mod verdicts;
