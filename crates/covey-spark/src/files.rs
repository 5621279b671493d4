//! The files of logs: single files, the rolling folders of Spark 3 and 4, and folders of logs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of one log, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFiles {
    /// The file or rolling folder.
    pub path: PathBuf,
    /// The files that hold its events.
    pub parts: Vec<PathBuf>,
    /// What is missing, if anything is.
    pub note: Option<String>,
}

/// The logs that a path means: a file or a rolling folder is one, any other folder has one for each
/// of its entries.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn find(path: &Path) -> io::Result<Vec<LogFiles>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![single(path)]);
    }
    if let Some(rolling) = rolling(path)? {
        return Ok(vec![rolling]);
    }
    let mut logs = Vec::new();
    for entry in sorted(path)? {
        if is_beside(&entry) {
            continue;
        }
        if entry.is_dir() {
            // Folders that are no logs are none of ours.
            logs.extend(rolling(&entry)?);
        } else {
            logs.push(single(&entry));
        }
    }
    Ok(logs)
}

fn single(path: &Path) -> LogFiles {
    LogFiles { path: path.to_owned(), parts: vec![path.to_owned()], note: None }
}

/// The entries of a folder, by name.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort_unstable();
    Ok(entries)
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Whether a file is one of those that Hadoop and Spark put beside logs.
fn is_beside(path: &Path) -> bool {
    let name = name(path);
    name.starts_with('.') || name.starts_with("appstatus_") || name.ends_with(".crc")
}

/// The log in a rolling folder: `events_N_APPLICATION[.CODEC][.compact]`, in order of N. A
/// compacted file stands for all files up to its own number. `None` if the folder has no such file
/// and no such name.
fn rolling(folder: &Path) -> io::Result<Option<LogFiles>> {
    let mut parts: Vec<(u64, bool, PathBuf)> = Vec::new();
    for entry in sorted(folder)? {
        if let Some(number) = number(&name(&entry)) {
            parts.push((number, name(&entry).ends_with(".compact"), entry));
        }
    }
    if parts.is_empty() && !name(folder).starts_with("eventlog_v2_") {
        return Ok(None);
    }
    parts.sort_unstable();
    let compacted =
        parts.iter().filter(|(_, compacted, _)| *compacted).map(|(number, ..)| *number).max();
    if let Some(last) = compacted {
        parts.retain(|&(number, compacted, _)| number > last || (number == last && compacted));
    }
    let first = if compacted.is_some() { compacted } else { Some(1) };
    let expected = first.into_iter().flat_map(|first| first..);
    let missing = parts.iter().zip(expected).find(|((number, ..), expected)| number != expected);
    let mut note = missing.map(|(_, expected)| format!("file events_{expected} is missing"));
    if compacted.is_some() {
        note.get_or_insert("Spark has compacted it: tasks of ended jobs are missing".to_owned());
    }
    Ok(Some(LogFiles {
        path: folder.to_owned(),
        parts: parts.into_iter().map(|(.., path)| path).collect(),
        note,
    }))
}

/// The number of a file of a rolling folder.
fn number(name: &str) -> Option<u64> {
    if name.ends_with(".crc") {
        return None;
    }
    let (number, _) = name.strip_prefix("events_")?.split_once('_')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(log: &LogFiles) -> Vec<String> {
        log.parts.iter().map(|part| name(part)).collect()
    }

    #[test]
    fn rolling_folders_are_read_in_order_of_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("eventlog_v2_app-1");
        fs::create_dir(&log).expect("a folder");
        let put = |name| fs::write(log.join::<&str>(name), "").expect("a file");
        ["events_10_app-1", "events_9_app-1", "appstatus_app-1", ".events_9_app-1.crc"]
            .into_iter()
            .for_each(put);
        let found = find(folder.path()).expect("a log");
        assert_eq!(names(&found[0]), ["events_9_app-1", "events_10_app-1"]);
        assert_eq!(found[0].note.as_deref(), Some("file events_1 is missing"));
        put("events_9_app-1.compact");
        let found = find(&log).expect("a log");
        assert_eq!(names(&found[0]), ["events_9_app-1.compact", "events_10_app-1"]);
        assert!(found[0].note.as_deref().is_some_and(|note| note.contains("compacted")));
    }

    #[test]
    fn a_folder_of_logs_has_one_for_each_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name| fs::write(folder.path().join::<&str>(name), "").expect("a file");
        ["app-2", "app-1.zstd", "app-3.inprogress", ".app-1.zstd.crc"].into_iter().for_each(put);
        fs::create_dir(folder.path().join("other")).expect("a folder");
        let found = find(folder.path()).expect("logs");
        let names: Vec<String> = found.iter().map(|log| name(&log.path)).collect();
        assert_eq!(names, ["app-1.zstd", "app-2", "app-3.inprogress"]);
    }
}
