//! What `covey attach` costs, and how soon a rate is in force.

use std::process::Command;

use clap::Args;

use crate::Result;
use crate::program::{Covey, run, top};

/// Measure what `covey attach` costs; needs root, iproute2, util-linux and BPF
#[derive(Args)]
pub struct Arguments {}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        run(Command::new(top().join("scripts/attach_bench.py")).arg(Covey::find()?.path))
    }
}
