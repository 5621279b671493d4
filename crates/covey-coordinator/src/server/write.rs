//! The journal's thread: what waits is written and synchronised together, off the decision thread.

use std::sync::mpsc::Receiver;

use tokio::sync::mpsc::WeakSender;

use super::decide::Command;
use crate::core::Lsn;
use crate::journal::Journal;
use crate::record::Record;

/// What is to be written.
pub(super) enum Job {
    Append(Lsn, Record),
    /// The journal is to hold these alone.
    Replace(Vec<Record>),
}

/// What has been.
pub(super) enum Written {
    /// All records up to `last`; the journal has so many bytes.
    Durable {
        last: Lsn,
        bytes: u64,
    },
    /// None of these.
    Failed {
        first: Lsn,
        last: Lsn,
        why: String,
    },
    Compacted {
        bytes: u64,
    },
}

/// The most records that are written together.
const GROUP: usize = 4096;

/// Writes until nobody can ask for it any more.
pub(super) fn run(mut journal: Journal, jobs: &Receiver<Job>, commands: &WeakSender<Command>) {
    let tell = |written| {
        // If the decision thread is gone, or about to go, there is nobody to tell.
        if let Some(commands) = commands.upgrade() {
            let _ = commands.blocking_send(Command::Written(written));
        }
    };
    let mut group: Vec<(Lsn, Record)> = Vec::new();
    while let Ok(job) = jobs.recv() {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            match job {
                Job::Append(lsn, record) => group.push((lsn, record)),
                Job::Replace(records) => {
                    flush(&mut journal, &mut group, &tell);
                    match journal.replace(&records) {
                        Ok(()) => tell(Written::Compacted { bytes: journal.length() }),
                        Err(error) => tracing::error!(%error, "the journal cannot be compacted"),
                    }
                }
            }
            if group.len() < GROUP {
                next = jobs.try_recv().ok();
            }
        }
        flush(&mut journal, &mut group, &tell);
    }
}

fn flush(journal: &mut Journal, group: &mut Vec<(Lsn, Record)>, tell: &impl Fn(Written)) {
    let (Some(&(first, _)), Some(&(last, _))) = (group.first(), group.last()) else { return };
    match journal.append(group.iter().map(|(_, record)| record)) {
        Ok(()) => tell(Written::Durable { last, bytes: journal.length() }),
        Err(error) => tell(Written::Failed { first, last, why: error.to_string() }),
    }
    group.clear();
}
