//! TCP connections from the kernel, by INET_DIAG.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_FIN_WAIT2};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr as NetlinkAddress};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::connection::Connection;
use crate::connects::Established;

/// Groups of messages about sockets that are destroyed (`linux/sock_diag.h`): TCP over IPv4, and
/// over IPv6.
const DESTROYED: [u32; 2] = [1, 3];

/// Where `max_pacing_rate`, `bytes_acked`, `busy_time`, `bytes_sent` and `bytes_retrans` are in
/// `struct tcp_info` (`linux/tcp.h`).
const MAX_PACE: Range<usize> = 112..120;
const ACKNOWLEDGED: Range<usize> = 120..128;
const BUSY: Range<usize> = 168..176;
const SENT: Range<usize> = 200..208;
const SENT_AGAIN: Range<usize> = 208..216;

/// Room for messages about destroyed sockets between two looks: 32,000 of them.
const ROOM: usize = 16 << 20;

/// The kernel's sockets.
pub struct Sockets {
    asked: Socket,
    destroyed: Option<Socket>,
    buffer: Vec<u8>,
}

impl Sockets {
    /// Opens the way to the kernel. Without CAP_NET_ADMIN it does not tell of sockets that are
    /// destroyed: the end of a connection is then seen at the next look, with what it had sent at
    /// the last.
    ///
    /// # Errors
    /// When the kernel has no INET_DIAG.
    pub fn open() -> io::Result<Sockets> {
        Sockets::with_room(ROOM)
    }

    fn with_room(room: usize) -> io::Result<Sockets> {
        let mut asked = Socket::new(NETLINK_SOCK_DIAG)?;
        asked.bind_auto()?;
        asked.connect(&NetlinkAddress::new(0, 0))?;
        Ok(Sockets { asked, destroyed: destroyed(room).ok(), buffer: vec![0; 1 << 16] })
    }

    /// Whether the kernel tells of every connection that ends.
    pub fn sees_ends(&self) -> bool {
        self.destroyed.is_some()
    }

    /// All connections that are open in this network namespace.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn list(&mut self) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            self.ask(family, id, NLM_F_DUMP)?;
            self.answers(&mut found)?;
        }
        Ok(found)
    }

    /// A connection, if it is open.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn find(&mut self, established: &Established) -> io::Result<Option<Connection>> {
        let Established { cookie, local, remote } = *established;
        let (family, mut id) = match local {
            SocketAddr::V4(_) => (AF_INET, SocketId::new_v4()),
            SocketAddr::V6(_) => (AF_INET6, SocketId::new_v6()),
        };
        (id.source_address, id.source_port) = (local.ip(), local.port());
        (id.destination_address, id.destination_port) = (remote.ip(), remote.port());
        id.cookie = cookie.to_ne_bytes();
        self.ask(family, id, 0)?;
        let mut found = Vec::new();
        let count = self.asked.recv(&mut &mut self.buffer[..], 0)?;
        match read(&self.buffer[..count], &mut found) {
            Ok(_) => Ok(found.pop()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn ask(&mut self, family: u8, socket_id: SocketId, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let states = StateFlags::ESTABLISHED
            | StateFlags::FIN_WAIT1
            | StateFlags::FIN_WAIT2
            | StateFlags::CLOSE_WAIT
            | StateFlags::LAST_ACK
            | StateFlags::CLOSING;
        let request = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO,
            states,
            socket_id,
        };
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.asked.send(&bytes, 0).map(|_| ())
    }

    fn answers(&mut self, found: &mut Vec<Connection>) -> io::Result<()> {
        loop {
            let count = self.asked.recv(&mut &mut self.buffer[..], 0)?;
            if read(&self.buffer[..count], found)? {
                return Ok(());
            }
        }
    }

    /// The connections that have ended since this was last called, with all that they have sent. If
    /// so many have ended that the kernel had no room for them, some are missing, and the log says
    /// so.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn take_ended(&mut self) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        let Some(destroyed) = &mut self.destroyed else { return Ok(found) };
        loop {
            match destroyed.recv(&mut &mut self.buffer[..], 0) {
                Ok(count) => _ = read(&self.buffer[..count], &mut found)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(found),
                Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {
                    tracing::warn!(
                        "very many connections have ended, and the kernel did not tell of all of them"
                    );
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn destroyed(room: usize) -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    DESTROYED.iter().try_for_each(|group| socket.add_membership(*group))?;
    socket.set_non_blocking(true)?;
    // In a container this one may hear of them and not have more room than other processes.
    if sockopt::set_socket_recv_buffer_size_force(&socket, room).is_err() {
        socket.set_rx_buf_sz(room)?;
    }
    Ok(socket)
}

/// Reads the messages of a datagram. Returns whether the answer is complete.
fn read(datagram: &[u8], found: &mut Vec<Connection>) -> io::Result<bool> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let length = (message.header.length as usize).next_multiple_of(4).max(1);
        match message.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                found.extend(connection(&response));
            }
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(false)
}

/// `None` for a socket without TCP's numbers.
fn connection(response: &InetResponse) -> Option<Connection> {
    let id = &response.header.socket_id;
    let info = response.nlas.iter().find_map(|nla| match nla {
        Nla::TcpInfo(info) => Some(info),
        _ => None,
    })?;
    let number = |at: Range<usize>| Some(u64::from_ne_bytes(info.get(at)?.try_into().ok()?));
    // The first and the last packet of a connection are acknowledged as a byte each. What is sent
    // counts data alone, but counts it again when it is sent again.
    let again = number(SENT_AGAIN).unwrap_or(0);
    let sent = number(SENT).map_or(u64::MAX, |sent| sent.saturating_sub(again));
    let acknowledged = number(ACKNOWLEDGED)?.min(sent);
    // An address of IPv4 may be mapped into IPv6.
    let end = |ip: std::net::IpAddr, port| SocketAddr::new(ip.to_canonical(), port);
    Some(Connection {
        cookie: u64::from_ne_bytes(id.cookie),
        inode: response.header.inode,
        local: end(id.source_address, id.source_port),
        remote: end(id.destination_address, id.destination_port),
        acknowledged,
        is_over: response.header.state == TCP_FIN_WAIT2,
        is_idle: response.header.send_queue == 0,
        busy_us: number(BUSY).unwrap_or(0),
        max_pace: number(MAX_PACE)?,
        begun: None,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn more_ends_than_there_is_room_for_are_no_error() {
        let mut sockets = Sockets::with_room(0).expect("INET_DIAG");
        let needs_all =
            std::env::var_os("SKIP_NOTHING").is_some() && rustix::process::geteuid().is_root();
        assert!(sockets.sees_ends() || !needs_all, "without CAP_NET_ADMIN");
        if !sockets.sees_ends() {
            eprintln!("skipped: this takes CAP_NET_ADMIN");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        for _ in 0..50 {
            drop(TcpStream::connect(listener.local_addr().expect("an address")).expect("room"));
            drop(listener.accept().expect("a connection"));
        }
        let told = sockets.take_ended().expect("no error").len();
        assert!(told < 100, "{told}: there was room");
        // And it goes on.
        assert!(sockets.take_ended().is_ok() && sockets.list().is_ok());
    }
}
