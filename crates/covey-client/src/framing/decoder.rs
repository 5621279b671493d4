//! The receiving end of a flow's bytes.

use std::io::{self, IoSliceMut};

use covey_codec::unpack;
use covey_proto::{CHUNK_HEADER, ChunkHeader, NOTE, Note};

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
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
    /// Bytes of the flow after the current chunk, if the header says how many there are; without
    /// chunks, all bytes that have not come.
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

    /// Where to read to. First `into`, which is no longer than what is left of the plain chunk, or
    /// the rest of the compressed chunk. If that ends the chunk, the next header follows, which
    /// saves a read.
    pub fn slices<'a>(&'a mut self, into: &'a mut [u8]) -> [IoSliceMut<'a>; 2] {
        let ends = self.chunk.is_some() || into.len() == self.chunk_left;
        let header = if self.chunked && ends { &mut self.header[self.come..] } else { &mut [] };
        let first = match self.chunk {
            Some((_, come)) => &mut self.coded[come..],
            None => into,
        };
        [IoSliceMut::new(first), IoSliceMut::new(header)]
    }

    /// `count` bytes were read into [`FrameDecoder::slices`], whose first slice had room for
    /// `room`. Returns how many of them are bytes of the flow.
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
