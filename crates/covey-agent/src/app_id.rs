//! How applications are told apart.

/// Number of an application's connection. No number is used twice.
pub type AppId = u64;
