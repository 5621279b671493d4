//! Any bytes give an error, or messages that survive writing and reading: between coordinator,
//! relays, agents and applications, and on the connections of flows.

#![no_main]

use std::fmt::Debug;

use covey_proto::{
    CHUNK_HEADER, ChunkHeader, Decoder, FlowHeader, FromAgent, FromApp, FromRelay, HEADER, Message,
    NOTE, Note, PROOF, REPLY, Reply, ToAgent, ToApp, ToRelay, encode,
};
use libfuzzer_sys::fuzz_target;

fn messages<M: Message + PartialEq + Debug>(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    while let Ok(Some(message)) = decoder.take::<M>() {
        let mut frame = Vec::new();
        encode(&message, &mut frame);
        let mut again = Decoder::default();
        again.push(&frame);
        assert_eq!(again.take::<M>(), Ok(Some(message)));
    }
}

/// The first bytes of a flow's connection, of a chunk, and of what the two sides tell each other.
fn of_flow(bytes: &[u8]) {
    if let Some(fixed) = bytes.first_chunk::<HEADER>() {
        let _ = FlowHeader::decode(fixed);
    }
    if let Some(proof) = bytes.first_chunk::<PROOF>() {
        let _ = FlowHeader::decode_proof(proof);
    }
    if let Some(fixed) = bytes.first_chunk::<CHUNK_HEADER>() {
        let _ = ChunkHeader::decode(fixed);
    }
    if let Some(fixed) = bytes.first_chunk::<NOTE>() {
        let _ = Note::decode(fixed);
    }
    if let Some(fixed) = bytes.first_chunk::<REPLY>() {
        let _ = Reply::decode(fixed);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match which % 7 {
        0 => messages::<FromAgent>(bytes),
        1 => messages::<ToAgent>(bytes),
        2 => messages::<FromRelay>(bytes),
        3 => messages::<ToRelay>(bytes),
        4 => messages::<FromApp>(bytes),
        5 => messages::<ToApp>(bytes),
        _ => of_flow(bytes),
    }
});
