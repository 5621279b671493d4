//! The enforcer that has applications carry schedules out, and the agent's socket for them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_api::hmac_sha256;
use covey_door::{Door, Guest, Peer, Reason, Refusals};
use covey_proto::{Decoder, FlowName, FromApp, Means, Service, ToApp, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::app_id::AppId;
use crate::enforcer::{CoordinatorEvent, Enforcer};
use crate::flow_table::{FlowTable, Refused};
use crate::kept_keys::KeptKeys;
use crate::openings::MAX_ENDS;
use crate::progress::Progress;
use crate::proofs::TICKS_A_SECOND;
use crate::shaper::{ShapedFlows, Shaper};
use crate::socket::{Bound, SocketOptions, bind};

/// How long the coordinator may be away before applications are told. After a mere restart of the
/// coordinator, agents join again sooner than this.
const GRACE: Duration = Duration::from_secs(1);

/// Has the applications on this host carry schedules out: the client library paces, holds and marks
/// the sockets that it knows. A [`Shaper`] may keep the rates instead of the sockets.
pub struct Local {
    apps: Arc<Apps>,
    path: PathBuf,
    keys: KeptKeys,
    tasks: [JoinHandle<()>; 2],
    shaping: Option<Shaping>,
    /// Keeps the name of the socket from other agents, until the file is gone.
    _lock: File,
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

/// The applications on this host and their flows, shared with the tasks that serve their
/// connections.
struct Apps {
    table: Mutex<(FlowTable, BTreeMap<AppId, Arc<Notify>>)>,
    /// Notified when a flow has ended or has been opened.
    ended: Arc<Notify>,
    /// When the coordinator was lost, until applications have been told.
    lost: Mutex<Option<Instant>>,
    /// Headers of flows that were refused.
    refusals: Refusals,
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
        for (check, refusal) in table.take_refused() {
            let detail =
                format!("flow {} of coflow {}: {refusal}", check.key.flow, check.key.coflow);
            self.refusals.refuse(Reason::Credential, check.peer, None, detail);
        }
        for wrong in table.take_wrong() {
            self.refusals.refuse(Reason::Registration, "an application", None, wrong);
        }
        result
    }
}

impl Local {
    /// Listens at `path`; only the owner of the file may connect. Must be called in a tokio
    /// runtime.
    ///
    /// # Errors
    /// When another agent listens there, or the file cannot be made.
    pub async fn listen(
        path: &Path,
        port: u32,
        means: Means,
        report_every: Duration,
    ) -> io::Result<Local> {
        Local::listen_for(SocketOptions::default(), path, port, means, report_every).await
    }

    /// [`Local::listen`] for those that `options` names.
    ///
    /// # Errors
    /// Those of [`Local::listen`], or when the file cannot get its group.
    pub async fn listen_for(
        options: SocketOptions,
        path: &Path,
        port: u32,
        means: Means,
        report_every: Duration,
    ) -> io::Result<Local> {
        let Bound { listener, lock } = bind(path, port, &options).await?;
        let door = Door::new("applications", options.limits);
        let mut table = FlowTable::new(port, means, report_every.as_secs_f64());
        let keys = KeptKeys::beside(path, port);
        if let Some(keys) = keys.get() {
            table.set_keys(Some((keys, hmac_sha256)));
            // The keys are those of an earlier session: there is none now.
            table.left();
        }
        let apps = Arc::new(Apps {
            table: Mutex::new((table, BTreeMap::new())),
            ended: Arc::default(),
            lost: Mutex::default(),
            refusals: Refusals::new("flows"),
        });
        let tasks = [
            tokio::spawn(accept(listener, door, apps.clone())),
            tokio::spawn(watch_coordinator(apps.clone())),
        ];
        let path = path.to_owned();
        Ok(Local { apps, path, keys, tasks, shaping: None, _lock: lock })
    }

    /// Has `shaper` keep the rates. Needs [`covey_proto::Means::Shaping`]: with other means,
    /// applications do not report their connections.
    #[must_use]
    pub fn with_shaper(mut self, shaper: Box<dyn Shaper>) -> Local {
        self.shaping = Some(Shaping { shaper, flows: ShapedFlows::default() });
        self
    }

    /// Notified when flows have been opened, connected or ended: the coordinator should know at
    /// once.
    pub fn ended(&self) -> Arc<Notify> {
        self.apps.ended.clone()
    }

    /// Tells applications at once that there is a coordinator, and after [`GRACE`] that there is
    /// none.
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
    fn apply(&mut self, _: (u64, u64), flows: &BTreeMap<FlowName, Service>) -> io::Result<()> {
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
                    Some(ends) => shaping.flows.ends.insert(key.into(), ends),
                    None => shaping.flows.ends.remove(&key.into()),
                };
            }
            if has_moved {
                shaping.shape();
            }
        }
        let (progress, has_asks) =
            self.apps.with(|table| (table.take_progress(), table.has_asks()));
        if has_asks {
            self.apps.ended.notify_one();
        }
        progress
    }

    fn sees_uses(&self) -> bool {
        true
    }

    fn heard(&mut self, event: CoordinatorEvent<'_>) {
        match event {
            CoordinatorEvent::Joined { codec, openings } => {
                self.apps.with(|table| {
                    table.may_compress(codec);
                    table.welcomed(openings);
                });
                self.apps.ended.notify_one();
                self.joined(true);
            }
            CoordinatorEvent::Left => {
                self.apps.with(FlowTable::left);
                self.joined(false);
            }
            CoordinatorEvent::Acknowledged(keys) => {
                self.apps.with(|table| table.acknowledged(keys))
            }
            CoordinatorEvent::Keys(keys) => {
                self.keys.keep(keys.copied());
                self.apps.with(|table| table.set_keys(keys.map(|keys| (*keys, hmac_sha256 as _))));
            }
            CoordinatorEvent::Answered(answers) => self.apps.with(|table| table.answered(answers)),
            CoordinatorEvent::Openings(answers) => self.apps.with(|table| table.found(answers)),
            CoordinatorEvent::StartSmall(bytes) => self.apps.with(|table| table.start_small(bytes)),
        }
    }
}

async fn watch_coordinator(apps: Arc<Apps>) {
    let mut has_warned = false;
    loop {
        tokio::time::sleep(Duration::from_secs(1) / TICKS_A_SECOND).await;
        let unchecked = apps.with(|table| {
            table.tick();
            table.unchecked()
        });
        if unchecked > 0 && !std::mem::replace(&mut has_warned, true) {
            tracing::warn!(
                max = MAX_ENDS,
                "more flows are open here than are checked: nobody says whether the others are opened as registered"
            );
        }
        // Held until applications have been told, so that they hear last what was so last.
        let lost = apps.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some_and(|since| since.elapsed() >= GRACE) {
            apps.with(|table| table.joined(false));
        }
    }
}

async fn accept(listener: UnixListener, door: Arc<Door>, apps: Arc<Apps>) {
    let mut connections = JoinSet::new();
    for id in 1.. {
        while connections.try_join_next().is_some() {}
        // A user that the system does not tell has the quota of all such.
        let user = |stream: &UnixStream| stream.peer_cred().map_or(u32::MAX, |peer| peer.uid());
        let (stream, entrance) = match listener.accept().await {
            Ok((stream, _)) => {
                let peer = Peer::User(user(&stream));
                let Some(entrance) = door.enter(peer, peer.to_string()) else { continue };
                (stream, entrance)
            }
            Err(error) => {
                if !door.make_room() {
                    door.refusals().refuse(Reason::Files, "unknown", None, error);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let news = Arc::new(Notify::new());
        {
            let (table, wakers) = &mut *apps.lock();
            wakers.insert(id, news.clone());
            table.connected(id);
        }
        let apps = apps.clone();
        connections.spawn(async move {
            entrance.serve(|guest| serve(stream, guest, id, &news, &apps)).await;
            apps.lock().1.remove(&id);
            apps.with(|table| table.closed(id));
            // The rates of its open flows can go to other flows.
            apps.ended.notify_one();
        });
    }
}

async fn serve(stream: UnixStream, guest: Arc<Guest>, id: AppId, news: &Notify, apps: &Apps) {
    let (reader, writer) = stream.into_split();
    let result = tokio::select! {
        result = read(reader, &guest, id, apps) => result,
        result = write(writer, id, news, apps) => result,
    };
    if let Err(error) = result {
        tracing::info!(%error, "connection of an application ended");
    }
}

async fn read(mut reader: OwnedReadHalf, guest: &Guest, id: AppId, apps: &Apps) -> io::Result<()> {
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        decoder.push(&buffer[..count]);
        let garbage = |error| {
            guest.refuse(Reason::Garbage, None, &error);
            io::Error::new(io::ErrorKind::InvalidData, error)
        };
        while let Some(message) = decoder.take::<FromApp>().map_err(garbage)? {
            let is_urgent = matches!(
                message,
                FromApp::Ended(_)
                    | FromApp::Written(_)
                    | FromApp::Connected(_)
                    | FromApp::Gone(_)
                    | FromApp::Opened(_)
            );
            let (heard, has_asks) = apps.with(|table| (table.heard(id, message), table.has_asks()));
            heard.map_err(|Refused| {
                let error = "the application broke the protocol, or speaks another version";
                guest.refuse(Reason::Order, None, error);
                io::Error::other(error)
            })?;
            // The first message is a hello.
            guest.authenticate();
            if is_urgent || has_asks {
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
