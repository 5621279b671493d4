//! The parameters.

use covey_trace::MB;

/// The key of a coflow, after the paper's Table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Estimated size.
    A,
    /// Estimated size less bytes sent.
    B,
    /// Contention. The queues have no effect: FIFO, and no pilots.
    C,
    /// For each port, the estimated length of a flow times the number of coflows at the port; the
    /// sum over ports. The length is the estimate less the smallest number of bytes ever recorded
    /// as sent by a flow of the port. These bytes are about the capacity of a cycle.
    D,
}

/// The order of ports with equally many pilots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// Reversed at each sort, as the stable sort of libstdc++ does with `<=`.
    Reversed,
    /// By number of port.
    ByPort,
}

/// The number of pilots of a coflow, at least one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pilots {
    /// This many.
    Const(usize),
    /// A share of its senders.
    Senders(f32),
    /// A share of its flows.
    Flows(f32),
}

/// The parameters; the defaults are the program's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The order of coflows.
    pub order: Order,
    /// The order of ports.
    pub ties: Ties,
    /// The number of pilots.
    pub pilots: Pilots,
    /// Width of the widest thin coflow.
    pub thin: usize,
    /// Number of main queues.
    pub queues: usize,
    /// Upper limit of the first main queue's keys, in bytes.
    pub q1: i64,
    /// Ratio of the limits of adjacent main queues.
    pub factor: i64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            order: Order::D,
            ties: Ties::Reversed,
            pilots: Pilots::Senders(0.05),
            thin: 7,
            queues: 10,
            q1: 10 * MB as i64,
            factor: 10,
        }
    }
}

impl Pilots {
    pub(super) fn number(self, senders: usize, flows: usize) -> usize {
        let share = |of: usize, share: f32| (of as f32 * share) as usize;
        let number = match self {
            Self::Const(number) => number,
            Self::Senders(part) => share(senders, part),
            Self::Flows(part) => share(flows, part),
        };
        number.clamp(1, flows)
    }

    /// `const:N`, `senders:X` or `flows:X`.
    fn parse(text: &str) -> Option<Self> {
        let (kind, number) = text.split_once(':')?;
        let share = || number.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        match kind {
            "const" => number.parse().ok().filter(|number| *number > 0).map(Self::Const),
            "senders" => share().map(Self::Senders),
            "flows" => share().map(Self::Flows),
            _ => None,
        }
    }
}

impl Parameters {
    /// Parses `key=value,…`; all other parameters have their defaults.
    ///
    /// # Errors
    /// The expected text, and the text found.
    pub(crate) fn parse(text: &str) -> Result<Self, (String, String)> {
        let mut with = Self::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            with.set(item).map_err(|expected| (expected.to_owned(), item.to_owned()))?;
        }
        Ok(with)
    }

    fn set(&mut self, item: &str) -> Result<(), &'static str> {
        let (key, value) = item.split_once('=').unwrap_or((item, ""));
        match key {
            "order" => {
                let orders = [("A", Order::A), ("B", Order::B), ("C", Order::C), ("D", Order::D)];
                self.order = named(&orders, value).ok_or("order=A, B, C or D")?;
            }
            "ties" => {
                let ties = [("reversed", Ties::Reversed), ("by-port", Ties::ByPort)];
                self.ties = named(&ties, value).ok_or("ties=reversed or by-port")?;
            }
            "pilots" => {
                let expected = "pilots=const:N, senders:X or flows:X";
                self.pilots = Pilots::parse(value).ok_or(expected)?;
            }
            "thin" => self.thin = value.parse().map_err(|_| "thin=N, a whole number")?,
            "K" => {
                let queues = value.parse().ok().filter(|n| (1..=64).contains(n));
                self.queues = queues.ok_or("K=N, a whole number from 1 to 64")?;
            }
            "q1" => {
                let mib = value.strip_suffix("MiB").and_then(|n| n.parse::<i64>().ok());
                let expected = "q1=NMiB, a whole number from 1 to 1000000";
                let mib = mib.filter(|n| (1..=1_000_000).contains(n)).ok_or(expected)?;
                self.q1 = mib * MB as i64;
            }
            "E" => {
                let factor = value.parse().ok().filter(|n| (2..=64).contains(n));
                self.factor = factor.ok_or("E=N, a whole number from 2 to 64")?;
            }
            _ => return Err("the parameters order, ties, pilots, thin, K, q1, E"),
        }
        Ok(())
    }

    /// All of them with the values in force, for reports.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let order = format!("{:?}", self.order);
        let ties = match self.ties {
            Ties::Reversed => "reversed",
            Ties::ByPort => "by-port",
        };
        let pilots = match self.pilots {
            Pilots::Const(number) => format!("const:{number}"),
            Pilots::Senders(share) => format!("senders:{share}"),
            Pilots::Flows(share) => format!("flows:{share}"),
        };
        let mib = self.q1 / MB as i64;
        let pairs = [
            ("order", order),
            ("ties", ties.to_owned()),
            ("pilots", pilots),
            ("thin", self.thin.to_string()),
            ("K", self.queues.to_string()),
            ("q1", format!("{mib}MiB")),
            ("E", self.factor.to_string()),
        ];
        pairs.map(|(key, value)| (key.to_owned(), value)).into()
    }
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}
