//! What reports look like.
//!
//! One program, since each takes seconds to compile and link.

mod common;
mod contrast;
mod outputs;
mod page;
