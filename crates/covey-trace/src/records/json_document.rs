//! JSON of any shape and size, read value by value: an array or an object over any number of lines,
//! or several of them.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::marker::PhantomData;
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use super::draft::Draft;
use crate::error::{Location, TraceError, escape};

/// Most bytes between two records.
const MAX_BYTES: u64 = 16 << 20;

/// Values of a document.
pub(super) trait Shape {
    /// Reads a value, and adds its records.
    fn read<'de, D: Deserializer<'de>>(
        document: &mut Document<'_>,
        value: D,
    ) -> Result<(), D::Error>;
}

/// What the values of a document are added to.
pub(super) struct Document<'a> {
    pub draft: &'a mut Draft,
    /// Who recorded what follows.
    pub exporter: u32,
    name: &'a str,
    at: Rc<At>,
    /// The error of a record, which ends the reading.
    error: Option<TraceError>,
}

/// How far a document is read.
#[derive(Default)]
struct At {
    /// Ends of lines.
    lines: Cell<u64>,
    /// Bytes since the last record.
    bytes: Cell<u64>,
}

impl<'a> Document<'a> {
    /// Adds a record, and passes over a broken one, if told so.
    pub fn add<E: Error>(
        &mut self,
        record: impl FnOnce(Location<'a>, &mut Document<'a>) -> Result<(), TraceError>,
    ) -> Result<(), E> {
        self.at.bytes.set(0);
        let result = record(self.location(), self);
        self.draft.accept(result).map_err(|error| {
            self.error = Some(error);
            E::custom("a broken record")
        })
    }

    fn location(&self) -> Location<'a> {
        Location { name: self.name, line: self.at.lines.get() + 1 }
    }
}

/// Reads all values of a source.
pub(super) fn read<S: Shape>(
    source: &mut dyn BufRead,
    name: &str,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let at = Rc::new(At::default());
    let mut json = serde_json::Deserializer::from_reader(Bounded { source, at: Rc::clone(&at) });
    let mut document = Document { draft, exporter: 0, name, at, error: None };
    while json.end().is_err() {
        if let Err(error) = S::read(&mut document, &mut json) {
            return Err(match document.error.take() {
                Some(error) => error,
                None => wrong(document.location(), error),
            });
        }
    }
    Ok(())
}

/// The error for text that is no JSON, or has values of another kind.
fn wrong(location: Location<'_>, error: serde_json::Error) -> TraceError {
    if error.is_io() {
        return TraceError::io(location.name, error.into());
    }
    let line = Location { line: (error.line() as u64).max(1), ..location };
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let found = format!("{} (column {})", escape(text, 100), error.column());
    line.bad("record", "the JSON of flow logs", found)
}

/// Reads each element of an array.
pub(super) fn elements<'de, S: Shape, D: Deserializer<'de>>(
    document: &mut Document<'_>,
    array: D,
) -> Result<(), D::Error> {
    array.deserialize_seq(Elements::<S>(document, PhantomData))
}

/// A value of a shape, inside another value.
pub(super) struct Seed<'d, 'a, S>(&'d mut Document<'a>, PhantomData<S>);

impl<'d, 'a, S> Seed<'d, 'a, S> {
    pub fn new(document: &'d mut Document<'a>) -> Seed<'d, 'a, S> {
        Seed(document, PhantomData)
    }
}

impl<'de, S: Shape> DeserializeSeed<'de> for Seed<'_, '_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        S::read(self.0, value)
    }
}

struct Elements<'d, 'a, S>(&'d mut Document<'a>, PhantomData<S>);

impl<'de, S: Shape> Visitor<'de> for Elements<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while array.next_element_seed(Seed::<S>::new(self.0))?.is_some() {}
        Ok(())
    }
}

/// A source that counts lines, and refuses to read far without a record.
struct Bounded<'a> {
    source: &'a mut dyn BufRead,
    at: Rc<At>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        let lines = buffer[..bytes].iter().filter(|byte| **byte == b'\n').count();
        self.at.lines.set(self.at.lines.get() + lines as u64);
        self.at.bytes.set(self.at.bytes.get() + bytes as u64);
        if self.at.bytes.get() > MAX_BYTES {
            let error = format!("expected a record in each {} MiB, found none", MAX_BYTES >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(bytes)
    }
}
