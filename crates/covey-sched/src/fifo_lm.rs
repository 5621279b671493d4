//! `fifo-lm`: first in, first out with limited multiplexing (Baraat, SIGCOMM 2014, §4).
//!
//! At each link coflows are served in order of arrival. A coflow that has sent more than a
//! threshold through the link is heavy, and no longer delays those behind it: the heavy coflows at
//! the head of the queue and the first one behind them that is not heavy share the link equally.
//! Every host, and every output port of every switch, decides alone, but all nodes know the order
//! of arrival.
//!
//! Baraat takes the 80th percentile of sizes as the threshold. A policy that does not know sizes
//! does not know this percentile either; the default is that of the public Facebook trace.
//!
//! With `tell=true` nodes send each other the coflows that they have found heavy. A coflow that is
//! heavy at one node is then heavy at all nodes after the message's delay.

use covey_core::{
    AnyPolicy, CoflowId, Criterion, LinkId, LocalPolicy, LocalView, NodeId, NodeLink, Outbox,
    Promises, Seen, Time,
};

use crate::info::Info;
use crate::local::Local;
use crate::spec::Param;

/// Values of the parameter `tell`.
const TELL: &[(&str, bool)] = &[("true", true), ("false", false)];

pub(crate) const INFO: Info = Info {
    name: "fifo-lm",
    knows: "unsized, local",
    summary: "order of arrival at each node; a heavy coflow shares with those behind it",
    params: &[
        Param {
            name: "heavy",
            default: "1160MiB",
            help: "bytes through a link from which on a coflow is heavy there; the default is the 80th percentile of sizes in the public Facebook trace",
        },
        Param {
            name: "tell",
            default: "false",
            help: "whether nodes tell each other which coflows are heavy: true or false",
        },
        Param { name: "latency", default: "1ms", help: "how long a message takes" },
    ],
    source: "Baraat (SIGCOMM 2014) 4: FIFO-LM",
    promises: |settings| {
        let is_local = !settings.choice("tell", TELL)?;
        Ok(Promises { starves_nobody: true, is_local, ..Promises::default() })
    },
    make: |settings| {
        let node = FifoLm {
            thresholds: [settings.size("heavy")?],
            tells: settings.choice("tell", TELL)?,
            told: Vec::new(),
        };
        Ok(AnyPolicy::NonClairvoyant(Box::new(Local::new(node, settings.duration("latency")?))))
    },
};

/// The id of a coflow that all nodes know.
type Name = (Time, u64);

#[derive(Clone)]
struct FifoLm {
    thresholds: [f64; 1],
    tells: bool,
    /// Coflows that this or another node has found heavy.
    told: Vec<Name>,
}

impl LocalPolicy for FifoLm {
    type Message = Name;

    fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    fn limit_reached(
        &mut self,
        _: LinkId,
        seen: &Seen,
        _: &LocalView<'_>,
        outbox: &mut Outbox<'_, Name>,
    ) {
        if self.tells && !self.told.contains(&seen.order) {
            self.told.push(seen.order);
            outbox.tell_all(seen.order);
        }
    }

    fn received(&mut self, _: NodeId, name: &Name, _: &LocalView<'_>) {
        if !self.told.contains(name) {
            self.told.push(*name);
        }
    }

    fn left(&mut self, seen: &Seen, _: &LocalView<'_>) {
        self.told.retain(|name| *name != seen.order);
    }

    fn ranked_by(&self, seen: &Seen) -> Vec<Criterion> {
        vec![Criterion::seconds("arrival", seen.order.0.as_secs())]
    }

    fn divide(&mut self, link: &NodeLink, _: &LocalView<'_>, parts: &mut Vec<(CoflowId, f64)>) {
        let is_heavy = |seen: &Seen| seen.thresholds_reached > 0 || self.told.contains(&seen.order);
        let line = &link.seen;
        let heavy = line.iter().take_while(|seen| is_heavy(seen)).count();
        let served = (heavy + 1).min(line.len());
        parts.extend(line[..served].iter().map(|seen| (seen.coflow, 1.0 / served as f64)));
    }
}
