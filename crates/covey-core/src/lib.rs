//! The vocabulary of coflow scheduling.
