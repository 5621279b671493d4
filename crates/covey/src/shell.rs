//! `covey completions` and `covey man`: what a shell and `man` know of the commands.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

/// Print what lets a shell complete commands and options
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey completions bash > ~/.local/share/bash-completion/completions/covey
  covey completions zsh > ~/.zfunc/_covey     # a folder of $fpath
  covey completions fish > ~/.config/fish/completions/covey.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints completions for `program`.
    pub fn run(self, program: &clap::Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program.clone(), "covey", &mut script);
        output::print(|out| out.write_all(&script))
    }
}

/// Write a man page for each command into a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey man ~/.local/share/man/man1 && man covey-compare")]
pub struct Man {
    /// The directory, which is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes the pages of `program`.
    pub fn run(self, program: &clap::Command) -> Result<(), Failure> {
        let pages = || clap_mangen::generate_to(program.clone(), &self.folder);
        let written = std::fs::create_dir_all(&self.folder).and_then(|()| pages());
        written.map_err(|error| Failure::Input(output::message(&self.folder, &error)))
    }
}
