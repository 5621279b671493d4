//! The bytes of flows. Each flow has bytes of its own, and no two positions of a flow look alike:
//! the receiver notices bytes that are lost, doubled or exchanged.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::ready;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

/// Period of the pattern in bytes: a prime, so that it is no multiple of a buffer's length.
const PERIOD: usize = 1_048_573;
/// Length of a block of noise and zeros in a compressible pattern.
const UNIT: usize = 4093;
/// Bytes that a compressor takes to encode the zeros.
const SAYING_SO: f64 = 24.0;
/// Maximum number of bytes at a time.
const PIECE: usize = 64 << 10;

/// The pattern, once for all flows.
pub struct Pattern {
    /// One period and the beginning of the next.
    bytes: Vec<u8>,
}

thread_local! {
    /// Buffer for received bytes. They are compared at once, so all flows of a thread share it.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

impl Pattern {
    /// The pattern, the same in all processes. Compressors, LZ4 above all, reduce it to the share
    /// `ratio` of its bytes; a ratio of 1 leaves nothing to compress.
    pub fn new(ratio: f64) -> Pattern {
        // xorshift64 is random enough here.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes: Vec<u8> = Vec::with_capacity(PERIOD + PIECE + 8);
        while bytes.len() < PERIOD {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend(state.to_le_bytes());
        }
        bytes.truncate(PERIOD);
        let noise = ratio * UNIT as f64 - if ratio < 1.0 { SAYING_SO } else { 0.0 };
        for unit in bytes.chunks_mut(UNIT) {
            let noise = (noise.max(0.0) as usize).min(unit.len());
            unit[noise..].fill(0);
        }
        bytes.extend_from_within(..PIECE);
        Pattern { bytes }
    }

    /// At most [`PIECE`] bytes of a flow, from `offset` on.
    fn at(&self, (coflow, flow): (u32, u32), offset: u64, max: u64) -> &[u8] {
        let name = u64::from(coflow) << 32 | u64::from(flow);
        let phase = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let start = ((phase + offset) % PERIOD as u64) as usize;
        &self.bytes[start..start + max.min(PIECE as u64) as usize]
    }

    /// Sends all bytes of a flow.
    pub async fn send(
        &self,
        name: (u32, u32),
        bytes: u64,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes {
            sent += to.write(self.at(name, sent, bytes - sent)).await? as u64;
        }
        Ok(())
    }

    /// Receives a flow to its end and compares it with the pattern. Returns its number of bytes.
    pub async fn check(
        &self,
        name: (u32, u32),
        from: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<u64> {
        let mut had = 0;
        loop {
            let count = poll_fn(|cx| {
                BUFFER.with_borrow_mut(|buffer| {
                    let mut buffer = ReadBuf::new(buffer);
                    ready!(Pin::new(&mut *from).poll_read(cx, &mut buffer))?;
                    let come = buffer.filled();
                    if come != self.at(name, had, come.len() as u64) {
                        let what = format!("other bytes than were sent, after {had} correct ones");
                        let error = io::Error::new(io::ErrorKind::InvalidData, what);
                        return std::task::Poll::Ready(Err(error));
                    }
                    std::task::Poll::Ready(Ok(come.len() as u64))
                })
            })
            .await?;
            if count == 0 {
                return Ok(had);
            }
            had += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use covey_proto::CodecName;

    use super::*;

    async fn sent(pattern: &Pattern, name: (u32, u32), bytes: u64) -> Vec<u8> {
        let mut out = Vec::new();
        pattern.send(name, bytes, &mut out).await.expect("memory takes all");
        out
    }

    #[tokio::test]
    async fn only_the_bytes_sent_are_accepted() {
        check_pattern(1.0).await;
        check_pattern(0.48).await;
    }

    async fn check_pattern(ratio: f64) {
        let pattern = Pattern::new(ratio);
        let bytes = 3_000_000;
        let good = sent(&pattern, (7, 3), bytes).await;
        assert_eq!(good.len() as u64, bytes);
        assert_eq!(pattern.check((7, 3), &mut good.as_slice()).await.expect("good"), bytes);
        assert!(pattern.check((7, 4), &mut good.as_slice()).await.is_err(), "of another flow");
        let mut exchanged = good.clone();
        exchanged[1_000_000] ^= 1;
        assert!(pattern.check((7, 3), &mut exchanged.as_slice()).await.is_err(), "a bit");
        let mut lost = good.clone();
        lost.drain(100_000..100_000 + PIECE);
        assert!(pattern.check((7, 3), &mut lost.as_slice()).await.is_err(), "a piece is missing");
    }

    #[tokio::test]
    async fn it_compresses_to_its_ratio() {
        for ratio in [0.25, 0.48, 0.7] {
            let data = sent(&Pattern::new(ratio), (3, 1), 4 << 20).await;
            for codec in CodecName::ALL {
                let mut packed = Vec::new();
                for chunk in data.chunks(64 << 10) {
                    assert!(covey_codec::pack(codec, chunk, &mut packed));
                }
                let found = packed.len() as f64 / data.len() as f64;
                // The pattern is made for LZ4; other compressors encode zeros in slightly more or
                // fewer bytes.
                let tolerance = if codec == CodecName::Lz4 { 0.01 } else { 0.04 };
                assert!((found - ratio).abs() < tolerance, "{ratio} by {}: {found}", codec.name());
            }
        }
    }
}
