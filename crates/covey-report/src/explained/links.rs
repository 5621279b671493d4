//! Names of links.

use covey_core::{Fabric, LinkId};
use covey_trace::Workload;

/// The name of a link: by the host where the trace names it.
pub(crate) fn link_name(workload: &Workload, fabric: &Fabric, link: LinkId) -> String {
    let host = fabric.port_of(link).and_then(|port| workload.host(port.0));
    match host {
        Some(host) if fabric.egress_links().contains(&link.index()) => format!("{host} up"),
        Some(host) => format!("{host} down"),
        None => fabric.link_name(link),
    }
}
