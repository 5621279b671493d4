//! The agent's socket for the applications on its host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_proto::{CodecName, Decoder, FlowKey, FromApp, Means, ToApp, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::agent::{Progress, Share};
use crate::board::{AppId, Board, Moved, Refused};
use crate::enforcer::Enforcer;

/// The most applications that are connected.
const MOST_APPS: usize = 1024;
/// For how long the coordinator may be silent before applications are told: agents join again sooner
/// when it has only been started anew.
const GRACE: Duration = Duration::from_secs(1);

/// Has the applications on this host carry schedules out: the client library paces, holds and marks
/// the sockets that it knows.
pub struct Local {
    shared: Arc<Shared>,
    path: PathBuf,
    tasks: [JoinHandle<()>; 2],
}

struct Shared {
    board: Mutex<(Board, BTreeMap<AppId, Arc<Notify>>)>,
    /// Something has ended.
    ended: Arc<Notify>,
    /// Since when there is no coordinator, if applications have not been told.
    lost: Mutex<Option<Instant>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Board, BTreeMap<AppId, Arc<Notify>>)> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the board, and wakes whom that concerns.
    fn with<T>(&self, change: impl FnOnce(&mut Board) -> T) -> T {
        let (board, apps) = &mut *self.lock();
        let result = change(board);
        for id in board.take_woken() {
            if let Some(app) = apps.get(&id) {
                app.notify_one();
            }
        }
        result
    }
}

impl Local {
    /// Listens at `path`, for its owner only. To be called in a runtime.
    ///
    /// # Errors
    /// When there is another agent, or the file cannot be made.
    pub async fn listen(
        path: &Path,
        port: u32,
        means: Means,
        report_every: Duration,
    ) -> io::Result<Local> {
        let listener = bind(path).await?;
        let board = Board::new(port, means, report_every.as_secs_f64());
        let shared = Arc::new(Shared {
            board: Mutex::new((board, BTreeMap::new())),
            ended: Arc::default(),
            lost: Mutex::default(),
        });
        let tasks = [
            tokio::spawn(accept(listener, shared.clone())),
            tokio::spawn(watch_coordinator(shared.clone())),
        ];
        Ok(Local { shared, path: path.to_owned(), tasks })
    }

    /// Where flows go of which that has changed since this was last asked.
    pub fn take_moved(&self) -> Moved {
        self.shared.with(Board::take_moved)
    }

    /// Is notified when flows have ended, which the coordinator should know at once, or go somewhere.
    pub fn ended(&self) -> Arc<Notify> {
        self.shared.ended.clone()
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // With them their connections end.
        self.tasks.iter().for_each(JoinHandle::abort);
        // If it has gone already, so much the better.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Enforcer for Local {
    fn apply(&mut self, _: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        self.shared.with(|board| board.apply(flows));
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        self.shared.with(Board::take_progress)
    }

    fn sees_uses(&self) -> bool {
        true
    }

    fn settled(&mut self, keys: &[FlowKey]) {
        self.shared.with(|board| board.settled(keys));
    }

    fn may_compress(&mut self, codec: Option<CodecName>) {
        self.shared.with(|board| board.may_compress(codec));
    }

    fn joined(&mut self, joined: bool) {
        let mut lost = self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if joined {
            *lost = None;
            self.shared.with(|board| board.joined(true));
        } else {
            lost.get_or_insert_with(Instant::now);
        }
    }
}

/// Listens at `path`. The socket is made in a folder of its own, which nobody else may enter, and gets its
/// name when it has its mode: there is no moment in which others could connect.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let folder = path.with_file_name(name);
    // One that an agent left behind which was killed at this very moment.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let listener = bind_in(&folder.join("s"), path).await;
    std::fs::remove_dir_all(&folder)?;
    listener
}

async fn bind_in(private: &Path, path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(private)?;
    std::fs::set_permissions(private, std::fs::Permissions::from_mode(0o600))?;
    match std::fs::hard_link(private, path) {
        // One that an agent left behind which was killed?
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
            std::fs::hard_link(private, path)?;
        }
        linked => linked?,
    }
    Ok(listener)
}

async fn watch_coordinator(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(GRACE / 5).await;
        let lost = *shared.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some_and(|since| since.elapsed() >= GRACE) {
            shared.with(|board| board.joined(false));
        }
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    for id in 1.. {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "an application was not heard");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let news = Arc::new(Notify::new());
        {
            let (board, apps) = &mut *shared.lock();
            if apps.len() >= MOST_APPS {
                tracing::warn!(most = MOST_APPS, "an application was refused: too many");
                continue;
            }
            apps.insert(id, news.clone());
            board.connected(id);
        }
        let shared = shared.clone();
        connections.spawn(async move {
            let (reader, writer) = stream.into_split();
            let result = tokio::select! {
                result = read(reader, id, &shared) => result,
                result = write(writer, id, &news, &shared) => result,
            };
            if let Err(error) = result {
                tracing::info!(%error, "connection of an application ended");
            }
            shared.lock().1.remove(&id);
            shared.with(|board| board.closed(id));
            // What it had open is to be given to others.
            shared.ended.notify_one();
        });
    }
}

async fn read(mut reader: OwnedReadHalf, id: AppId, shared: &Shared) -> io::Result<()> {
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        decoder.push(&buffer[..count]);
        let garbage = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        while let Some(message) = decoder.take::<FromApp>().map_err(garbage)? {
            let is_urgent = matches!(
                message,
                FromApp::Ended(_)
                    | FromApp::Written(_)
                    | FromApp::Connected(_)
                    | FromApp::Gone(_)
                    | FromApp::Opened(_)
            );
            let heard = shared.with(|board| board.heard(id, message));
            heard.map_err(|Refused| io::Error::other("an application out of order"))?;
            if is_urgent {
                shared.ended.notify_one();
            }
        }
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    id: AppId,
    news: &Notify,
    shared: &Shared,
) -> io::Result<()> {
    let mut messages: Vec<ToApp> = Vec::new();
    let mut bytes = Vec::new();
    loop {
        shared.lock().0.take_messages(id, &mut messages);
        if messages.is_empty() {
            news.notified().await;
            continue;
        }
        bytes.clear();
        messages.drain(..).for_each(|message| encode(&message, &mut bytes));
        writer.write_all(&bytes).await?;
    }
}
