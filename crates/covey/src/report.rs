//! `covey report`: results that were kept, without a simulation.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use covey_report::Results;

use crate::comparison::{Shown, print};
use crate::failure::Failure;

/// Show kept results again, without a simulation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey report experiment.results.json
  covey report experiment.results.json --report page.html
  covey report experiment.results.json --figures figures --style page
`covey study` keeps its results, and `covey compare` does with --results.")]
pub struct Report {
    /// The file that covey study, or covey compare --results, has written
    #[arg(value_name = "RESULTS.json")]
    results: PathBuf,
    #[command(flatten)]
    shown: Shown,
}

impl Report {
    /// Runs the command.
    pub fn run(&self) -> Result<(), Failure> {
        let name = self.results.display().to_string();
        let file = File::open(&self.results)
            .map_err(|error| Failure::Input(format!("{name}: {error}")))?;
        let results = Results::read(file, &name)?;
        self.shown.check_apart(&name)?;
        self.shown.check()?;
        self.shown.write(&results)?;
        print(&results, self.shown.json)
    }
}
