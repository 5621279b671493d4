//! How the bytes of a flow lie on its connection: as they are, or in chunks (docs/protocol.md).
//!
//! A chunk is plain or compressed. Plain ones go from the writer's memory and to the reader's; what is to
//! be compressed is gathered first. No I/O is done here: [`Outgoing`] says what is to be written next and
//! hears how much of it was, [`Incoming`] says where what comes is to go.

use std::io::{self, IoSlice, IoSliceMut};

use covey_codec::{checksum, pack, unpack};
use covey_proto::{CHUNK_HEADER, ChunkHeader, CodecName, MAX_CHUNK};

/// Bytes that are compressed at a time.
const GATHER: usize = 64 << 10;
/// Bytes by which it is found out whether a flow shrinks.
const TASTE: usize = 16 << 10;
/// Bytes of a flow that does not shrink that go before that is tried again: first, and at most.
const FIRST_PAUSE: u64 = 1 << 20;
const MOST_PAUSE: u64 = 64 << 20;

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Bytes that have been given to the socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Bytes of the flow.
    pub bytes: u64,
    /// Bytes that went over the wire for these.
    pub wire: u64,
}

/// What becomes of bytes that are to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// So many have been taken over.
    Copied(usize),
    /// So many are to be written after [`Outgoing::ahead`].
    Through(usize),
    /// [`Outgoing::ahead`] must go first.
    NotYet,
    /// The flow was opened for fewer.
    TooMany,
}

/// Whether a flow shrinks, as far as was tried.
#[derive(Debug)]
struct Trial {
    /// Whether it did when that was last tried.
    shrinks: bool,
    /// Bytes that go as they are before it is tried again.
    pause: u64,
    next_pause: u64,
}

impl Trial {
    fn failed(&mut self) {
        self.shrinks = false;
        self.pause = self.next_pause;
        self.next_pause = (2 * self.next_pause).min(MOST_PAUSE);
    }

    fn succeeded(&mut self) {
        self.shrinks = true;
        self.next_pause = FIRST_PAUSE;
    }
}

/// Whether compressing was worth it.
fn is_less(packed: usize, raw: usize) -> bool {
    20 * packed <= 19 * raw
}

/// The sending end of a flow's bytes.
#[derive(Debug)]
pub(crate) struct Outgoing {
    chunked: bool,
    /// Bytes of the flow that have not been taken, if their number was said at the beginning.
    left: Option<u64>,
    /// Bytes that have been taken and are in no chunk yet.
    gathered: Vec<u8>,
    /// A header, or a whole chunk: what goes before anything else; and how much of it has gone.
    ahead: Vec<u8>,
    gone: usize,
    /// Bytes of the flow that are in `ahead`.
    ahead_bytes: u64,
    /// Bytes of the chunk that go from the writer's memory, behind `ahead`.
    open: usize,
    trial: Trial,
    is_ended: bool,
}

impl Outgoing {
    pub fn new(bytes: Option<u64>, chunked: bool) -> Outgoing {
        Outgoing {
            chunked: chunked || bytes.is_none(),
            left: bytes,
            gathered: Vec::new(),
            ahead: Vec::new(),
            gone: 0,
            ahead_bytes: 0,
            open: 0,
            trial: Trial { shrinks: false, pause: 0, next_pause: FIRST_PAUSE },
            is_ended: false,
        }
    }

    /// What is to be written first.
    pub fn ahead(&self) -> &[u8] {
        &self.ahead[self.gone..]
    }

    /// What is to be written: what goes first, and then `data`.
    pub fn slices<'a>(&'a self, data: &'a [u8]) -> [IoSlice<'a>; 2] {
        [IoSlice::new(self.ahead()), IoSlice::new(data)]
    }

    /// So many bytes of [`Outgoing::slices`] have been written.
    pub fn passed(&mut self, written: usize) -> Passed {
        let of_ahead = written.min(self.ahead().len());
        self.gone += of_ahead;
        let mut bytes = (written - of_ahead) as u64;
        if self.chunked {
            self.open -= written - of_ahead;
        }
        self.left = self.left.map(|left| left - bytes);
        if self.ahead().is_empty() {
            bytes += std::mem::take(&mut self.ahead_bytes);
        }
        Passed { bytes, wire: written as u64 }
    }

    fn takes(&self, data: usize) -> usize {
        self.left.map_or(data, |left| data.min(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    /// Decides about bytes that are to be sent, and how they are to be compressed if a chunk begins.
    pub fn take(&mut self, data: &[u8], codec: Option<CodecName>) -> Taken {
        if self.open > 0 {
            return Taken::Through(self.open.min(data.len()));
        }
        if !self.ahead().is_empty() {
            return Taken::NotYet;
        }
        let most = self.takes(data.len());
        if most == 0 {
            return Taken::TooMany;
        }
        let data = &data[..most];
        if !self.chunked {
            return Taken::Through(most);
        }
        match codec {
            None if self.gathered.is_empty() => self.through(most),
            None => {
                self.close(None);
                Taken::NotYet
            }
            Some(codec) if self.shrinks(data, codec) => self.gather(data, codec),
            Some(_) => {
                let most = most.min(usize::try_from(self.trial.pause).unwrap_or(usize::MAX));
                self.trial.pause -= most as u64;
                self.through(most)
            }
        }
    }

    /// Whether what comes next is to be compressed, as far as can be known.
    fn shrinks(&mut self, data: &[u8], codec: CodecName) -> bool {
        if self.trial.pause > 0 && self.gathered.is_empty() {
            return false;
        }
        if self.gathered.is_empty() && !self.trial.shrinks && data.len() >= TASTE {
            // It may not be copied for nothing.
            let packed = pack(codec, &data[..TASTE], &mut self.gathered);
            let length = self.gathered.len();
            self.gathered.clear();
            if !packed || !is_less(length, TASTE) {
                self.trial.failed();
                return false;
            }
        }
        true
    }

    /// A plain chunk of the writer's memory begins.
    fn through(&mut self, bytes: usize) -> Taken {
        self.open = bytes.min(MAX_CHUNK);
        self.begin(&ChunkHeader::plain(self.open as u32));
        Taken::Through(self.open)
    }

    fn begin(&mut self, header: &ChunkHeader) {
        self.ahead.clear();
        self.ahead.extend(header.encode());
        self.gone = 0;
    }

    fn gather(&mut self, data: &[u8], codec: CodecName) -> Taken {
        let taken = data.len().min(GATHER - self.gathered.len());
        if taken == GATHER {
            self.chunk(Some(codec), &data[..GATHER]);
        } else {
            self.gathered.extend_from_slice(&data[..taken]);
            if self.gathered.len() == GATHER {
                self.close(Some(codec));
            }
        }
        self.left = self.left.map(|left| left - taken as u64);
        Taken::Copied(taken)
    }

    /// Makes a chunk of what has been gathered, if there is anything.
    fn close(&mut self, codec: Option<CodecName>) {
        if !self.gathered.is_empty() {
            let mut gathered = std::mem::take(&mut self.gathered);
            self.chunk(codec, &gathered);
            gathered.clear();
            self.gathered = gathered;
        }
    }

    /// Makes a chunk of `data`, compressed if that is less.
    fn chunk(&mut self, codec: Option<CodecName>, data: &[u8]) {
        let bytes = data.len();
        let plain = ChunkHeader::plain(bytes as u32);
        self.begin(&plain);
        self.ahead_bytes = bytes as u64;
        if let Some(codec) = codec {
            let packed = pack(codec, data, &mut self.ahead);
            let coded = self.ahead.len() - CHUNK_HEADER;
            if packed && is_less(coded, bytes) {
                let (coded, checksum) = (coded as u32, checksum(data));
                let header = ChunkHeader { codec: Some(codec), coded, checksum, ..plain };
                self.ahead[..CHUNK_HEADER].copy_from_slice(&header.encode());
                return self.trial.succeeded();
            }
            self.trial.failed();
            self.ahead.truncate(CHUNK_HEADER);
        }
        self.ahead.extend_from_slice(data);
    }

    /// Has all that was taken follow [`Outgoing::ahead`], or be it.
    pub fn flush(&mut self, codec: Option<CodecName>) {
        if self.ahead().is_empty() && self.open == 0 {
            self.close(codec);
        }
    }

    /// Whether the end is all that has still to go, or has gone.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Has the end follow [`Outgoing::ahead`], or be it, if the receiver does not know it. Returns whether
    /// it has gone.
    ///
    /// # Errors
    /// When bytes are missing.
    pub fn end(&mut self, codec: Option<CodecName>) -> io::Result<bool> {
        if self.open > 0 || self.left.is_some_and(|left| left > 0) {
            let what = "a flow ended before its last byte";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.flush(codec);
        if self.ahead().is_empty() && self.left.is_none() && !self.is_ended {
            self.begin(&ChunkHeader::plain(0));
            self.is_ended = true;
        }
        Ok(self.ahead().is_empty())
    }
}

/// What is to be done with bytes that come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// They are there: [`Incoming::give`].
    Given,
    /// They are to be read, as they are; so many at most.
    Plain(usize),
    /// [`Incoming::slices`] are to be filled.
    Inside,
    /// All have come.
    Over,
}

/// The receiving end of a flow's bytes.
#[derive(Debug)]
pub(crate) struct Incoming {
    chunked: bool,
    /// Bytes of the flow that are in no chunk that has begun, if known; without chunks, all that are left.
    left: Option<u64>,
    /// The next chunk's header, and how much of it has come.
    header: [u8; CHUNK_HEADER],
    come: usize,
    /// Bytes of a plain chunk that have not come.
    open: usize,
    /// A compressed chunk: what it is, and how much of it has come.
    chunk: Option<(ChunkHeader, usize)>,
    coded: Vec<u8>,
    /// What it has been made of, and how much of that has been given away.
    unpacked: Vec<u8>,
    given: usize,
    is_ended: bool,
}

impl Incoming {
    pub fn new(bytes: Option<u64>, chunked: bool) -> Incoming {
        Incoming {
            chunked: chunked || bytes.is_none(),
            left: bytes,
            header: [0; CHUNK_HEADER],
            come: 0,
            open: 0,
            chunk: None,
            coded: Vec::new(),
            unpacked: Vec::new(),
            given: 0,
            is_ended: false,
        }
    }

    /// What is to be done.
    ///
    /// # Errors
    /// When what has come means nothing.
    pub fn next(&mut self) -> io::Result<Next> {
        if !self.chunked {
            let left = self.left.map_or(0, |left| usize::try_from(left).unwrap_or(usize::MAX));
            return Ok(if left == 0 { Next::Over } else { Next::Plain(left) });
        }
        if self.open == 0 && self.chunk.is_none() && self.come == CHUNK_HEADER {
            self.begin()?;
        }
        if let Some((chunk, come)) = self.chunk
            && come == chunk.coded as usize
        {
            self.unpack(&chunk)?;
        }
        Ok(match () {
            () if self.given < self.unpacked.len() => Next::Given,
            () if self.open > 0 => Next::Plain(self.open),
            () if self.chunk.is_some() => Next::Inside,
            () if self.is_ended || self.left == Some(0) => Next::Over,
            () => Next::Inside,
        })
    }

    /// A header has come.
    fn begin(&mut self) -> io::Result<()> {
        self.come = 0;
        let chunk = ChunkHeader::decode(&self.header).map_err(invalid)?;
        if let Some(left) = &mut self.left {
            match left.checked_sub(chunk.raw.into()).filter(|_| chunk.raw > 0) {
                Some(rest) => *left = rest,
                None => {
                    let raw = chunk.raw;
                    return Err(invalid(format!("a chunk of {raw} bytes where {left} are left")));
                }
            }
        }
        self.is_ended = chunk.raw == 0;
        if chunk.codec.is_some() {
            self.coded.clear();
            self.coded.resize(chunk.coded as usize, 0);
            self.chunk = Some((chunk, 0));
        } else {
            self.open = chunk.raw as usize;
        }
        Ok(())
    }

    fn unpack(&mut self, chunk: &ChunkHeader) -> io::Result<()> {
        self.chunk = None;
        self.given = 0;
        let Some(codec) = chunk.codec else { return Ok(()) };
        let (raw, sum) = (chunk.raw as usize, chunk.checksum);
        unpack(codec, &self.coded, raw, sum, &mut self.unpacked).map_err(invalid)
    }

    /// Bytes of the flow that are there, as many as fit.
    pub fn give(&mut self, most: usize) -> &[u8] {
        let from = self.given;
        self.given += most.min(self.unpacked.len() - from);
        &self.unpacked[from..self.given]
    }

    /// Where what comes is to go: `into`, of at most as many bytes as are left of a plain chunk, or what is
    /// missing of a compressed one; and behind its end the next header, which saves reading that alone.
    pub fn slices<'a>(&'a mut self, into: &'a mut [u8]) -> [IoSliceMut<'a>; 2] {
        let ends = self.chunk.is_some() || into.len() == self.open;
        let header = if self.chunked && ends { &mut self.header[self.come..] } else { &mut [] };
        let first = match self.chunk {
            Some((_, come)) => &mut self.coded[come..],
            None => into,
        };
        [IoSliceMut::new(first), IoSliceMut::new(header)]
    }

    /// So many bytes have come into [`Incoming::slices`], of which the first had room for `room`. Returns
    /// how many were the flow's.
    pub fn came(&mut self, count: usize, room: usize) -> usize {
        let first = count.min(room);
        if !self.chunked {
            self.left = self.left.map(|left| left - first as u64);
            return first;
        }
        self.come += count - first;
        match &mut self.chunk {
            Some((_, come)) => {
                *come += first;
                0
            }
            None => {
                self.open -= first;
                first
            }
        }
    }

    /// Bytes that will come before anything has to be known of what follows them.
    pub fn sure(&self) -> u64 {
        match (self.chunked, self.chunk) {
            (false, _) => self.left.unwrap_or(1),
            (true, Some((chunk, come))) => u64::from(chunk.coded) - come as u64,
            (true, None) => self.open as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is put on the wire for `data`, written in pieces, with what `codec` says at each.
    fn sent(
        data: &[u8],
        piece: usize,
        bytes: Option<u64>,
        mut codec: impl FnMut(usize) -> Option<CodecName>,
    ) -> Vec<u8> {
        let mut out = Outgoing::new(bytes, true);
        let (mut wire, mut passed) = (Vec::new(), Passed::default());
        // Sockets take what they like.
        let mut some = 1_usize;
        let mut write = |out: &mut Outgoing, data: &[u8]| {
            some = some.wrapping_mul(31).wrapping_add(7) % 5000 + 1;
            let all = [out.ahead(), data].concat();
            let written = some.min(all.len());
            wire.extend_from_slice(&all[..written]);
            let more = out.passed(written);
            passed = Passed { bytes: passed.bytes + more.bytes, wire: passed.wire + more.wire };
        };
        let mut at = 0;
        while at < data.len() {
            let end = data.len().min(at + piece);
            match out.take(&data[at..end], codec(at)) {
                Taken::Copied(count) => at += count,
                Taken::Through(count) => {
                    let left = out.open;
                    write(&mut out, &data[at..at + count]);
                    at += left - out.open;
                }
                Taken::NotYet => write(&mut out, &[]),
                Taken::TooMany => panic!("not more than was said"),
            }
        }
        while !out.end(codec(at)).expect("nothing is missing") {
            write(&mut out, &[]);
        }
        assert_eq!(passed, Passed { bytes: data.len() as u64, wire: wire.len() as u64 });
        wire
    }

    /// What comes out of `wire`, read into buffers of `most` bytes.
    fn received(wire: &[u8], most: usize, bytes: Option<u64>) -> io::Result<Vec<u8>> {
        let mut incoming = Incoming::new(bytes, true);
        let (mut out, mut wire) = (Vec::new(), wire);
        let mut buffer = vec![0; most];
        loop {
            let room = match incoming.next()? {
                Next::Over => return Ok(out),
                Next::Given => {
                    out.extend_from_slice(incoming.give(most));
                    continue;
                }
                Next::Plain(left) => left.min(most),
                Next::Inside => 0,
            };
            let mut slices = incoming.slices(&mut buffer[..room]);
            let room = slices[0].len();
            let count = io::Read::read_vectored(&mut wire, &mut slices)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let come = incoming.came(count, room);
            out.extend_from_slice(&buffer[..come]);
        }
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(byte).take(length).collect()
    }

    #[test]
    fn what_is_sent_is_received_whatever_the_codec_does() {
        let mut data = covey_codec::sample(400_001);
        data.extend(noise(300_000));
        data.extend(covey_codec::sample(100_000));
        for bytes in [None, Some(data.len() as u64)] {
            for (piece, most) in [(800_001, 70_000), (1000, 999), (65_536, 65_536), (100_000, 10)] {
                let steady = [None, Some(CodecName::Lz4), Some(CodecName::Lzf)];
                for codec in steady {
                    let wire = sent(&data, piece, bytes, |_| codec);
                    assert!(received(&wire, most, bytes).expect("no error") == data);
                    assert_eq!(wire.len() < data.len(), codec.is_some());
                }
                // Told something else all the time.
                let told = |at: usize| [None, steady[1], None, steady[2]][at / 30_000 % 4];
                let wire = sent(&data, piece, bytes, told);
                assert!(received(&wire, most, bytes).expect("no error") == data);
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_tried_rarely_and_costs_headers_only() {
        let data = noise(8 << 20);
        let wire = sent(&data, 64 << 10, Some(data.len() as u64), |_| Some(CodecName::Lz4));
        assert!(wire.len() - data.len() <= (data.len() / (64 << 10) + 20) * CHUNK_HEADER);
        let mut out = Outgoing::new(None, true);
        let mut trials = 0;
        for chunk in data.chunks(64 << 10) {
            trials += usize::from(out.trial.pause == 0);
            let Taken::Through(count) = out.take(chunk, Some(CodecName::Lz4)) else {
                panic!("it is copied")
            };
            assert_eq!(count, chunk.len());
            out.passed(CHUNK_HEADER + count);
        }
        // At the beginning, and after 1, 3 and 7 MiB.
        assert_eq!(trials, 4);
    }

    #[test]
    fn a_flow_that_shrinks_again_is_compressed_again() {
        let mut data = noise(1 << 20);
        data.extend(covey_codec::sample(4 << 20));
        let wire = sent(&data, 64 << 10, None, |_| Some(CodecName::Zstd));
        assert!(wire.len() < data.len() - (2 << 20));
    }

    #[test]
    fn damage_is_an_error() {
        let data = covey_codec::sample(200_000);
        let wire = sent(&data, 64 << 10, None, |_| Some(CodecName::Lz4));
        for at in [0, 3, 5, 9, 13, 500, 20_000] {
            let mut wire = wire.clone();
            wire[at] ^= 0x41;
            let error = received(&wire, 64 << 10, None).expect_err("it is damaged");
            assert_ne!(error.to_string(), "", "at {at}");
        }
        let cut = received(&wire[..wire.len() - 20], 64 << 10, None).expect_err("it is cut");
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        // More, or fewer, than the flow was opened for.
        let sized = sent(&data, 64 << 10, Some(200_000), |_| None);
        assert!(received(&sized, 64 << 10, Some(199_999)).is_err());
        assert!(received(&sized, 64 << 10, Some(200_001)).is_err());
    }
}
