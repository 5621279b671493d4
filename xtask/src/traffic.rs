//! Programs that know nothing of Covey and send over many sockets, for `measure attach`. Each runs
//! in a network namespace, and prints `ready` once all its connections are there.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::Subcommand;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::Result;

/// What such a program does.
#[derive(Subcommand)]
pub enum Traffic {
    /// Accept connections, and throw away what comes
    Sink {
        /// Where to listen
        address: SocketAddr,
    },
    /// Open many connections, each of which sends a kilobyte now and then
    Crowd {
        /// Where the sink is
        address: SocketAddr,
        /// How many connections
        count: u32,
        /// How often each sends
        pause_s: f64,
    },
    /// Send as fast as the connections can; print the bytes that were sent
    Stream {
        /// Where the sink is
        address: SocketAddr,
        /// How many connections
        count: u32,
        /// How long
        seconds: f64,
    },
}

impl Traffic {
    /// Sends or receives.
    pub fn run(self) -> Result {
        match self {
            Self::Sink { address } => sink(address)?,
            Self::Crowd { address, count, pause_s } => crowd(address, count, pause_s)?,
            Self::Stream { address, count, seconds } => {
                say(stream(address, count, Duration::from_secs_f64(seconds))?)?;
            }
        }
        Ok(())
    }
}

/// Prints a line at once.
fn say(line: impl std::fmt::Display) -> io::Result<()> {
    println!("{line}");
    io::stdout().flush()
}

/// Connections that are waited for together, each with its number.
struct Waiting {
    epoll: rustix::fd::OwnedFd,
    events: Vec<epoll::Event>,
}

impl Waiting {
    fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(1024) })
    }

    fn add(
        &self,
        what: impl rustix::fd::AsFd,
        number: u64,
        flags: epoll::EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, what, epoll::EventData::new_u64(number), flags)?)
    }

    /// The numbers of those that can go on, after a tenth of a second at most.
    fn ready(&mut self) -> io::Result<Vec<u64>> {
        let most = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        self.events.clear();
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&most))?;
        Ok(self.events.iter().map(|event| event.data.u64()).collect())
    }
}

fn sink(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let mut waiting = Waiting::new()?;
    let mut connections: HashMap<u64, TcpStream> = HashMap::new();
    let mut room = vec![0; 1 << 20];
    waiting.add(&listener, 0, epoll::EventFlags::IN)?;
    say("ready")?;
    for next in 1.. {
        for number in waiting.ready()? {
            match connections.get_mut(&number) {
                None => {
                    let connection = listener.accept()?.0;
                    waiting.add(&connection, next, epoll::EventFlags::IN)?;
                    connections.insert(next, connection);
                }
                Some(connection) => {
                    if connection.read(&mut room).unwrap_or(0) == 0 {
                        connections.remove(&number);
                    }
                }
            }
        }
    }
    Ok(())
}

fn crowd(address: SocketAddr, count: u32, pause_s: f64) -> io::Result<()> {
    let connections = connect(address, count)?;
    let pause = Duration::from_secs_f64(pause_s) / count;
    say("ready")?;
    loop {
        for mut connection in &connections {
            connection.write_all(&[0; 1000])?;
            thread::sleep(pause);
        }
    }
}

fn stream(address: SocketAddr, count: u32, time: Duration) -> io::Result<usize> {
    let connections = connect(address, count)?;
    let mut waiting = Waiting::new()?;
    for (number, connection) in (0..).zip(&connections) {
        connection.set_nonblocking(true)?;
        waiting.add(connection, number, epoll::EventFlags::OUT)?;
    }
    say("ready")?;
    let (begin, mut sent) = (Instant::now(), 0);
    while begin.elapsed() < time {
        for number in waiting.ready()? {
            match (&connections[number as usize]).write(&[0; 65536]) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(sent)
}

fn connect(address: SocketAddr, count: u32) -> io::Result<Vec<TcpStream>> {
    (0..count).map(|_| TcpStream::connect(address)).collect()
}
