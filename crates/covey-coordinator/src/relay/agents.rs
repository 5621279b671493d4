//! Connections of agents to a relay.

use std::io;

use covey_door::{Guest, Reason};
use covey_proto::{Decoder, FromAgent, FromRelay, Hello, MAX_PIECE, Refusal, ToAgent, encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::uplink::Uplink;
use crate::connections::{Admission, Outbox, Rest, garbage, refuse};

/// Bytes that are read at a time. Each connection has a buffer of this size; agents say little.
const READ: usize = 1024;

/// Serves one connection until it ends, on either side.
pub(super) async fn serve(
    admission: &Admission,
    uplink: &Uplink,
    stream: TcpStream,
    guest: &Guest,
) -> io::Result<()> {
    let (stream, shown) = admission.accept(stream, guest).await?;
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut decoder = Decoder::default();
    let first = first(guest, &mut reader, &mut decoder).await?;
    let (hello, credential) = match first {
        Some(FromAgent::Hello(hello)) => {
            let credential = admission.admits(&hello, shown.as_ref());
            (Some(hello), credential.ok_or(Refusal::Credential))
        }
        Some(_) => (None, Err(Refusal::Order)),
        None => return Ok(()),
    };
    drop(shown);
    let port = hello.as_ref().map(|hello| hello.port);
    let (Some(hello), Ok(credential)) = (hello, &credential) else {
        let refusal = credential.err().unwrap_or(Refusal::Order);
        refuse(guest, refusal, port, "the agent");
        let mut bytes = Vec::new();
        encode(&ToAgent::Refused(refusal), &mut bytes);
        writer.write_all(&bytes).await?;
        return writer.shutdown().await;
    };
    guest.authenticate();
    let session = uplink.number();
    let (outbox, rest) = Outbox::new(session, Box::new(writer));
    uplink.joined(session, outbox);
    let mut begin = Vec::new();
    // The coordinator need not see what the agent has shown to the relay.
    encode(&FromAgent::Hello(Hello { token: Vec::new(), ..hello }), &mut begin);
    begin.extend(decoder.into_rest());
    let result = tokio::select! {
        result = hear(uplink, session, begin, reader) => result,
        result = deliver(uplink, session, rest) => result,
        why = admission.withdrawn(credential) => {
            guest.refuse(Reason::Credential, port, why);
            Ok(())
        }
    };
    uplink.left(session).await;
    result
}

/// The first message; `None` when the agent has left.
async fn first(
    guest: &Guest,
    reader: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> io::Result<Option<FromAgent>> {
    let mut buffer = [0; READ];
    loop {
        let garbage = |error| garbage(guest, None, error);
        if let Some(message) = decoder.take().map_err(garbage)? {
            return Ok(Some(message));
        }
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        decoder.push(&buffer[..count]);
    }
}

/// Passes on what an agent says.
async fn hear(
    uplink: &Uplink,
    session: u64,
    begin: Vec<u8>,
    mut reader: impl AsyncRead + Unpin,
) -> io::Result<()> {
    for bytes in begin.chunks(MAX_PIECE) {
        uplink.tell(FromRelay::Said { session, bytes: bytes.to_vec() }).await?;
    }
    drop(begin);
    let mut buffer = [0; READ];
    loop {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let bytes = buffer[..count].to_vec();
        uplink.tell(FromRelay::Said { session, bytes }).await?;
    }
}

/// Writes what the agent's socket did not take at once, and tells the coordinator when it has.
async fn deliver(uplink: &Uplink, session: u64, mut rest: Rest) -> io::Result<()> {
    while rest.write_next().await?.is_some() {
        uplink.tell(FromRelay::Delivered(vec![session])).await?;
    }
    Ok(())
}
