//! Replays of logs that are known, and of such as tests make.

mod known;
