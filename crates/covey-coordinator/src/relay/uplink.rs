//! The connection of a relay to the coordinator.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use covey_api::{AgentTls, Endpoint};
use covey_proto::{Decoder, FromRelay, RELAY_VERSION, Refusal, RelayHello, ToRelay, encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;

use crate::connections::{Outbox, Stop, Stream, lock};

/// How long the coordinator may take to answer or to take what it is sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many heartbeats the coordinator may be silent.
const HEARTBEATS: f64 = 5.0;

/// How much may wait to be written to the coordinator before agents have to: each is at most one
/// read of an agent.
const WAITING: usize = 1024;

/// The most of it that is written at once.
const BATCH: usize = 512;

/// The most sessions that are named in a message.
const MAX_NAMED: usize = 8_000;

/// Bytes that are read at a time.
const READ: usize = 64 << 10;

/// Why there is no connection any more.
#[derive(Debug)]
pub(super) enum UplinkEnd {
    /// The coordinator refuses the relay.
    Refused(Refusal),
    /// The connection broke, or was not made.
    Broken(io::Error),
}

impl From<io::Error> for UplinkEnd {
    fn from(error: io::Error) -> UplinkEnd {
        UplinkEnd::Broken(error)
    }
}

/// The connection to the coordinator, as connections of agents see it.
pub(super) struct Uplink {
    to_coordinator: mpsc::Sender<FromRelay>,
    agents: Mutex<HashMap<u64, Outbox>>,
    next_session: AtomicU64,
    over: watch::Receiver<bool>,
}

impl Uplink {
    /// Gives a new session its number.
    pub fn number(&self) -> u64 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    /// What the coordinator says to a session goes this way from now on.
    pub fn joined(&self, session: u64, outbox: Outbox) {
        lock(&self.agents).insert(session, outbox);
    }

    /// The connection of an agent has ended.
    pub async fn left(&self, session: u64) {
        lock(&self.agents).remove(&session);
        // If the coordinator is gone it knows.
        let _ = self.tell(FromRelay::Left(vec![session])).await;
    }

    /// Tells the coordinator something. Waits while too much is under way.
    ///
    /// # Errors
    /// When the connection is over.
    pub async fn tell(&self, message: FromRelay) -> io::Result<()> {
        self.to_coordinator.send(message).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Tells when the connection is over.
    pub fn over(&self) -> Stop {
        Stop(self.over.clone())
    }

    /// Passes a piece on to an agent. Returns whether its connection has taken it; otherwise the
    /// connection's task tells when it has.
    fn say(&self, session: u64, bytes: Vec<u8>) -> io::Result<bool> {
        // The agent may have left meanwhile.
        let Some(outbox) = lock(&self.agents).get(&session).cloned() else { return Ok(false) };
        if !outbox.is_free() {
            let error = "a piece for an agent that has not taken the last one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        outbox.begin();
        outbox.want();
        Ok(outbox.write(bytes))
    }

    /// Closes the connection of an agent when it has taken what it was sent.
    fn close(&self, session: u64) {
        lock(&self.agents).remove(&session);
    }
}

/// A coordinator that has welcomed the relay.
pub(super) struct Joined {
    /// For connections of agents.
    pub uplink: Arc<Uplink>,
    reader: ReadHalf<Box<dyn Stream>>,
    writer: WriteHalf<Box<dyn Stream>>,
    decoder: Decoder,
    from_agents: mpsc::Receiver<FromRelay>,
    heartbeat: Duration,
    /// Ends the connections of agents when it is dropped.
    end: watch::Sender<bool>,
}

/// Connects to the coordinator, and says hello.
pub(super) async fn join(
    coordinator: &Endpoint,
    tls: Option<&AgentTls>,
    token: &[u8],
) -> Result<Joined, UplinkEnd> {
    let stream = timeout(PATIENCE, coordinator.connect()).await.map_err(io::Error::from)??;
    stream.set_nodelay(true)?;
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(stream),
        Some(tls) => {
            let name = coordinator.server_name();
            let config = tls.next(|error| {
                tracing::warn!(%error, "certificates are not read again, what was read before stays in force");
            });
            let connecting = TlsConnector::from(config).connect(name, stream);
            let connecting = timeout(PATIENCE, connecting).await;
            Box::new(connecting.map_err(io::Error::from)??)
        }
    };
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut decoder = Decoder::default();
    let hello = RelayHello { version: RELAY_VERSION, token: token.to_vec() };
    say(&mut writer, [FromRelay::Hello(hello)]).await?;
    let mut buffer = vec![0; READ];
    let first = timeout(PATIENCE, next(&mut reader, &mut decoder, &mut buffer)).await;
    let (epoch, heartbeat_s) = match first.map_err(io::Error::from)?? {
        Some(ToRelay::Welcome { epoch, heartbeat_s, .. }) => (epoch, heartbeat_s),
        Some(ToRelay::Refused(refusal)) => return Err(UplinkEnd::Refused(refusal)),
        Some(_) => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        None => {
            let error = "it closes the connection without an answer, as a coordinator does that knows no relays";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error).into());
        }
    };
    tracing::info!(%coordinator, epoch, "joined");
    let (to_coordinator, from_agents) = mpsc::channel(WAITING);
    let (end, over) = watch::channel(false);
    let (agents, next_session) = (Mutex::default(), AtomicU64::new(0));
    let uplink = Arc::new(Uplink { to_coordinator, agents, next_session, over });
    let heartbeat = Duration::from_secs_f64(heartbeat_s.clamp(1e-3, 1e6));
    Ok(Joined { uplink, reader, writer, decoder, from_agents, heartbeat, end })
}

impl Joined {
    /// Serves until the connection ends. Returns why, and how many agents were connected.
    pub async fn serve(self) -> (UplinkEnd, usize) {
        let Joined { uplink, reader, writer, decoder, from_agents, heartbeat, end } = self;
        let over = tokio::select! {
            over = hear(&uplink, reader, decoder, heartbeat) => over,
            over = tell(from_agents, writer, heartbeat) => over,
        };
        let agents = std::mem::take(&mut *lock(&uplink.agents)).len();
        // Nobody may be connected.
        let _ = end.send(true);
        (over.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()).into(), agents)
    }
}

/// Passes on what the coordinator says.
async fn hear(
    uplink: &Uplink,
    mut reader: impl AsyncRead + Unpin,
    mut decoder: Decoder,
    heartbeat: Duration,
) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    let mut delivered = Vec::new();
    loop {
        let more =
            timeout(heartbeat.mul_f64(HEARTBEATS), next(&mut reader, &mut decoder, &mut buffer));
        let mut message = more.await??;
        if message.is_none() {
            return Ok(());
        }
        while let Some(heard) = message {
            match heard {
                ToRelay::Say { session, bytes } => {
                    if uplink.say(session, bytes)? {
                        delivered.push(session);
                    }
                }
                ToRelay::Close(session) => uplink.close(session),
                ToRelay::Alive => {}
                ToRelay::Welcome { .. } | ToRelay::Refused(_) => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            message = take(&mut decoder)?;
        }
        if !delivered.is_empty() {
            uplink.tell(FromRelay::Delivered(std::mem::take(&mut delivered))).await?;
        }
    }
}

/// Passes on what agents say, and that the relay is there.
async fn tell(
    mut from_agents: mpsc::Receiver<FromRelay>,
    mut writer: impl AsyncWrite + Unpin,
    heartbeat: Duration,
) -> io::Result<()> {
    let mut ticks = interval(heartbeat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            count = from_agents.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return Ok(());
                }
            }
            _ = ticks.tick() => batch.push(FromRelay::Alive),
        }
        say(&mut writer, merged(batch.drain(..))).await?;
    }
}

/// Makes one message of all that say what was delivered.
fn merged(messages: impl Iterator<Item = FromRelay>) -> Vec<FromRelay> {
    let (mut merged, mut delivered) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            FromRelay::Delivered(mut sessions) => delivered.append(&mut sessions),
            other => merged.push(other),
        }
    }
    let delivered = delivered.chunks(MAX_NAMED);
    merged.extend(delivered.map(|sessions| FromRelay::Delivered(sessions.to_vec())));
    merged
}

async fn say(
    writer: &mut (impl AsyncWrite + Unpin),
    messages: impl IntoIterator<Item = FromRelay>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    messages.into_iter().for_each(|message| encode(&message, &mut bytes));
    timeout(PATIENCE, async {
        writer.write_all(&bytes).await?;
        writer.flush().await
    })
    .await?
}

/// The next message; `None` when the coordinator has closed the connection.
async fn next(
    reader: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
    buffer: &mut [u8],
) -> io::Result<Option<ToRelay>> {
    loop {
        if let Some(message) = take(decoder)? {
            return Ok(Some(message));
        }
        let count = reader.read(buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        decoder.push(&buffer[..count]);
    }
}

fn take(decoder: &mut Decoder) -> io::Result<Option<ToRelay>> {
    decoder.take().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::connections::Rest;

    /// An uplink without a coordinator, and what it would be told.
    fn uplink() -> (Uplink, mpsc::Receiver<FromRelay>) {
        let (to_coordinator, told) = mpsc::channel(8);
        let (agents, next_session) = (Mutex::default(), AtomicU64::new(0));
        let over = watch::channel(false).1;
        (Uplink { to_coordinator, agents, next_session, over }, told)
    }

    /// An agent that takes nothing keeps one piece here, and delays nobody else.
    #[tokio::test]
    async fn a_slow_agent_has_one_piece_and_others_go_on() {
        let (uplink, _told) = uplink();
        let (slow, mut slow_far) = duplex(10);
        let (quick, mut quick_far) = duplex(1000);
        let mut rests: Vec<Rest> = Vec::new();
        for (session, near) in [(0, slow), (1, quick)] {
            let (outbox, rest) = Outbox::new(session, Box::new(near));
            uplink.joined(session, outbox);
            rests.push(rest);
        }
        let [rest, _] = &mut rests[..] else { panic!("two agents") };
        assert!(!uplink.say(0, vec![1; 100]).expect("it is free"));
        for k in 0..5 {
            assert!(uplink.say(1, vec![k; 100]).expect("it is free"), "taken at once");
            quick_far.read_exact(&mut [0; 100]).await.expect("all of it");
        }
        assert!(uplink.say(0, vec![2]).is_err(), "the coordinator waits for the first piece");
        // What the coordinator closes gets its piece first.
        uplink.close(0);
        let mut come = Vec::new();
        let written = async {
            assert_eq!(rest.write_next().await.expect("written"), Some(true));
            assert_eq!(rest.write_next().await.expect("closed"), None);
        };
        let (read, ()) = tokio::join!(slow_far.read_to_end(&mut come), written);
        read.expect("an end");
        assert_eq!(come, [1; 100]);
        assert!(!uplink.say(0, vec![3]).expect("it has left"), "nobody is there");
    }

    #[test]
    fn what_was_delivered_is_said_once_and_the_rest_in_order() {
        let said = |session| FromRelay::Said { session, bytes: vec![1] };
        let left = || FromRelay::Left(vec![1]);
        let delivered = |sessions: &[u64]| FromRelay::Delivered(sessions.to_vec());
        let all = [said(1), delivered(&[2, 3]), left(), said(4), delivered(&[5])];
        let expected = [said(1), left(), said(4), delivered(&[2, 3, 5])];
        assert_eq!(merged(all.into_iter()), expected);
        let many: Vec<u64> = (0..MAX_NAMED as u64 + 1).collect();
        assert_eq!(merged([delivered(&many)].into_iter()).len(), 2);
    }
}
