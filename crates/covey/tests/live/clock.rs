//! A wall clock that jumps.

use std::process::Command;

use crate::common::TestFolder;

/// The time that `clock_gettime` returns to programs under this clock.
pub struct Clock {
    library: String,
    file: std::path::PathBuf,
}

impl Clock {
    /// Makes a clock; `None`, with a message, without a C compiler.
    pub fn new(folder: &TestFolder) -> Option<Clock> {
        folder.write("clock.c", include_str!("clock.c"));
        let library = folder.path("clock.so").to_str().expect("text").to_owned();
        let source = folder.path("clock.c");
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-o", &library]).arg(source).status();
        if !compiled.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("SKIP_NOTHING").is_none(), "there is no C compiler");
            eprintln!("skipped: there is no C compiler");
            return None;
        }
        let clock = Clock { library, file: folder.path("clock") };
        clock.jump(0);
        Some(clock)
    }

    /// Moves the clock to `years` years after the present time.
    pub fn jump(&self, years: i64) {
        // In one write, because programs may read it at any time.
        let new = self.file.with_extension("new");
        std::fs::write(&new, (years * 365 * 86400).to_string()).expect("a disk");
        std::fs::rename(new, &self.file).expect("a disk");
    }

    /// The same command with this clock.
    pub fn governs(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", &self.library).env("COVEY_CLOCK", &self.file);
        command
    }
}
