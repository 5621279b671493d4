//! Background traffic: datagrams at a constant rate that belong to nobody.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use covey_client::set_datagram_size;

/// Bytes of a datagram's data: it fills a packet.
const DATA: usize = 1472;
/// Bytes of the packet on the link.
const PACKET: f64 = 1514.0;
/// Time between bursts of datagrams.
const TICK: Duration = Duration::from_millis(2);
/// Datagrams that the kernel takes at a time: packets that the machine passes on together cost it
/// as much as one. With one at a time, background of 50 % on eight links of 100 Mbit/s took a whole
/// core.
const TOGETHER: f64 = 10.0;

/// Accepts the datagrams that come to an address, and drops them.
///
/// # Errors
/// The address is taken.
pub fn drop_all(at: SocketAddr) -> std::io::Result<()> {
    let socket = UdpSocket::bind(at)?;
    std::thread::spawn(move || {
        let mut buffer = [0; DATA];
        // Errors come from datagrams that nobody accepted; they concern the sender only.
        loop {
            let _ = socket.recv(&mut buffer);
        }
    });
    Ok(())
}

/// Sends datagrams from a host to an address, `rate` bytes per second on the link, as long as this
/// process lives.
///
/// # Errors
/// The host has no such address.
pub fn send(from: IpAddr, to: SocketAddr, rate: f64) -> std::io::Result<()> {
    let socket = UdpSocket::bind(SocketAddr::new(from, 0))?;
    socket.connect(to)?;
    set_datagram_size(&socket, DATA as u16)?;
    std::thread::spawn(move || {
        let (begin, mut sent) = (Instant::now(), 0.0);
        let data = vec![0; DATA * TOGETHER as usize];
        loop {
            std::thread::sleep(TICK);
            let due = (begin.elapsed().as_secs_f64() * rate / PACKET).floor();
            // A process that was late for long does not make up for it.
            sent = f64::max(sent, due - 64.0);
            while sent + TOGETHER <= due {
                // A full queue drops datagrams, as a network would.
                let _ = socket.send(&data);
                sent += TOGETHER;
            }
        }
    });
    Ok(())
}
