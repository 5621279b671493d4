//! What has failed passes nothing until it returns.

use covey_core::{Fabric, LinkId, Time};
use covey_trace::{Happening, Part, Workload};

use crate::violation::Violation;

/// Bytes that rounding may let pass.
const SLACK: f64 = 1e-6;

/// The parts of a network that fail, and whether they have.
pub(crate) struct Failed {
    parts: Vec<FailingPart>,
    /// Time in seconds, index of the part, and whether it fails (or returns), in order of time.
    events: Vec<(f64, usize, bool)>,
    /// How many of the events have come.
    past: usize,
}

struct FailingPart {
    part: Part,
    links: Vec<LinkId>,
    is_down: bool,
}

impl Failed {
    pub fn new(workload: &Workload, fabric: &Fabric) -> Failed {
        let mut failed = Failed { parts: Vec::new(), events: Vec::new(), past: 0 };
        for event in &workload.events {
            let Some(part) = event.what.part() else { continue };
            let known = failed.parts.iter().position(|known| known.part == *part);
            let number = known.unwrap_or_else(|| {
                let links = links(part, fabric);
                failed.parts.push(FailingPart { part: part.clone(), links, is_down: false });
                failed.parts.len() - 1
            });
            let fails = matches!(event.what, Happening::Fail { .. });
            failed.events.push((event.at_s, number, fails));
        }
        failed.events.sort_by(|a, b| a.0.total_cmp(&b.0));
        failed
    }

    /// Checks the rates by link between two rounds.
    pub fn check(&mut self, rates: &[f64], from: Time, to: Time) -> Result<(), Violation> {
        let come = from.as_secs() + Time::RESOLUTION_S;
        while let Some(&(_, part, fails)) = self.events.get(self.past).filter(|it| it.0 <= come) {
            self.parts[part].is_down = fails;
            self.past += 1;
        }
        for FailingPart { part, links, .. } in self.parts.iter().filter(|part| part.is_down) {
            let passed = |link: &&LinkId| rates[link.index()] * (to - from) >= SLACK;
            if let Some(link) = links.iter().find(passed) {
                return Err(Violation(format!(
                    "{part:?} has failed, but {} bytes/s pass {link:?} from {from} to {to}",
                    rates[link.index()]
                )));
            }
        }
        Ok(())
    }
}

fn links(part: &Part, fabric: &Fabric) -> Vec<LinkId> {
    let all = (0..fabric.links() as u32).map(LinkId);
    let belongs = |&link: &LinkId| match part {
        Part::Host(port) => fabric.port_of(link).is_some_and(|of| of.0 == *port),
        Part::Link(name) => fabric.link_name(link) == *name,
    };
    all.filter(belongs).collect()
}
