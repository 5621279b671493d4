//! The sending end of a flow's bytes.

use std::io::{self, IoSlice};

use covey_codec::{checksum, pack};
use covey_proto::{CHUNK_HEADER, ChunkHeader, CodecName, MAX_CHUNK, Note};

/// Bytes that are compressed at a time.
const GATHER: usize = 64 << 10;
/// Bytes that are compressed to find out whether a flow shrinks.
const SAMPLE: usize = 16 << 10;
/// Maximum number of bytes of a chunk of a flow with notes.
pub(crate) const MAX_NOTED_CHUNK: usize = 16 << 10;
/// Bytes of a flow that does not shrink until compression is tried again: at first, and at most.
const FIRST_PAUSE: u64 = 1 << 20;
const MAX_PAUSE: u64 = 64 << 20;

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
pub(super) struct Trial {
    /// Whether the last trial made the flow smaller.
    shrinks: bool,
    /// Bytes to send plain before the next trial.
    pub(super) pause: u64,
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
    pub(super) chunk_left: usize,
    pub(super) trial: Trial,
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

    /// Ends the flow, with an empty chunk if the header does not say how many bytes there are.
    /// Returns whether everything is written; if not, [`FrameEncoder::ahead`] must be written
    /// first.
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
