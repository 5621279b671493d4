//! The ends of flows: ports by number, or hosts by name.

use std::collections::HashMap;
use std::fmt::{self, Display};

use covey_core::suggest::{did_you_mean, nearest};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_PORTS;
use crate::read::{Draft, check_name};
use crate::texts::Texts;

/// A port by its number, or the name of its host.
pub(super) enum End {
    Port(u32),
    Host(String),
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            End::Port(port) => serializer.serialize_u32(*port),
            End::Host(name) => serializer.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<End, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = End;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port, which is a whole number from 0 on, or the name of a host")
            }

            fn visit_u64<E: Error>(self, port: u64) -> Result<End, E> {
                let error = || E::invalid_value(serde::de::Unexpected::Unsigned(port), &self);
                u32::try_from(port).map(End::Port).map_err(|_| error())
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<End, E> {
                Ok(End::Host(name.to_owned()))
            }
        }
        from.deserialize_any(Either)
    }
}

/// The ports and hosts of a trace, as its header and its flows name them.
pub(super) struct Ends {
    /// Number of ports; nothing if the header does not say it.
    ports: Option<u32>,
    named: Named,
}

/// How ends are named.
enum Named {
    /// No end was read yet.
    Unknown,
    /// All are numbers.
    Numbers,
    /// All are names. Their numbers are provisional.
    Hosts(Texts),
    /// The header has the names by port, with their ports: an end may be either.
    Listed(Vec<String>, HashMap<String, u32>),
}

impl Ends {
    /// By the header. Its list has the names of the ports in order; empty ones are none.
    pub fn new(
        location: Location<'_>,
        ports: Option<u32>,
        listed: Option<Vec<String>>,
    ) -> Result<Ends, TraceError> {
        let ports = ports.or(listed.as_ref().map(|names| names.len() as u32));
        if let Some(ports) = ports.filter(|ports| !(1..=MAX_PORTS).contains(ports)) {
            let expected = format_args!("an integer from 1 to {MAX_PORTS}");
            return Err(location.bad("ports", expected, ports));
        }
        let Some(names) = listed else { return Ok(Ends { ports, named: Named::Unknown }) };
        let most = ports.unwrap_or(0);
        if names.len() > most as usize {
            let expected = format_args!("at most {most} names, as many as ports");
            return Err(location.bad("hosts", expected, names.len()));
        }
        let mut port_of = HashMap::new();
        for (port, name) in (0..).zip(&names).filter(|(_, name)| !name.is_empty()) {
            check_host(location, "hosts", name)?;
            if port_of.insert(name.clone(), port).is_some() {
                return Err(location.bad("hosts", "each name once", quote(name)));
            }
        }
        Ok(Ends { ports, named: Named::Listed(names, port_of) })
    }

    /// The number of an end, which is provisional if the header lists no hosts and ends are names.
    pub fn number(
        &mut self,
        location: Location<'_>,
        field: &dyn Display,
        end: &End,
    ) -> Result<u32, TraceError> {
        match (end, &mut self.named) {
            (End::Port(port), Named::Hosts(_)) => {
                let expected = format_args!("the name of a host, as before {BOTH}");
                Err(location.bad(field, expected, port))
            }
            (End::Host(name), Named::Numbers) => {
                let expected = format_args!("the number of a port, as before {BOTH}");
                Err(location.bad(field, expected, quote(name)))
            }
            (End::Port(port), named) => {
                if let Named::Unknown = named {
                    *named = Named::Numbers;
                }
                let Some(ports) = self.ports else {
                    let expected = "the name of a host, as the header has no \"ports\"";
                    return Err(location.bad(field, expected, port));
                };
                if *port >= ports {
                    let expected = format_args!("a port from 0 to {}", ports - 1);
                    return Err(location.bad(field, expected, port));
                }
                Ok(*port)
            }
            (End::Host(name), Named::Listed(names, port_of)) => {
                port_of.get(name).copied().ok_or_else(|| {
                    let near = nearest(name, names.iter().map(String::as_str));
                    let found = format!("{}{}", quote(name), did_you_mean(near));
                    location.bad(field, "one of the \"hosts\" of the header", found)
                })
            }
            (End::Host(name), Named::Hosts(hosts)) => {
                if let Some(number) = hosts.find(name) {
                    return Ok(number);
                }
                check_host(location, &field.to_string(), name)?;
                let most = self.ports.unwrap_or(MAX_PORTS);
                if hosts.len() >= most as usize {
                    let found = format_args!("one more, {}", quote(name));
                    return Err(location.bad(field, format_args!("at most {most} hosts"), found));
                }
                Ok(hosts.number(name))
            }
            (End::Host(_), Named::Unknown) => {
                self.named = Named::Hosts(Texts::default());
                self.number(location, field, end)
            }
        }
    }

    /// Puts hosts that flows name at the ports, in order of their names, and keeps all names.
    pub fn finish(self, location: Location<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let names = match self.named {
            Named::Listed(names, _) => names,
            Named::Hosts(hosts) => {
                let hosts = hosts.into_texts();
                let mut order: Vec<u32> = (0..hosts.len() as u32).collect();
                order.sort_unstable_by_key(|&number| &hosts[number as usize]);
                let mut port_of = vec![0; hosts.len()];
                for (port, &number) in (0..).zip(&order) {
                    port_of[number as usize] = port;
                }
                draft.rename_ports(|number| port_of[number as usize]);
                order.iter().map(|&number| hosts[number as usize].clone()).collect()
            }
            Named::Unknown | Named::Numbers => Vec::new(),
        };
        let ports = self.ports.or(Some(names.len() as u32).filter(|ports| *ports > 0));
        let Some(ports) = ports else {
            let expected = "the number of ports in the header, as no flow names a host";
            return Err(location.bad("ports", expected, "none"));
        };
        draft.set_hosts(ports, names);
        Ok(())
    }
}

/// How ends may be numbers and names.
const BOTH: &str = "(\"hosts\" in the header, the names by port, allow both)";

/// Checks the name of a host.
fn check_host(location: Location<'_>, field: &str, name: &str) -> Result<(), TraceError> {
    check_name(location, field, name)?;
    match name.contains(char::is_control) {
        true => Err(location.bad(field, "a name without control characters", quote(name))),
        false => Ok(()),
    }
}
