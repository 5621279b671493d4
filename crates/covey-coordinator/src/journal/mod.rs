//! The journal: an append-only file of records, each with its length and checksums.
//!
//! This is a log rather than an embedded store, because it is only ever read as a whole, once, at
//! the start. An index would be written and never used.
//!
//! [`format`] has the layout. Records of a group are written at once and synchronised once. A torn
//! end was never acknowledged: it is put aside, if there is room, and the file is cut there. A
//! damaged journal is refused; [`repair`] is for its operator.

mod backup;
mod error;
mod files;
mod format;
mod lock;
mod marks;
mod reader;
mod repair;
mod store;

#[cfg(test)]
mod tests;

pub use backup::{Copied, restore, snapshot};
pub use error::JournalError;
pub use repair::{Damage, Inspection, Repaired, inspect, repair};
pub use store::Journal;
