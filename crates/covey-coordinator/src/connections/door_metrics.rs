//! What doors have counted, in the text format of Prometheus.

use std::fmt::Write;

use covey_door::{Door, Occupancy, Reason};

/// The type of answers in that format.
pub(crate) const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Connections and refusals of doors.
pub(crate) fn write_doors(doors: &[&Door], out: &mut String) {
    let name = "covey_connections";
    let help = "Connections that are open, by whether they have shown a credential.";
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
    for door in doors {
        let Occupancy { authenticated, unauthenticated } = door.occupancy();
        for (state, count) in
            [("authenticated", authenticated), ("unauthenticated", unauthenticated)]
        {
            let door = door.refusals().door();
            let _ = writeln!(out, "{name}{{door=\"{door}\",state=\"{state}\"}} {count}");
        }
    }
    let name = "covey_refusals_total";
    let help = "Connections and requests that were refused, by reason.";
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
    for refusals in doors.iter().map(|door| door.refusals()) {
        for reason in Reason::ALL {
            let (door, why, count) = (refusals.door(), reason.name(), refusals.count(reason));
            let _ = writeln!(out, "{name}{{door=\"{door}\",reason=\"{why}\"}} {count}");
        }
    }
}
