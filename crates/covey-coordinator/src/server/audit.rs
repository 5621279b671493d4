//! The audit log: what has changed, and who asked for it.
//!
//! A line of JSON for each change is written by a thread of its own, because a disk may be slow. If
//! the file is renamed or removed, the next line begins a new one: so it can be rotated at any
//! time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use covey_api::Problem;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::caller::Caller;
use crate::connections::lock;
use crate::state::Event;

/// Lines that may wait for the disk. More are lost, and counted.
const WAITING: usize = 65_536;

/// What has happened.
#[derive(Debug, Default, Serialize)]
struct Entry {
    time: String,
    epoch: u64,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    coflow: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The audit log, or none.
pub(super) struct Audit {
    lines: Mutex<Option<SyncSender<String>>>,
    epoch: u64,
    failures: Arc<AtomicU64>,
}

impl Audit {
    /// Begins or continues the log in a file, if there is to be one. The thread ends, with all
    /// lines written, after [`Audit::close`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn start(
        path: Option<&Path>,
        epoch: u64,
    ) -> io::Result<(Audit, Option<std::thread::JoinHandle<()>>)> {
        let failures = Arc::new(AtomicU64::new(0));
        let Some(path) = path else {
            return Ok((Audit { lines: Mutex::new(None), epoch, failures }, None));
        };
        let mut log = Log { file: open(path)?, path: path.to_owned(), is_failing: false };
        let (lines, to_write) = sync_channel(WAITING);
        let failed = failures.clone();
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || log.run(&to_write, &failed))?;
        Ok((Audit { lines: Mutex::new(Some(lines)), epoch, failures }, Some(thread)))
    }

    /// Lines that could not be written.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// There will be no more lines.
    pub fn close(&self) {
        *lock(&self.lines) = None;
    }

    /// The coordinator itself begins or ends something.
    pub fn coordinator(&self, action: &'static str) {
        self.write(Entry { action, ..Entry::default() });
    }

    /// Something has happened to a coflow.
    pub fn event(&self, event: Event) {
        let (action, id) = match event {
            Event::Ended { id } => ("ended", id),
            Event::Expired { id } => ("expired", id),
            Event::Removed { id } => ("removed", id),
            _ => return,
        };
        self.write(Entry { action, coflow: Some(id), ..Entry::default() });
    }

    fn write(&self, entry: Entry) {
        let lines = lock(&self.lines);
        let Some(lines) = &*lines else { return };
        // The year has four digits.
        let time = OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default();
        let entry = Entry { time, epoch: self.epoch, ..entry };
        // Numbers and texts can always be serialised.
        let line = serde_json::to_string(&entry).unwrap_or_default() + "\n";
        if lines.try_send(line).is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes down a request that would change something, and what became of it.
pub(super) async fn record(
    State(audit): State<Arc<Audit>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let of_coflow = path.strip_prefix("/v1/coflows/");
    let kept = of_coflow.and_then(|rest| rest.strip_suffix("/keep"));
    let id = kept.or(of_coflow).and_then(|id| id.parse().ok());
    let is_admin = path.starts_with("/v1/admin/");
    let action = match *request.method() {
        Method::PATCH if is_admin => "settings",
        Method::PUT if is_admin => "drain",
        Method::DELETE if is_admin => "undrain",
        Method::POST if path == "/v1/coflows" => "register",
        Method::POST if path == "/v1/flows/community" => "community",
        Method::POST if kept.is_some() => "keep",
        Method::PATCH => "update",
        Method::DELETE => "remove",
        _ => return next.run(request).await,
    };
    let caller = request.extensions().get::<Caller>().cloned();
    let asked = Asked {
        audit: &audit,
        entry: Entry {
            action,
            coflow: id,
            peer: caller.as_ref().map(|caller| caller.guest.shown().to_owned()),
            token: caller.and_then(|caller| caller.token()).map(|name| name.to_string()),
            problem: Some(LEFT.to_owned()),
            ..Entry::default()
        },
    };
    let response = next.run(request).await;
    asked.answered(&response);
    response
}

/// What is written of a request whose client leaves before the answer. It may have had its effect.
const LEFT: &str = "the client left before the answer";

/// A request under way. It is written down when it is dropped, because a client may leave at any
/// time.
struct Asked<'a> {
    audit: &'a Audit,
    entry: Entry,
}

impl Asked<'_> {
    fn answered(mut self, response: &Response) {
        let location = response.headers().get(header::LOCATION).and_then(|it| it.to_str().ok());
        let new = location.and_then(|path| path.rsplit('/').next()?.parse().ok());
        self.entry.coflow = new.or(self.entry.coflow);
        self.entry.status = Some(response.status().as_u16());
        let problem = response.extensions().get::<Problem>();
        self.entry.problem = problem.map(|problem| problem.title.to_string());
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.audit.write(std::mem::take(&mut self.entry));
    }
}

/// The file.
struct Log {
    path: PathBuf,
    file: File,
    /// Whether the last lines could not be written.
    is_failing: bool,
}

impl Log {
    /// Writes lines until all senders are gone.
    fn run(&mut self, lines: &Receiver<String>, failures: &AtomicU64) {
        while let Ok(mut text) = lines.recv() {
            let mut count = 1;
            // What waits is written together.
            for line in lines.try_iter() {
                text += &line;
                count += 1;
            }
            match self.append(&text) {
                Ok(()) => self.is_failing = false,
                Err(error) => {
                    failures.fetch_add(count, Ordering::Relaxed);
                    // Logged once; later failures are counted.
                    if !std::mem::replace(&mut self.is_failing, true) {
                        tracing::error!(%error, "the audit log cannot be written");
                    }
                }
            }
        }
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        let open_file = self.file.metadata()?;
        let named = fs::metadata(&self.path);
        let place = |it: &fs::Metadata| (it.dev(), it.ino());
        if named.is_ok_and(|named| place(&named) == place(&open_file)) && !self.is_failing {
            return self.file.write_all(text.as_bytes());
        }
        // The file was renamed or removed, or a failed write may have left half a line at its end.
        self.file = open(&self.path)?;
        self.file.write_all(text.as_bytes())
    }
}

/// Opens a file to write behind its last line. A new one is for its owner alone.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
        return Err(io::Error::other("expected a file"));
    }
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
    // A crash or a full disk may have cut the last line short.
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The actions in a file.
    fn actions(path: &Path) -> Vec<String> {
        let text = fs::read_to_string(path).expect("a file");
        let entry = |line: &str| serde_json::from_str::<serde_json::Value>(line);
        let action = |line| entry(line).map(|entry| entry["action"].to_string());
        text.lines().map(|line| action(line).unwrap_or_else(|_| line.to_owned())).collect()
    }

    /// Writes actions, and waits until they are in the file.
    fn write(audit: &Audit, thread: Option<std::thread::JoinHandle<()>>, all: &[&'static str]) {
        all.iter().for_each(|action| audit.coordinator(action));
        audit.close();
        thread.expect("a thread").join().expect("it ends");
    }

    #[test]
    fn lines_go_behind_those_of_the_last_start_and_into_a_new_file_when_it_is_renamed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, old] = ["audit", "audit.1"].map(|name| folder.path().join(name));
        let (audit, thread) = Audit::start(Some(&path), 1).expect("a file");
        write(&audit, thread, &["start", "stop"]);
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A crash in the middle of a line.
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut it| it.write_all(b"{torn"))
            .expect("a file");
        let (audit, thread) = Audit::start(Some(&path), 2).expect("a file");
        fs::rename(&path, &old).expect("a file");
        write(&audit, thread, &["start", "drain"]);
        assert_eq!(actions(&old), ["\"start\"", "\"stop\"", "{torn"]);
        assert_eq!(actions(&path), ["\"start\"", "\"drain\""]);
    }

    #[test]
    fn a_request_whose_client_leaves_is_written_down() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit");
        let (audit, thread) = Audit::start(Some(&path), 1).expect("a file");
        let entry = |action| Entry { action, problem: Some(LEFT.to_owned()), ..Entry::default() };
        drop(Asked { audit: &audit, entry: entry("register") });
        let asked = Asked { audit: &audit, entry: entry("update") };
        asked.answered(&Response::default());
        audit.close();
        thread.expect("a thread").join().expect("it ends");
        let text = fs::read_to_string(&path).expect("a file");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains(LEFT) && !lines[0].contains("status"), "{text}");
        assert!(lines[1].contains("\"status\":200") && !lines[1].contains(LEFT), "{text}");
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit");
        let (audit, thread) = Audit::start(Some(&path), 1).expect("a file");
        // Nothing can be written under this name any more.
        fs::remove_file(&path).expect("a file");
        fs::create_dir(&path).expect("a folder");
        write(&audit, thread, &["start", "drain"]);
        assert_eq!(audit.failures(), 2);
        assert!(Audit::start(Some(&path), 1).is_err());
        assert!(Audit::start(Some(&folder.path().join("none/audit")), 1).is_err());
    }
}
