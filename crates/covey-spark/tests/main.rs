//! Logs are read: real ones, where they are, and such as tests make.

mod known;
mod made;
