//! How well and how fast coflows are identified. An example of covey-trace measures it.

use std::process::Command;

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::page::Output;
use crate::program::{example, output};

/// Measure how well and how fast coflows are identified
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/identify.md", "identification", || {
            let ladder = example("covey-trace", "ladder")?;
            let accuracy = output(Command::new(&ladder).args(["accuracy", &self.trace.path]))?;
            let speed = output(Command::new(&ladder).arg("speed"))?;
            Ok(format!(
                "Trace: `{}`. Each cell has F1 per flow, then F1 per coflow.\n\n{accuracy}\n{speed}",
                self.trace.name()
            ))
        })
    }
}
