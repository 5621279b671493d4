//! What readers of text files share: lines in bounded memory, files that may be compressed, and
//! errors that name a line and a field. Readers of other files than traces use it, too.

pub use crate::error::{Location, quote};
pub use crate::read::{Lines, decompressed};
