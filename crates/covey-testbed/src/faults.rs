//! Faults that are injected while a trace is replayed.

use std::str::FromStr;

use covey_core::units;

/// What a fault breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The coordinator is killed.
    Coordinator,
    /// The agent of a host is killed.
    Agent(u32),
    /// A host's link carries no packets.
    Link(u32),
    /// A host's agent and its application are killed.
    Host(u32),
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// What a fault breaks.
    pub what: Broken,
    /// Begin of the fault, in seconds after the first arrival.
    pub at_s: f64,
    /// Duration of the fault; `None` if it lasts to the end.
    pub for_s: Option<f64>,
}

/// The syntax of faults.
const FAULTS: &str =
    "coordinator@TIME+TIME, agent:HOST@TIME[+TIME], link:HOST@TIME+TIME or host:HOST@TIME";

impl Fault {
    /// The host of the fault, if it has one.
    pub fn host(&self) -> Option<u32> {
        match self.what {
            Broken::Coordinator => None,
            Broken::Agent(host) | Broken::Link(host) | Broken::Host(host) => Some(host),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let error = || format!("expected {FAULTS}, found '{text}'");
        let (what, when) = text.split_once('@').ok_or_else(error)?;
        let time = |text: &str| units::parse_duration(text).map_err(|e| error() + e.hint());
        let (at, lasts) =
            when.split_once('+').map_or((when, None), |(at, lasts)| (at, Some(lasts)));
        let (at_s, for_s) = (time(at)?, lasts.map(time).transpose()?);
        let what = match what.split_once(':') {
            None if what == "coordinator" => Broken::Coordinator,
            Some((kind, host)) => {
                let host = host.parse().map_err(|_| error())?;
                match kind {
                    "agent" => Broken::Agent(host),
                    "link" => Broken::Link(host),
                    "host" => Broken::Host(host),
                    _ => return Err(error()),
                }
            }
            None => return Err(error()),
        };
        let may_last = !matches!(what, Broken::Host(_));
        let must_last = matches!(what, Broken::Coordinator | Broken::Link(_));
        if for_s.is_some() && !may_last || for_s.is_none() && must_last {
            return Err(error());
        }
        Ok(Fault { what, at_s, for_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_parsed_and_invalid_ones_refused() {
        let fault = |what, at_s, for_s| Ok(Fault { what, at_s, for_s });
        assert_eq!("coordinator@5s+10s".parse(), fault(Broken::Coordinator, 5.0, Some(10.0)));
        assert_eq!("agent:3@500ms".parse(), fault(Broken::Agent(3), 0.5, None));
        assert_eq!("link:0@1s+2s".parse(), fault(Broken::Link(0), 1.0, Some(2.0)));
        assert_eq!("host:15@1min".parse(), fault(Broken::Host(15), 60.0, None));
        for wrong in [
            "",
            "host",
            "host:1",
            "host:1@1s+1s",
            "link:1@1s",
            "coordinator@1s",
            "disk@1s",
            "agent:x@1s",
        ] {
            let error = wrong.parse::<Fault>().expect_err(wrong);
            assert!(error.contains("expected coordinator@TIME"), "{error}");
        }
    }
}
