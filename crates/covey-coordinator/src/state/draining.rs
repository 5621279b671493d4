//! Ports whose hosts are to be stopped: they get no new flows.

use std::fmt::Display;

use covey_api::{DrainStatus, Flow, Problem};

use super::coordinator::CoordinatorState;
use super::effects::RequestId;
use crate::record::Record;
use crate::request::Reply;

impl CoordinatorState {
    /// A client asks about a port; it may want it to get no new flows from now on, or to get some
    /// again.
    pub(super) fn drain(
        &mut self,
        request: RequestId,
        port: u32,
        draining: Option<bool>,
    ) -> Result<(), Problem> {
        let ports = self.agents.ports();
        if port >= ports {
            let detail = format!("expected a port below {ports}, found {port}");
            return Err(Problem::new(404, "no such port", detail));
        }
        let draining = draining.filter(|draining| *draining != self.drained.contains(&port));
        let Some(draining) = draining else {
            self.effects.answer(request, Ok(Reply::Drain(self.drain_status(port))));
            return Ok(());
        };
        self.check_pending()?;
        self.journal_change(Record::Drain { port, draining }, Some(request), Vec::new());
        Ok(())
    }

    pub(super) fn apply_drain(&mut self, port: u32, draining: bool) {
        match draining {
            true => _ = self.drained.insert(port),
            false => _ = self.drained.remove(&port),
        }
    }

    /// Whether a port gets no new flows, and how many of its flows have not ended.
    pub(super) fn drain_status(&self, port: u32) -> DrainStatus {
        let coflows = self.coflows.at_port(port).filter_map(|serial| self.coflows.get(serial));
        let here = coflows.map(|coflow| {
            let unfinished = coflow.flows.unfinished();
            unfinished.filter(|(_, flow)| flow.src == port || flow.dst == port).count()
        });
        let here: Vec<usize> = here.filter(|count| *count > 0).collect();
        DrainStatus {
            port,
            draining: self.drained.contains(&port),
            coflows: here.len(),
            flows: here.iter().sum(),
        }
    }

    /// Refuses the flow `at` a place of a request, if one of its ports gets no new flows.
    pub(super) fn check_drained(&self, at: impl Display, flow: &Flow) -> Result<(), Problem> {
        for (end, port) in [("src", flow.src), ("dst", flow.dst)] {
            if self.drained.contains(&port) {
                let detail = format!("{at}.{end}: port {port} gets no new flows: it is drained");
                return Err(Problem::new(409, "port is drained", detail));
            }
        }
        Ok(())
    }
}
