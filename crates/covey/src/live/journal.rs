//! `covey journal`: inspects, copies and repairs a coordinator's journal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use covey_coordinator::{Inspection, JournalError, inspect, repair, restore, snapshot};

use crate::failure::Failure;
use crate::output;

/// Inspect a coordinator's journal, copy it, and repair a damaged one
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  covey journal inspect --data covey-data
  covey journal verify --data covey-data
  covey journal repair --data covey-data
  covey journal repair --data covey-data --yes
  covey journal repair --data covey-data --cut 1024 --yes
  covey journal snapshot --data covey-data backup/monday
  covey journal restore --data covey-data backup/monday")]
pub enum Journal {
    /// List the records and the damaged parts
    Inspect(Folder),
    /// Check whether a coordinator would start with the journal; exit status 2 if not
    Verify(Folder),
    /// Show what a repair would lose; with --yes, repair. The old file is kept
    Repair {
        #[command(flatten)]
        folder: Folder,
        /// Repair the journal instead of showing what would be lost
        #[arg(long)]
        yes: bool,
        /// Also cut out the whole record that begins at this byte; as often as needed
        #[arg(long, value_name = "BYTE")]
        cut: Vec<u64>,
    },
    /// Copy the journal to another folder, also of a coordinator that runs
    Snapshot {
        #[command(flatten)]
        folder: Folder,
        /// Folder for the copy, which has no journal
        to: PathBuf,
    },
    /// Have the journal be a copy that `snapshot` made; the coordinator must not run
    Restore {
        #[command(flatten)]
        folder: Folder,
        /// Folder with the copy
        from: PathBuf,
    },
}

/// The journal.
#[derive(Debug, Args)]
pub struct Folder {
    /// Folder with the journal
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    data: PathBuf,
}

impl Journal {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Journal::Inspect(folder) => {
                let seen = inspect(&folder.data)?;
                output::print(|out| list(&seen, out).and_then(|()| tell(&seen, out)))
            }
            Journal::Verify(folder) => verify(&folder, &inspect(&folder.data)?),
            Journal::Repair { folder, yes: false, cut } => {
                let seen = inspect(&folder.data)?;
                output::print(|out| propose(&seen, &cut, out))
            }
            Journal::Repair { folder, yes: true, cut } => mend(&folder, &cut),
            Journal::Snapshot { folder, to } => {
                let copied = snapshot(&folder.data, &to)?;
                let to = to.display();
                output::print(|out| writeln!(out, "{to} has {} records", copied.records))
            }
            Journal::Restore { folder, from } => put_back(&folder, &from),
        }
    }
}

fn verify(folder: &Folder, seen: &Inspection) -> Result<(), Failure> {
    if seen.is_sound() {
        return output::print(|out| tell(seen, out));
    }
    let mut text = Vec::new();
    tell(seen, &mut text).map_err(|error| Failure::Other(error.to_string()))?;
    let text = String::from_utf8_lossy(&text).trim_end().replace('\n', "; ");
    Err(Failure::Input(format!("{}: {text}", folder.data.display())))
}

fn put_back(folder: &Folder, from: &Path) -> Result<(), Failure> {
    let copied = restore(from, &folder.data)?;
    output::print(|out| {
        writeln!(out, "{} has {} records", folder.data.display(), copied.records)?;
        if let Some(kept) = &copied.kept {
            writeln!(out, "the old journal is {}", kept.display())?;
        }
        if copied.skips {
            writeln!(out, "4294967296 numbers are skipped, for nobody knows how many were given")?;
        }
        writeln!(out, "Credentials are not in a snapshot: see docs/operate.md.")
    })
}

fn mend(folder: &Folder, cut: &[u64]) -> Result<(), Failure> {
    let seen = inspect(&folder.data)?;
    if seen.is_sound() && cut.is_empty() {
        return output::print(|out| writeln!(out, "nothing to repair"));
    }
    let repaired = repair(&folder.data, cut)?;
    output::print(|out| {
        tell(&seen, out)?;
        writeln!(out, "the new journal has {} records", repaired.records)?;
        match repaired.kept {
            Some(kept) => writeln!(out, "the old one is {}", kept.display()),
            None => Ok(()),
        }
    })
}

fn list(seen: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    for (k, (at, record)) in seen.whole.iter().enumerate() {
        writeln!(out, "record {} at byte {at}: {record}", k + 1)?;
    }
    Ok(())
}

/// Describes the journal and all its damage.
fn tell(seen: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let version = seen.version.map_or("unknown".to_owned(), |version| version.to_string());
    let records = seen.whole.len();
    writeln!(out, "version {version}, {} bytes, {records} whole records", seen.bytes)?;
    for damage in &seen.damaged {
        let (bytes, at) = (damage.bytes.len(), damage.bytes.start);
        let behind = records + 1 - damage.number;
        write!(out, "damaged: {bytes} bytes at byte {at}, after record {}, ", damage.number - 1)?;
        writeln!(out, "before {behind} whole ones: {}", damage.text)?;
    }
    for (at, why) in &seen.unreadable {
        writeln!(out, "unreadable: the whole record at byte {at}: {why}")?;
    }
    if seen.missing > 0 {
        writeln!(out, "lost: at least {} bytes of the end", seen.missing)?;
    }
    if seen.ids_lost {
        writeln!(out, "damaged or lost: the file ids, which keeps the numbers that were given")?;
    }
    if !seen.torn.is_empty() {
        let (bytes, at) = (seen.torn.len(), seen.torn.start);
        writeln!(out, "torn: {bytes} bytes at byte {at}, which were never acknowledged")?;
    }
    Ok(())
}

/// Describes what a repair would do.
fn propose(seen: &Inspection, cut: &[u64], out: &mut dyn Write) -> io::Result<()> {
    tell(seen, out)?;
    if seen.is_sound() && cut.is_empty() {
        return writeln!(out, "nothing to repair");
    }
    let is_cut = |at: usize| cut.contains(&(at as u64));
    if let Some((at, _)) = seen.unreadable.iter().find(|(at, _)| !is_cut(*at)) {
        writeln!(out, "The version that wrote it may read it. To lose it: --cut {at}.")?;
        return writeln!(out, "Nothing has been changed.");
    }
    let kept = seen.whole.iter().filter(|(at, _)| !is_cut(*at)).count();
    writeln!(
        out,
        "A repair would keep {kept} whole records, and lose what is damaged or cut out:"
    )?;
    writeln!(
        out,
        "coflows registered there are forgotten; changes, ends and removals there have not happened."
    )?;
    writeln!(out, "Nothing has been changed. To repair: the same with --yes.")
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Failure::Input(error.to_string())
    }
}
