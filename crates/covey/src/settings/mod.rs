//! Options of commands from a file.
//!
//! What a file says becomes arguments as if the user had written them, so that every check of
//! arguments holds for it, too. Nothing here names an option: all are found by walking the
//! arguments that the parser knows.

mod given;
mod option;
mod table;

pub use given::{Given, Origin, locate};
pub use option::{Kind, ONCE, Setting, settings};
pub use table::{Content, Entry, at, entries, read};
