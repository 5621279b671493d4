//! The enforcer that has applications carry schedules out, and the agent's socket for them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_proto::{Decoder, FlowKey, FromApp, Means, ToApp, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::enforcer::{CoordinatorEvent, Enforcer};
use crate::flow_table::{AppId, FlowTable, Refused};
use crate::shaper::{ShapedFlows, Shaper};
use crate::share::{Progress, Share};

/// Maximum number of connected applications.
const MAX_APPS: usize = 1024;
/// How long the coordinator may be away before applications are told. After a mere restart of the coordinator,
/// agents join again sooner than this.
const GRACE: Duration = Duration::from_secs(1);

/// Has the applications on this host carry schedules out: the client library paces, holds and marks the sockets
/// that it knows. A [`Shaper`] may keep the rates instead of the sockets.
pub struct Local {
    apps: Arc<Apps>,
    path: PathBuf,
    tasks: [JoinHandle<()>; 2],
    shaping: Option<Shaping>,
}

/// A shaper, and what it is to shape.
struct Shaping {
    shaper: Box<dyn Shaper>,
    flows: ShapedFlows,
}

impl Shaping {
    fn shape(&mut self) {
        self.shaper.shape(&self.flows);
    }
}

/// The applications on this host and their flows, shared with the tasks that serve their connections.
struct Apps {
    table: Mutex<(FlowTable, BTreeMap<AppId, Arc<Notify>>)>,
    /// Notified when a flow has ended or has been opened.
    ended: Arc<Notify>,
    /// When the coordinator was lost, until applications have been told.
    lost: Mutex<Option<Instant>>,
}

impl Apps {
    fn lock(&self) -> MutexGuard<'_, (FlowTable, BTreeMap<AppId, Arc<Notify>>)> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table, and wakes the applications that the change concerns.
    fn with<T>(&self, change: impl FnOnce(&mut FlowTable) -> T) -> T {
        let (table, wakers) = &mut *self.lock();
        let result = change(table);
        for id in table.take_woken() {
            if let Some(app) = wakers.get(&id) {
                app.notify_one();
            }
        }
        result
    }
}

impl Local {
    /// Listens at `path`; only the owner of the file may connect. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// When another agent listens there, or the file cannot be made.
    pub async fn listen(
        path: &Path,
        port: u32,
        means: Means,
        report_every: Duration,
    ) -> io::Result<Local> {
        let listener = bind(path).await?;
        let table = FlowTable::new(port, means, report_every.as_secs_f64());
        let apps = Arc::new(Apps {
            table: Mutex::new((table, BTreeMap::new())),
            ended: Arc::default(),
            lost: Mutex::default(),
        });
        let tasks = [
            tokio::spawn(accept(listener, apps.clone())),
            tokio::spawn(watch_coordinator(apps.clone())),
        ];
        Ok(Local { apps, path: path.to_owned(), tasks, shaping: None })
    }

    /// Has `shaper` keep the rates. Needs [`covey_proto::Means::Shaping`]: with other means, applications do not
    /// report their connections.
    #[must_use]
    pub fn with_shaper(mut self, shaper: Box<dyn Shaper>) -> Local {
        self.shaping = Some(Shaping { shaper, flows: ShapedFlows::default() });
        self
    }

    /// Notified when flows have been opened, connected or ended: the coordinator should know at once.
    pub fn ended(&self) -> Arc<Notify> {
        self.apps.ended.clone()
    }

    /// Tells applications at once that there is a coordinator, and after [`GRACE`] that there is none.
    fn joined(&mut self, joined: bool) {
        {
            let mut lost = self.apps.lost.lock().unwrap_or_else(PoisonError::into_inner);
            if joined {
                *lost = None;
                self.apps.with(|table| table.joined(true));
            } else {
                lost.get_or_insert_with(Instant::now);
            }
        }
        if let Some(shaping) = &mut self.shaping
            && std::mem::replace(&mut shaping.flows.joined, joined) != joined
        {
            shaping.shape();
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // The connections end with these tasks.
        self.tasks.iter().for_each(JoinHandle::abort);
        // The file may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Enforcer for Local {
    fn apply(&mut self, _: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        // The shaper first: when a flow is told that it may send, its rate must be in force.
        if let Some(shaping) = &mut self.shaping {
            shaping.flows.schedule.clone_from(flows);
            shaping.shape();
        }
        self.apps.with(|table| table.apply(flows));
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        if let Some(shaping) = &mut self.shaping {
            let moved = self.apps.with(FlowTable::take_moved);
            let has_moved = !moved.is_empty();
            for (key, ends) in moved {
                match ends {
                    Some(ends) => shaping.flows.ends.insert(key, ends),
                    None => shaping.flows.ends.remove(&key),
                };
            }
            if has_moved {
                shaping.shape();
            }
        }
        self.apps.with(FlowTable::take_progress)
    }

    fn sees_uses(&self) -> bool {
        true
    }

    fn heard(&mut self, event: CoordinatorEvent<'_>) {
        match event {
            CoordinatorEvent::Joined { codec } => {
                self.apps.with(|table| table.may_compress(codec));
                self.joined(true);
            }
            CoordinatorEvent::Left => self.joined(false),
            CoordinatorEvent::Acknowledged(keys) => {
                self.apps.with(|table| table.acknowledged(keys))
            }
        }
    }
}

/// Listens at `path`. The socket is made in a folder that no other user may enter, and moves to its name after
/// its mode is set: at no time can another user connect.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let folder = path.with_file_name(name);
    // An agent that was killed between these two lines has left its folder behind.
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
        // The file may be left from an agent that was killed.
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

async fn watch_coordinator(apps: Arc<Apps>) {
    loop {
        tokio::time::sleep(GRACE / 5).await;
        let lost = *apps.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some_and(|since| since.elapsed() >= GRACE) {
            apps.with(|table| table.joined(false));
        }
    }
}

async fn accept(listener: UnixListener, apps: Arc<Apps>) {
    let mut connections = JoinSet::new();
    for id in 1.. {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the connection of an application was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let news = Arc::new(Notify::new());
        {
            let (table, wakers) = &mut *apps.lock();
            if wakers.len() >= MAX_APPS {
                tracing::warn!(
                    max = MAX_APPS,
                    "an application was refused: too many are connected"
                );
                continue;
            }
            wakers.insert(id, news.clone());
            table.connected(id);
        }
        let apps = apps.clone();
        connections.spawn(async move {
            let (reader, writer) = stream.into_split();
            let result = tokio::select! {
                result = read(reader, id, &apps) => result,
                result = write(writer, id, &news, &apps) => result,
            };
            if let Err(error) = result {
                tracing::info!(%error, "connection of an application ended");
            }
            apps.lock().1.remove(&id);
            apps.with(|table| table.closed(id));
            // The rates of its open flows can go to other flows.
            apps.ended.notify_one();
        });
    }
}

async fn read(mut reader: OwnedReadHalf, id: AppId, apps: &Apps) -> io::Result<()> {
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
            let heard = apps.with(|table| table.heard(id, message));
            heard.map_err(|Refused| io::Error::other("the application broke the protocol"))?;
            if is_urgent {
                apps.ended.notify_one();
            }
        }
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    id: AppId,
    news: &Notify,
    apps: &Apps,
) -> io::Result<()> {
    let mut messages: Vec<ToApp> = Vec::new();
    let mut bytes = Vec::new();
    loop {
        apps.lock().0.take_messages(id, &mut messages);
        if messages.is_empty() {
            news.notified().await;
            continue;
        }
        bytes.clear();
        messages.drain(..).for_each(|message| encode(&message, &mut bytes));
        writer.write_all(&bytes).await?;
    }
}
