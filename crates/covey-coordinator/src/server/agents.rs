//! Connections of agents.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use covey_door::{Guest, Reason};
use covey_proto::{Decoder, FromAgent, Message, Opening, Refusal, ToAgent, encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::command::Command;
use super::joining::{Agents, tell};
use super::push::write_rest;
use super::relays;
use super::route::{Peer, Route};
use crate::connections::{Outbox, Stop, garbage, refuse};

/// Bytes that are read at a time. Each connection has a buffer of this size; agents say little.
const READ: usize = 1024;

/// Serves one connection until it ends, or the server stops.
pub(super) async fn run(agents: Arc<Agents>, stream: TcpStream, guest: Arc<Guest>, mut stop: Stop) {
    let served = tokio::select! {
        served = serve(&agents, stream, &guest) => served,
        () = stop.asked() => Ok(()),
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection of an agent ended");
    }
}

async fn serve(agents: &Agents, stream: TcpStream, guest: &Guest) -> io::Result<()> {
    let peer = stream.peer_addr()?;
    let (stream, shown) = agents.admission.accept(stream, guest).await?;
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut decoder = Decoder::default();
    let first = next(guest, None, &mut reader, &mut decoder).await?;
    let mut port = None;
    let credential = match &first {
        Some(Opening::Relay(hello)) => {
            // Boxed, so that the tasks of agents do not have its size.
            let writer = Box::new(writer);
            let relay = relays::serve(agents, (guest, peer), hello, shown, reader, writer, decoder);
            return Box::pin(relay).await;
        }
        Some(Opening::Agent(FromAgent::Hello(hello))) => {
            port = Some(hello.port);
            agents.admission.admits(hello, shown.as_ref()).ok_or(Refusal::Credential)
        }
        Some(Opening::Agent(_)) => Err(Refusal::Order),
        None => return Ok(()),
    };
    drop(shown);
    let (Some(Opening::Agent(hello)), Ok(credential)) = (first, &credential) else {
        let refusal = credential.err().unwrap_or(Refusal::Order);
        refuse(guest, refusal, port, "the agent");
        let mut bytes = Vec::new();
        encode(&ToAgent::Refused(refusal), &mut bytes);
        writer.write_all(&bytes).await?;
        return writer.shutdown().await;
    };
    guest.authenticate();
    let session = agents.next_session.fetch_add(1, Ordering::Relaxed);
    let (outbox, rest) = Outbox::new(session, Box::new(writer));
    let peer = Peer { address: peer, relay: None };
    tell(agents, Command::Joined(session, Route::Own(outbox), peer)).await?;
    tell(agents, Command::Heard(session, hello)).await?;
    let read = async {
        while let Some(message) = next(guest, port, &mut reader, &mut decoder).await? {
            tell(agents, Command::Heard(session, message)).await?;
        }
        Ok(())
    };
    let write = write_rest(rest, &agents.commands);
    let result = tokio::select! {
        result = read => result,
        result = write => result,
        why = agents.admission.withdrawn(credential) => {
            guest.refuse(Reason::Credential, port, why);
            Ok(())
        }
    };
    tell(agents, Command::Closed(session)).await?;
    result
}

/// The next message; `None` when the agent has left.
async fn next<M: Message>(
    guest: &Guest,
    port: Option<u32>,
    reader: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> io::Result<Option<M>> {
    let mut buffer = [0; READ];
    loop {
        match decoder.take() {
            Ok(Some(message)) => return Ok(Some(message)),
            Ok(None) => {}
            Err(error) => return Err(garbage(guest, port, error)),
        }
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        decoder.push(&buffer[..count]);
    }
}
