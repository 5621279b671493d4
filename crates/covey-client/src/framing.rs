//! The format of a flow's bytes on its connection: plain, or in chunks (docs/protocol.md).
//!
//! A chunk is plain or compressed. A plain chunk goes straight from the writer's memory and into the reader's; bytes
//! to be compressed are gathered first. There is no I/O here: [`FrameEncoder`] says what to write next and is told how
//! much was written; [`FrameDecoder`] says where to put the bytes that are read.

use std::io::{self, IoSlice, IoSliceMut};

use covey_codec::{checksum, pack, unpack};
use covey_proto::{CHUNK_HEADER, ChunkHeader, CodecName, MAX_CHUNK, NOTE, Note};

/// Bytes that are compressed at a time.
const GATHER: usize = 64 << 10;
/// Bytes that are compressed to find out whether a flow shrinks.
const SAMPLE: usize = 16 << 10;
/// Maximum number of bytes of a chunk of a flow with notes.
pub(crate) const MAX_NOTED_CHUNK: usize = 16 << 10;
/// Bytes of a flow that does not shrink until compression is tried again: at first, and at most.
const FIRST_PAUSE: u64 = 1 << 20;
const MAX_PAUSE: u64 = 64 << 20;

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Bytes that have been written to the socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Bytes of the flow.
    pub bytes: u64,
    /// Bytes that went over the wire for these.
    pub wire: u64,
}

/// How the encoder takes bytes that are to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// So many bytes have been copied.
    Copied(usize),
    /// So many bytes must be written after [`FrameEncoder::ahead`].
    Through(usize),
    /// [`FrameEncoder::ahead`] must be written first.
    NotYet,
    /// The flow was opened for fewer bytes.
    TooMany,
}

/// Whether compression has paid for a flow so far.
#[derive(Debug)]
struct Trial {
    /// Whether the last trial made the flow smaller.
    shrinks: bool,
    /// Bytes to send plain before the next trial.
    pause: u64,
    /// The pause after the next failure.
    next_pause: u64,
}

impl Trial {
    fn failed(&mut self) {
        self.shrinks = false;
        self.pause = self.next_pause;
        self.next_pause = (2 * self.next_pause).min(MAX_PAUSE);
    }

    fn succeeded(&mut self) {
        self.shrinks = true;
        self.next_pause = FIRST_PAUSE;
    }
}

/// Whether compression saves at least a twentieth.
fn is_worth_it(packed: usize, raw: usize) -> bool {
    20 * packed <= 19 * raw
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct FrameEncoder {
    /// Whether the flow is sent in chunks.
    chunked: bool,
    /// Notes that go ahead of the next chunk.
    notes: Vec<Note>,
    /// Maximum number of bytes of a plain chunk.
    max_chunk: usize,
    /// Bytes of the flow that have not been taken, if the header says how many there are.
    left: Option<u64>,
    /// Bytes that have been taken and are in no chunk yet.
    gathered: Vec<u8>,
    /// A chunk's header or a whole chunk, which must be written before anything else.
    ahead: Vec<u8>,
    /// Bytes of `ahead` that have been written.
    gone: usize,
    /// Bytes of the flow that are in `ahead`.
    ahead_bytes: u64,
    /// Bytes of the current plain chunk that have not been written. They follow `ahead`.
    chunk_left: usize,
    trial: Trial,
    /// Whether `ahead` is or was the empty chunk that ends the flow.
    is_ended: bool,
}

impl FrameEncoder {
    pub fn new(bytes: Option<u64>, chunked: bool) -> FrameEncoder {
        FrameEncoder {
            chunked: chunked || bytes.is_none(),
            notes: Vec::new(),
            max_chunk: MAX_CHUNK,
            left: bytes,
            gathered: Vec::new(),
            ahead: Vec::new(),
            gone: 0,
            ahead_bytes: 0,
            chunk_left: 0,
            trial: Trial { shrinks: false, pause: 0, next_pause: FIRST_PAUSE },
            is_ended: false,
        }
    }

    /// Bounds chunks, so that no note waits for long.
    pub fn carry_notes(&mut self) {
        self.max_chunk = MAX_NOTED_CHUNK;
    }

    /// Sends notes ahead of the next chunk.
    pub fn add_notes(&mut self, notes: impl IntoIterator<Item = Note>) {
        self.notes.extend(notes);
    }

    /// Whether the next byte begins a chunk.
    pub fn is_between_chunks(&self) -> bool {
        self.chunk_left == 0 && self.ahead().is_empty()
    }

    /// The bytes to write first.
    pub fn ahead(&self) -> &[u8] {
        &self.ahead[self.gone..]
    }

    /// The bytes to write: [`FrameEncoder::ahead`], then `data`.
    pub fn slices<'a>(&'a self, data: &'a [u8]) -> [IoSlice<'a>; 2] {
        [IoSlice::new(self.ahead()), IoSlice::new(data)]
    }

    /// So many bytes of [`FrameEncoder::slices`] have been written.
    pub fn wrote(&mut self, written: usize) -> Written {
        let of_ahead = written.min(self.ahead().len());
        self.gone += of_ahead;
        let mut bytes = (written - of_ahead) as u64;
        if self.chunked {
            self.chunk_left -= written - of_ahead;
        }
        self.left = self.left.map(|left| left - bytes);
        if self.ahead().is_empty() {
            bytes += std::mem::take(&mut self.ahead_bytes);
        }
        Written { bytes, wire: written as u64 }
    }

    fn takes(&self, data: usize) -> usize {
        self.left.map_or(data, |left| data.min(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    /// Takes bytes to send. If a chunk begins, `codec` compresses it.
    pub fn take(&mut self, data: &[u8], codec: Option<CodecName>) -> Taken {
        if self.chunk_left > 0 {
            return Taken::Through(self.chunk_left.min(data.len()));
        }
        if !self.ahead().is_empty() {
            return Taken::NotYet;
        }
        let max = self.takes(data.len());
        if max == 0 {
            return Taken::TooMany;
        }
        let data = &data[..max];
        if !self.chunked {
            return Taken::Through(max);
        }
        match codec {
            None if self.gathered.is_empty() => self.through(max),
            None => {
                self.close(None);
                Taken::NotYet
            }
            Some(codec) if self.shrinks(data, codec) => self.gather(data, codec),
            Some(_) => {
                let max = max.min(usize::try_from(self.trial.pause).unwrap_or(usize::MAX));
                self.trial.pause -= max as u64;
                self.through(max)
            }
        }
    }

    /// Whether to try to compress the bytes that come next.
    fn shrinks(&mut self, data: &[u8], codec: CodecName) -> bool {
        if self.trial.pause > 0 && self.gathered.is_empty() {
            return false;
        }
        if self.gathered.is_empty() && !self.trial.shrinks && data.len() >= SAMPLE {
            // A sample first: if it does not shrink, the bytes need not be copied.
            let packed = pack(codec, &data[..SAMPLE], &mut self.gathered);
            let length = self.gathered.len();
            self.gathered.clear();
            if !packed || !is_worth_it(length, SAMPLE) {
                self.trial.failed();
                return false;
            }
        }
        true
    }

    /// Begins a plain chunk of the writer's memory.
    fn through(&mut self, bytes: usize) -> Taken {
        self.chunk_left = bytes.min(self.max_chunk);
        self.begin(&ChunkHeader::plain(self.chunk_left as u32));
        Taken::Through(self.chunk_left)
    }

    /// Puts notes and a chunk's header ahead. Returns where the header is.
    fn begin(&mut self, header: &ChunkHeader) -> usize {
        self.ahead.clear();
        for note in self.notes.drain(..) {
            self.ahead.extend(ChunkHeader::OF_NOTE.encode());
            self.ahead.extend(note.encode());
        }
        let at = self.ahead.len();
        self.ahead.extend(header.encode());
        self.gone = 0;
        at
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

    /// Makes a chunk of the gathered bytes, if there are any.
    fn close(&mut self, codec: Option<CodecName>) {
        if !self.gathered.is_empty() {
            let mut gathered = std::mem::take(&mut self.gathered);
            self.chunk(codec, &gathered);
            gathered.clear();
            self.gathered = gathered;
        }
    }

    /// Makes a chunk of `data`, compressed if that is worth it.
    fn chunk(&mut self, codec: Option<CodecName>, data: &[u8]) {
        let bytes = data.len();
        let plain = ChunkHeader::plain(bytes as u32);
        let at = self.begin(&plain);
        self.ahead_bytes = bytes as u64;
        if let Some(codec) = codec {
            let packed = pack(codec, data, &mut self.ahead);
            let coded = self.ahead.len() - at - CHUNK_HEADER;
            if packed && is_worth_it(coded, bytes) {
                let (coded, checksum) = (coded as u32, checksum(data));
                let header = ChunkHeader { codec: Some(codec), coded, checksum, ..plain };
                self.ahead[at..at + CHUNK_HEADER].copy_from_slice(&header.encode());
                return self.trial.succeeded();
            }
            self.trial.failed();
            self.ahead.truncate(at + CHUNK_HEADER);
        }
        self.ahead.extend_from_slice(data);
    }

    /// Turns all bytes taken into [`FrameEncoder::ahead`], if that is free.
    pub fn flush(&mut self, codec: Option<CodecName>) {
        if self.ahead().is_empty() && self.chunk_left == 0 {
            self.close(codec);
        }
    }

    /// Whether nothing but the end is left to write.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Ends the flow, with an empty chunk if the header does not say how many bytes there are. Returns whether
    /// everything is written; if not, [`FrameEncoder::ahead`] must be written first.
    ///
    /// # Errors
    /// When the flow has sent fewer bytes than its header says.
    pub fn end(&mut self, codec: Option<CodecName>) -> io::Result<bool> {
        if self.chunk_left > 0 || self.left.is_some_and(|left| left > 0) {
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

/// What the decoder does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// [`FrameDecoder::give`] has bytes of the flow.
    Given,
    /// At most so many bytes of the flow come next, plain.
    Plain(usize),
    /// [`FrameDecoder::slices`] must be filled first.
    Inside,
    /// All bytes have come.
    Over,
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    chunked: bool,
    /// Notes that have come and have not been taken; `None` for a flow without notes.
    notes: Option<Vec<Note>>,
    /// Bytes of the flow after the current chunk, if the header says how many there are; without chunks, all bytes
    /// that have not come.
    left: Option<u64>,
    /// The next chunk's header.
    header: [u8; CHUNK_HEADER],
    /// Bytes of it that have come.
    come: usize,
    /// Bytes of the current plain chunk that have not come.
    chunk_left: usize,
    /// Header of the current compressed chunk, and how many bytes of the chunk have come.
    chunk: Option<(ChunkHeader, usize)>,
    /// The compressed bytes.
    coded: Vec<u8>,
    /// The bytes of the flow that they were made of.
    unpacked: Vec<u8>,
    /// Bytes of `unpacked` that have been given to the reader.
    given: usize,
    /// Whether the empty chunk that ends the flow has come.
    is_ended: bool,
}

impl FrameDecoder {
    pub fn new(bytes: Option<u64>, chunked: bool) -> FrameDecoder {
        FrameDecoder {
            chunked: chunked || bytes.is_none(),
            notes: None,
            left: bytes,
            header: [0; CHUNK_HEADER],
            come: 0,
            chunk_left: 0,
            chunk: None,
            coded: Vec::new(),
            unpacked: Vec::new(),
            given: 0,
            is_ended: false,
        }
    }

    /// Expects notes between chunks.
    pub fn with_notes(self) -> FrameDecoder {
        FrameDecoder { notes: Some(Vec::new()), ..self }
    }

    /// Takes the notes that have come.
    pub fn take_notes(&mut self) -> impl Iterator<Item = Note> {
        self.notes.iter_mut().flat_map(|notes| notes.drain(..))
    }

    /// Says what to do next.
    ///
    /// # Errors
    /// When the bytes that have come are not valid.
    pub fn next(&mut self) -> io::Result<Next> {
        if !self.chunked {
            let left = self.left.map_or(0, |left| usize::try_from(left).unwrap_or(usize::MAX));
            return Ok(if left == 0 { Next::Over } else { Next::Plain(left) });
        }
        // Behind a note comes another chunk, whose header may have come with it.
        while self.is_at_a_header() || self.is_at_the_end_of_a_chunk() {
            if self.is_at_a_header() {
                self.begin()?;
            } else if let Some((chunk, _)) = self.chunk {
                self.unpack(&chunk)?;
            }
        }
        Ok(match () {
            () if self.given < self.unpacked.len() => Next::Given,
            () if self.chunk_left > 0 => Next::Plain(self.chunk_left),
            () if self.chunk.is_some() => Next::Inside,
            () if self.is_ended || self.left == Some(0) => Next::Over,
            () => Next::Inside,
        })
    }

    fn is_at_a_header(&self) -> bool {
        let is_inside =
            self.chunk_left > 0 || self.chunk.is_some() || self.given < self.unpacked.len();
        !is_inside && self.come == CHUNK_HEADER
    }

    fn is_at_the_end_of_a_chunk(&self) -> bool {
        self.chunk.is_some_and(|(chunk, come)| come == chunk.coded as usize)
    }

    /// Begins the chunk whose header has come.
    fn begin(&mut self) -> io::Result<()> {
        self.come = 0;
        let chunk = ChunkHeader::decode(&self.header).map_err(invalid)?;
        if chunk == ChunkHeader::OF_NOTE {
            if self.notes.is_none() {
                return Err(invalid("a note in a flow without notes"));
            }
            self.coded.clear();
            self.coded.resize(NOTE, 0);
            self.chunk = Some((chunk, 0));
            return Ok(());
        }
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
            self.chunk_left = chunk.raw as usize;
        }
        Ok(())
    }

    fn unpack(&mut self, chunk: &ChunkHeader) -> io::Result<()> {
        self.chunk = None;
        if let (None, Some(notes), Some(bytes)) =
            (chunk.codec, &mut self.notes, self.coded.first_chunk())
        {
            notes.push(Note::decode(bytes).map_err(invalid)?);
            return Ok(());
        }
        self.given = 0;
        let Some(codec) = chunk.codec else { return Ok(()) };
        let (raw, sum) = (chunk.raw as usize, chunk.checksum);
        unpack(codec, &self.coded, raw, sum, &mut self.unpacked).map_err(invalid)
    }

    /// Returns at most `max` unpacked bytes of the flow.
    pub fn give(&mut self, max: usize) -> &[u8] {
        let from = self.given;
        self.given += max.min(self.unpacked.len() - from);
        &self.unpacked[from..self.given]
    }

    /// Where to read to. First `into`, which is no longer than what is left of the plain chunk, or the rest of the
    /// compressed chunk. If that ends the chunk, the next header follows, which saves a read.
    pub fn slices<'a>(&'a mut self, into: &'a mut [u8]) -> [IoSliceMut<'a>; 2] {
        let ends = self.chunk.is_some() || into.len() == self.chunk_left;
        let header = if self.chunked && ends { &mut self.header[self.come..] } else { &mut [] };
        let first = match self.chunk {
            Some((_, come)) => &mut self.coded[come..],
            None => into,
        };
        [IoSliceMut::new(first), IoSliceMut::new(header)]
    }

    /// `count` bytes were read into [`FrameDecoder::slices`], whose first slice had room for `room`. Returns how many
    /// of them are bytes of the flow.
    pub fn read(&mut self, count: usize, room: usize) -> usize {
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
                self.chunk_left -= first;
                first
            }
        }
    }

    /// Bytes that will come for certain before the decoder must look at a header.
    pub fn certain(&self) -> u64 {
        match (self.chunked, self.chunk) {
            (false, _) => self.left.unwrap_or(1),
            (true, Some((chunk, come))) => u64::from(chunk.coded) - come as u64,
            (true, None) => self.chunk_left as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes on the wire for `data`, written in pieces; `codec` gives the compressor at each position.
    fn sent(
        data: &[u8],
        piece: usize,
        bytes: Option<u64>,
        mut codec: impl FnMut(usize) -> Option<CodecName>,
    ) -> Vec<u8> {
        let mut out = FrameEncoder::new(bytes, true);
        let (mut wire, mut total) = (Vec::new(), Written::default());
        // A socket takes any number of bytes.
        let mut some = 1_usize;
        let mut write = |out: &mut FrameEncoder, data: &[u8]| {
            some = some.wrapping_mul(31).wrapping_add(7) % 5000 + 1;
            let all = [out.ahead(), data].concat();
            let written = some.min(all.len());
            wire.extend_from_slice(&all[..written]);
            let more = out.wrote(written);
            total = Written { bytes: total.bytes + more.bytes, wire: total.wire + more.wire };
        };
        let mut at = 0;
        while at < data.len() {
            let end = data.len().min(at + piece);
            match out.take(&data[at..end], codec(at)) {
                Taken::Copied(count) => at += count,
                Taken::Through(count) => {
                    let left = out.chunk_left;
                    write(&mut out, &data[at..at + count]);
                    at += left - out.chunk_left;
                }
                Taken::NotYet => write(&mut out, &[]),
                Taken::TooMany => panic!("not more than was said"),
            }
        }
        while !out.end(codec(at)).expect("nothing is missing") {
            write(&mut out, &[]);
        }
        assert_eq!(total, Written { bytes: data.len() as u64, wire: wire.len() as u64 });
        wire
    }

    /// The bytes that `wire` decodes to, read into buffers of `max` bytes.
    fn received(wire: &[u8], max: usize, bytes: Option<u64>) -> io::Result<Vec<u8>> {
        let mut incoming = FrameDecoder::new(bytes, true);
        let (mut out, mut wire) = (Vec::new(), wire);
        let mut buffer = vec![0; max];
        loop {
            let room = match incoming.next()? {
                Next::Over => return Ok(out),
                Next::Given => {
                    out.extend_from_slice(incoming.give(max));
                    continue;
                }
                Next::Plain(left) => left.min(max),
                Next::Inside => 0,
            };
            let mut slices = incoming.slices(&mut buffer[..room]);
            let room = slices[0].len();
            let count = io::Read::read_vectored(&mut wire, &mut slices)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let come = incoming.read(count, room);
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
    fn a_flow_arrives_unchanged_with_any_sequence_of_codecs() {
        let mut data = covey_codec::sample(400_001);
        data.extend(noise(300_000));
        data.extend(covey_codec::sample(100_000));
        for bytes in [None, Some(data.len() as u64)] {
            for (piece, max) in [(800_001, 70_000), (1000, 999), (65_536, 65_536), (100_000, 10)] {
                let steady = [None, Some(CodecName::Lz4), Some(CodecName::Lzf)];
                for codec in steady {
                    let wire = sent(&data, piece, bytes, |_| codec);
                    assert!(received(&wire, max, bytes).expect("no error") == data);
                    assert_eq!(wire.len() < data.len(), codec.is_some());
                }
                // The codec changes all the time.
                let told = |at: usize| [None, steady[1], None, steady[2]][at / 30_000 % 4];
                let wire = sent(&data, piece, bytes, told);
                assert!(received(&wire, max, bytes).expect("no error") == data);
            }
        }
    }

    #[test]
    fn a_flow_that_does_not_shrink_is_tried_rarely_and_costs_headers_only() {
        let data = noise(8 << 20);
        let wire = sent(&data, 64 << 10, Some(data.len() as u64), |_| Some(CodecName::Lz4));
        assert!(wire.len() - data.len() <= (data.len() / (64 << 10) + 20) * CHUNK_HEADER);
        let mut out = FrameEncoder::new(None, true);
        let mut trials = 0;
        for chunk in data.chunks(64 << 10) {
            trials += usize::from(out.trial.pause == 0);
            let Taken::Through(count) = out.take(chunk, Some(CodecName::Lz4)) else {
                panic!("it is copied")
            };
            assert_eq!(count, chunk.len());
            out.wrote(CHUNK_HEADER + count);
        }
        // At the beginning and after 1, 3 and 7 MiB.
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
        // More or fewer bytes than the flow was opened for.
        let sized = sent(&data, 64 << 10, Some(200_000), |_| None);
        assert!(received(&sized, 64 << 10, Some(199_999)).is_err());
        assert!(received(&sized, 64 << 10, Some(200_001)).is_err());
    }
}
