//! The header of a flow on its connection, and what comes in its place.

use std::io;
use std::net::Shutdown;
use std::time::Duration;

use covey_proto::{
    FlowHeader, HEADER, PROOF, Proof, ProofRefusal, REFUSAL, refusal_of, refusal_to,
};
use socket2::SockRef;

use crate::connection::Connection;

/// How long a connection that is refused may go on to send. If it were closed at once, the refusal
/// could be lost.
pub const LINGER: Duration = Duration::from_secs(1);
/// How many bytes of it are read.
pub const MAX_LINGERING: usize = 1 << 20;

/// The error of a flow that the other side has refused.
pub fn refused(refusal: ProofRefusal) -> io::Error {
    let what = format!("the other side refuses the flow: {refusal}");
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// Sends a header.
pub async fn write_header(
    stream: &Connection,
    header: &FlowHeader,
    proof: Option<&Proof>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    header.encode_with(proof, &mut bytes);
    stream.write_all(&bytes).await
}

/// Reads a header, and the proof that it shows.
///
/// # Errors
/// When it is none, or a refusal.
pub async fn read_header(stream: &Connection) -> io::Result<(FlowHeader, Option<Proof>)> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let (mut first, mut fixed) = ([0; REFUSAL], [0; HEADER]);
    stream.read_exact(&mut first).await?;
    if let Some(refusal) = refusal_of(&first) {
        return Err(refused(refusal));
    }
    fixed[..REFUSAL].copy_from_slice(&first);
    stream.read_exact(&mut fixed[REFUSAL..]).await?;
    let (mut header, rest) = FlowHeader::decode(&fixed).map_err(invalid)?;
    let mut proof = None;
    if rest.is_proven {
        let mut bytes = [0; PROOF];
        stream.read_exact(&mut bytes).await?;
        proof = FlowHeader::decode_proof(&bytes).map_err(invalid)?;
    }
    header.label = vec![0; rest.label];
    stream.read_exact(&mut header.label).await?;
    Ok((header, proof))
}

/// Tells the other side why its flow is refused.
pub async fn turn_away(stream: &Connection, refusal: ProofRefusal) -> io::Result<()> {
    stream.write_all(&refusal_to(refusal)).await?;
    SockRef::from(stream.socket()).shutdown(Shutdown::Write)?;
    stream.drain(MAX_LINGERING).await
}
