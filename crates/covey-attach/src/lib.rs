//! Watches, paces and holds the TCP connections of programs that know nothing of Covey, and that
//! run already.
//!
//! | module | what |
//! |---|---|
//! | [`connection`] | a connection as the kernel shows it |
//! | [`sockets`] | asks the kernel for connections, and hears of those that end (INET_DIAG) |
//! | [`target`] | which processes, and which of their files are sockets |
//! | [`flows`] | what has happened to flows between two looks; without I/O |
//! | [`pace`] | sets the rate of a socket of another process |
//! | [`connects`] | notes when connections begin (BPF) |
//! | [`hold`] | keeps the data of sockets back (BPF) |
//! | [`bpf`] | what the programs of both need |
//! | [`attached`] | all of it, as an [`Enforcer`](covey_agent::Enforcer) |
//!
//! Nothing that is done to a socket outlives this process but its rate, which
//! [`attached::Attached`] takes back when it is dropped, and [`attached::release`] after a process
//! that was killed.

pub mod attached;
pub mod bpf;
pub mod connection;
pub mod connects;
pub mod flows;
pub mod hold;
pub mod pace;
pub mod sockets;
pub mod target;
