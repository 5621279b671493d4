//! Settings in a file.

use std::path::{Path, PathBuf};

use clap::Command;
use covey_core::suggest::{did_you_mean, nearest};

use crate::failure::Failure;
use crate::settings::{self, Content, Entry, Given, Setting};

/// The commands whose options are settings. Each has a section of its name in a file.
pub const COMMANDS: [&str; 5] = ["serve", "agent", "relay", "status", "top"];

/// A file with a section for each command.
pub struct File {
    path: PathBuf,
    sections: Vec<Section>,
}

/// What a file says of one command.
struct Section {
    name: String,
    line: usize,
    entries: Vec<Entry>,
}

impl File {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let text = settings::read(path).map_err(|problem| {
            Failure::Input(format!("--config: {}: {problem}", path.display()))
        })?;
        let mut sections = Vec::new();
        for Entry { name, line, content } in settings::entries(path, &text)? {
            let Content::Table { entries, .. } = content else {
                let expected = "expected a section, such as [serve], before it";
                return Err(settings::at(path, line, &format!("{name}: {expected}")));
            };
            sections.push(Section { name, line, entries });
        }
        Ok(File { path: path.to_owned(), sections })
    }

    /// Refuses sections that no command has, options that a command does not have, and values of a
    /// wrong type.
    pub fn check(&self, program: &Command) -> Result<(), Failure> {
        for section in &self.sections {
            let name = COMMANDS.iter().find(|name| **name == section.name);
            let Some(command) = name.and_then(|name| program.find_subcommand(name)) else {
                let meant = did_you_mean(nearest(&section.name, COMMANDS));
                let problem = format!("no section is called '{}'{meant}", section.name);
                return Err(settings::at(&self.path, section.line, &problem));
            };
            let mut entries = section.entries.iter();
            entries.try_for_each(|entry| entry.check(&self.path, command, &[]))?;
        }
        Ok(())
    }

    /// What the section of a command says of an option. The file has been checked.
    pub fn given(&self, section: &str, setting: &Setting<'_>) -> Option<Given> {
        let section = self.sections.iter().find(|it| it.name == section)?;
        let entry = section.entries.iter().find(|entry| entry.name == setting.name())?;
        entry.given(&self.path, setting)
    }
}
