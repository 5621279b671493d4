//! The journal's thread: writes and synchronises all records that wait together, off the decision
//! thread.

use std::io;
use std::sync::mpsc::Receiver;

use tokio::sync::mpsc::WeakSender;

use super::command::Command;
use super::jobs::{Job, Written};
use crate::journal::Journal;
use crate::record::Record;
use crate::state::Lsn;

/// The most records that are written together.
const GROUP: usize = 4096;

/// Writes until all senders of jobs are gone; what is `unwritten` comes first.
pub(super) fn run(
    mut journal: Journal,
    mut unwritten: Option<Record>,
    jobs: &Receiver<Job>,
    commands: &WeakSender<Command>,
) {
    let tell = |written| {
        // The decision thread may be gone.
        if let Some(commands) = commands.upgrade() {
            let _ = commands.blocking_send(Command::Written(written));
        }
    };
    let mut group: Vec<(Lsn, Record)> = Vec::new();
    let mut failed = Failed::default();
    while let Ok(job) = jobs.recv() {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            match job {
                Job::Append(lsn, record) => group.push((lsn, *record)),
                Job::Replace { known, mut under_way } => {
                    flush(&mut journal, &mut unwritten, &mut group, &mut failed, &tell);
                    // The clients that asked for failed records are told so.
                    under_way.retain(|(lsn, _)| !failed.has(*lsn));
                    let all = known.iter().chain(under_way.iter().map(|(_, record)| record));
                    match journal.replace(all) {
                        Ok(()) => tell(Written::Compacted { bytes: journal.length() }),
                        Err(error) => tracing::error!(%error, "the journal cannot be compacted"),
                    }
                }
                Job::Probe => match probe(&mut journal, &mut unwritten) {
                    Ok(()) => tell(Written::Writable),
                    Err(_) if journal.is_lost() => tell(Written::Lost),
                    // The next probe will find out.
                    Err(_) => {}
                },
            }
            if group.len() < GROUP {
                next = jobs.try_recv().ok();
            }
        }
        flush(&mut journal, &mut unwritten, &mut group, &mut failed, &tell);
    }
}

/// Records that could not be written: ranges, ascending.
#[derive(Default)]
struct Failed(Vec<(Lsn, Lsn)>);

impl Failed {
    fn add(&mut self, first: Lsn, last: Lsn) {
        match self.0.last_mut() {
            Some((_, end)) if *end + 1 == first => *end = last,
            _ => self.0.push((first, last)),
        }
    }

    fn has(&self, lsn: Lsn) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&lsn))
    }
}

/// Finds out whether anything can be written: what is `unwritten`, if there is something.
fn probe(journal: &mut Journal, unwritten: &mut Option<Record>) -> io::Result<()> {
    match unwritten.as_ref() {
        None => journal.probe()?,
        Some(record) => _ = journal.append([record])?,
    }
    *unwritten = None;
    Ok(())
}

fn flush(
    journal: &mut Journal,
    unwritten: &mut Option<Record>,
    group: &mut Vec<(Lsn, Record)>,
    failed: &mut Failed,
    tell: &impl Fn(Written),
) {
    let (Some(&(first, _)), Some(&(last, _))) = (group.first(), group.last()) else { return };
    match journal.append(unwritten.iter().chain(group.iter().map(|(_, record)| record))) {
        Ok(synced) => {
            *unwritten = None;
            let (bytes, sync_s) = (journal.length(), synced.as_secs_f64());
            tell(Written::Durable { last, bytes, sync_s });
        }
        Err(error) => {
            failed.add(first, last);
            tell(Written::Failed { first, last, why: error.to_string() });
            if journal.is_lost() {
                tell(Written::Lost);
            }
        }
    }
    group.clear();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn removed(id: u64) -> Record {
        Record::Removed { id, at_s: 0.5 }
    }

    #[test]
    fn what_could_not_be_written_is_not_brought_back_by_compaction() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut journal, _) = Journal::open(folder.path()).expect("a journal");
        journal.fill_disk();
        let (jobs, to_write) = channel();
        let (commands, mut told) = tokio::sync::mpsc::channel(8);
        // What is under way was found out before it was known that it failed.
        jobs.send(Job::Append(1, Box::new(removed(1)))).expect("a channel");
        let under_way = vec![(1, removed(1)), (2, removed(2))];
        jobs.send(Job::Replace { known: vec![Record::Epoch(1)], under_way }).expect("a channel");
        jobs.send(Job::Append(3, Box::new(removed(3)))).expect("a channel");
        drop(jobs);
        run(journal, None, &to_write, &commands.downgrade());
        assert!(matches!(
            told.try_recv(),
            Ok(Command::Written(Written::Failed { first: 1, last: 1, .. }))
        ));
        let (journal, _) = Journal::open(folder.path()).expect("a journal");
        let records = journal.records().expect("a file");
        let records: Vec<Record> = records.map(|record| record.expect("a record")).collect();
        assert_eq!(records, [Record::Epoch(1), removed(2), removed(3)]);
    }
}
