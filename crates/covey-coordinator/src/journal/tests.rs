use std::fs::{self, OpenOptions};
use std::path::Path;

use covey_api::{CoflowSpec, Update};

use super::files::{IDS, NAME};
use super::format::{MAGIC, frames};
use super::marks::Marks;
use super::store::Found;
use super::{Journal, JournalError, inspect, repair};
use crate::record::Record;

fn some() -> Vec<Record> {
    vec![
        Record::Epoch(1),
        Record::Removed { id: 3, at_s: 0.5 },
        Record::Ended {
            id: 4,
            at_s: 1.25,
            flows: vec![(0, 1e9), (7, 0.1)],
            compressed: vec![(0, 4e8)],
        },
    ]
}

fn all(journal: &Journal) -> Vec<Record> {
    let records = journal.records().expect("a file");
    records.collect::<Result<_, _>>().expect("records")
}

fn written(folder: &Path, records: &[Record]) -> Vec<u8> {
    let (mut journal, _) = Journal::open(folder).expect("a new journal");
    assert!(all(&journal).is_empty());
    for record in records {
        journal.append([record]).expect("a disk");
    }
    fs::read(folder.join(NAME)).expect("the journal")
}

#[test]
fn whatever_a_crash_leaves_of_it_all_whole_records_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = some();
    let bytes = written(folder.path(), &records);
    let ends: Vec<usize> = records
        .iter()
        .scan(MAGIC.len(), |end, record| {
            *end += frames([record]).expect("a record").len();
            Some(*end)
        })
        .collect();
    for cut in 0..=bytes.len() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(NAME), &bytes[..cut]).expect("a disk");
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let (mut journal, _) = Journal::open(folder.path()).expect("a journal");
        assert_eq!(all(&journal), records[..whole], "cut at {cut}");
        // And it goes on from there.
        journal.append([&Record::Epoch(2)]).expect("a disk");
        drop(journal);
        let (journal, found) = Journal::open(folder.path()).expect("a journal");
        assert_eq!(all(&journal).last(), Some(&Record::Epoch(2)), "cut at {cut}");
        assert_eq!((all(&journal).len(), found.torn), (whole + 1, 0));
    }
}

#[test]
fn a_damaged_byte_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = some();
    let bytes = written(folder.path(), &records);
    for at in 0..bytes.len() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        fs::write(folder.path().join(NAME), &damaged).expect("a disk");
        match Journal::open(folder.path()) {
            Err(JournalError::Foreign(_)) => assert!(at < MAGIC.len(), "{at}"),
            Err(JournalError::Damaged { at: found, .. }) => assert!(found <= at as u64, "{at}"),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn a_journal_is_replaced_as_a_whole_and_used_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), &some());
    let (mut journal, _) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), some());
    assert!(matches!(Journal::open(folder.path()), Err(JournalError::Locked(_))));
    journal.replace([&Record::Epoch(7)]).expect("a disk");
    journal.append([&Record::Epoch(8)]).expect("a disk");
    drop(journal);
    let (journal, _) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), [Record::Epoch(7), Record::Epoch(8)]);
}

fn registered(id: u64) -> Record {
    Record::registered(id, 0.5, CoflowSpec::of(Vec::new()))
}

fn next_id(found: &Found) -> u64 {
    match found.given[1] {
        Record::Next { id, .. } => id,
        _ => panic!("{found:?}"),
    }
}

#[test]
fn numbers_of_a_tail_that_was_cut_are_not_given_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut journal, _) = Journal::open(folder.path()).expect("a new journal");
    journal.append([&Record::Epoch(1)]).expect("a disk");
    let short = journal.length();
    for id in 0..5 {
        journal.append([&registered(id)]).expect("a disk");
    }
    // As if the process were killed: nothing is left in order.
    let (bytes, marks) = (fs::read(folder.path().join(NAME)), Marks::read(folder.path()));
    drop(journal);
    marks.expect("marks").expect("some").write(folder.path()).expect("a disk");
    let bytes = bytes.expect("the journal");
    fs::write(folder.path().join(NAME), &bytes[..short as usize]).expect("a disk");
    let (journal, found) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), [Record::Epoch(1)]);
    assert!(next_id(&found) >= 5, "{found:?}");
}

#[test]
fn a_journal_that_was_cut_or_removed_after_it_ended_well_is_refused_until_that_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = written(folder.path(), &[registered(0), registered(1)]);
    let path = folder.path().join(NAME);
    fs::remove_file(&path).expect("a file");
    let opened = Journal::open(folder.path());
    assert!(matches!(opened, Err(JournalError::Cut { found: 0, .. })), "{opened:?}");
    fs::write(&path, &bytes[..bytes.len() - 1]).expect("a disk");
    let opened = Journal::open(folder.path());
    assert!(matches!(opened, Err(JournalError::Cut { .. })), "{opened:?}");
    assert!(inspect(folder.path()).expect("a folder").missing > 0);
    assert_eq!(repair(folder.path(), &[]).expect("a folder").records, 1);
    let (journal, found) = Journal::open(folder.path()).expect("a journal");
    assert_eq!((all(&journal).len(), next_id(&found)), (1, 2));
}

#[test]
fn a_journal_that_ended_well_leaves_no_gap_in_the_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), &[registered(0), registered(1)]);
    let (_, found) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(next_id(&found), 2);
}

#[test]
fn repair_takes_the_whole_records_and_keeps_the_damaged_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = [registered(0), registered(1), registered(2)];
    let mut bytes = written(folder.path(), &records);
    let at = MAGIC.len() + frames([&records[0]]).expect("a record").len() + 20;
    bytes[at] ^= 1;
    fs::write(folder.path().join(NAME), &bytes).expect("a disk");
    let opened = Journal::open(folder.path());
    let is_second = matches!(opened, Err(JournalError::Damaged { number: 2, behind: 1, .. }));
    assert!(is_second, "{opened:?}");
    let seen = inspect(folder.path()).expect("a folder");
    assert_eq!((seen.whole.len(), seen.damaged.len(), seen.is_sound()), (2, 1, false));
    let repaired = repair(folder.path(), &[]).expect("a folder");
    assert_eq!(fs::read(repaired.kept.expect("the old one")).expect("a file"), bytes);
    let (journal, found) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), [registered(0), registered(2)]);
    assert_eq!(next_id(&found), 3);
}

#[test]
fn a_lost_file_of_numbers_costs_numbers_and_gives_none_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), &[registered(7)]);
    let ids = folder.path().join(IDS);
    fs::write(&ids, "nothing").expect("a disk");
    assert!(matches!(Journal::open(folder.path()), Err(JournalError::Ids(_))));
    fs::remove_file(&ids).expect("a file");
    let (_, found) = Journal::open(folder.path()).expect("a journal");
    assert!(next_id(&found) > 1 << 32);
}

#[test]
fn a_journal_that_is_cut_removed_or_replaced_while_it_is_open_acknowledges_nothing() {
    let cut = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).expect("a file");
        file.set_len(10).expect("a disk");
    };
    // Whole records are left, as if there had never been more.
    let cut_between = |path: &Path| {
        let records = frames([&registered(0)]).expect("a record").len();
        let file = OpenOptions::new().write(true).open(path).expect("a file");
        file.set_len((MAGIC.len() + records) as u64).expect("a disk");
    };
    let remove = |path: &Path| fs::remove_file(path).expect("a file");
    let replace = |path: &Path| {
        let other = path.with_extension("other");
        fs::copy(path, &other).expect("a disk");
        fs::rename(other, path).expect("a disk");
    };
    for harm in [cut as fn(&Path), cut_between, remove, replace] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut journal, _) = Journal::open(folder.path()).expect("a new journal");
        journal.append([&registered(0)]).expect("a disk");
        journal.append([&registered(1)]).expect("a disk");
        harm(&folder.path().join(NAME));
        assert!(journal.append([&registered(9)]).is_err());
        assert!(journal.is_lost() && journal.probe().is_err());
        // A journal with all known records can replace the lost one.
        journal.replace([&registered(0)]).expect("a disk");
        journal.append([&registered(2)]).expect("a disk");
        drop(journal);
        let (journal, _) = Journal::open(folder.path()).expect("a journal");
        assert_eq!(all(&journal), [registered(0), registered(2)]);
    }
}

#[test]
fn a_journal_of_version_1_is_read_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = include_bytes!("../../tests/data/journal-1");
    fs::write(folder.path().join(NAME), old).expect("a disk");
    let (journal, _) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), some());
    assert_eq!(fs::read(folder.path().join("journal.v1")).expect("the old one"), old);
    drop(journal);
    let (journal, _) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), some());
}

#[test]
fn the_layout_of_version_2_is_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(written(folder.path(), &some()), include_bytes!("../../tests/data/journal-2"));
}

/// Records as version 2.1 has them: with the ids of flows.
fn with_ids() -> Vec<Record> {
    let flow = |src, dst, bytes| covey_api::Flow::new(src, dst, bytes);
    let flows = vec![flow(0, 1, Some(8.0)), flow(2, 1, None)];
    let update = Update { add: vec![flow(1, 0, None)], ..Update::default() };
    let mut registered = Record::registered(0, 0.5, CoflowSpec::of(flows));
    if let Record::Registered { flow_ids, .. } = &mut registered {
        flow_ids.push((0, 2));
    }
    vec![
        Record::Epoch(1),
        registered,
        Record::Updated { id: 0, at_s: 0.75, flow_ids: vec![(2, 1)], update },
        Record::FlowsEnded {
            at_s: 1.25,
            flows: vec![(0, 8.0), (2, 0.5)],
            compressed: vec![(0, 4.0)],
            cancelled: Vec::new(),
        },
        Record::Next { id: 1, external: 1, flow: 3 },
    ]
}

#[test]
fn records_of_version_2_1_are_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = written(folder.path(), &with_ids());
    assert_eq!(bytes, include_bytes!("../../tests/data/journal-2.1"));
    let (journal, _) = Journal::open(folder.path()).expect("a journal");
    assert_eq!(all(&journal), with_ids());
}
