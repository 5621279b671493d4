//! The ports at both ends of a flow.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::framework::Framework;
use crate::random::Random;

/// Linux's default range of ports that the kernel chooses.
const EPHEMERAL: RangeInclusive<u16> = 32_768..=60_999;
/// The default port of Hadoop's shuffle handler.
const SHUFFLE_HANDLER: u16 = 13_562;
/// A range reserved for training jobs.
const TRAINING: RangeInclusive<u16> = 50_000..=51_000;

/// Listening ports and kept connections of all applications.
pub(super) struct Ends {
    random: Random,
    /// Ports at which something listens, by host.
    taken: BTreeSet<(u32, u16)>,
    listening: BTreeMap<(Application, u32), u16>,
    /// The client's port of a kept connection, by application, server's host and client's host.
    connections: BTreeMap<(Application, u32, u32), u16>,
}

/// An application: whether it is a training job, and its number.
type Application = (bool, u32);

impl Ends {
    pub fn new(seed: u64) -> Ends {
        Ends {
            random: Random::new("covey ports", seed),
            taken: BTreeSet::new(),
            listening: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }

    /// The ports of the sender and of the receiver.
    pub fn ports(
        &mut self,
        framework: Framework,
        application: u32,
        src: u32,
        dst: u32,
    ) -> [u16; 2] {
        match framework {
            Framework::Unknown => [0, 0],
            Framework::Hadoop => [SHUFFLE_HANDLER, self.draw(EPHEMERAL)],
            Framework::Spark => {
                let application = (false, application);
                let server = self.listening(application, src, EPHEMERAL);
                [server, self.connection(application, src, dst, EPHEMERAL)]
            }
            Framework::Collective => {
                let application = (true, application);
                let server = self.listening(application, dst, TRAINING);
                [self.connection(application, dst, src, TRAINING), server]
            }
        }
    }

    /// The port at which the application listens on a host; no two listen at one port of a host.
    fn listening(&mut self, of: Application, host: u32, range: RangeInclusive<u16>) -> u16 {
        if let Some(&port) = self.listening.get(&(of, host)) {
            return port;
        }
        let mut port = self.draw(range.clone());
        while !self.taken.insert((host, port)) {
            port = self.draw(range.clone());
        }
        self.listening.insert((of, host), port);
        port
    }

    /// The client's port of the connection that the application keeps between two hosts.
    fn connection(
        &mut self,
        of: Application,
        server: u32,
        client: u32,
        range: RangeInclusive<u16>,
    ) -> u16 {
        let random = &mut self.random;
        *(self.connections.entry((of, server, client))).or_insert_with(|| draw(random, range))
    }

    fn draw(&mut self, range: RangeInclusive<u16>) -> u16 {
        draw(&mut self.random, range)
    }
}

fn draw(random: &mut Random, range: RangeInclusive<u16>) -> u16 {
    range.start() + random.below(u32::from(range.end() - range.start()) + 1) as u16
}
