//! What carries a schedule out.

use std::collections::BTreeMap;
use std::io::{self, Write};

use covey_proto::{CodecName, FlowKey};

use crate::agent::{Progress, Share};

/// Carries schedules out on a host, and knows what its flows do.
pub trait Enforcer: Send {
    /// These flows are to be served so from now on, and no others.
    ///
    /// # Errors
    /// When the host does not do it; the agent tells and goes on.
    fn apply(&mut self, holds: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()>;

    /// What has happened to the host's flows since this was last asked.
    fn progress(&mut self) -> Progress;

    /// Whether [`Enforcer::progress`] tells of all flows that are open, and all that they send: then flows that do
    /// not use what they get give it up.
    fn sees_uses(&self) -> bool {
        false
    }

    /// The ends of these flows are in the coordinator's journal.
    fn settled(&mut self, _keys: &[FlowKey]) {}

    /// What the coordinator may have flows compressed with, if with anything. Said when a session begins.
    fn may_compress(&mut self, _codec: Option<CodecName>) {}

    /// A session with the coordinator has begun, or is over.
    fn joined(&mut self, _joined: bool) {}
}

/// Enforces nothing: the agent only holds schedules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Enforcer for Nothing {
    fn apply(&mut self, _: (u64, u64), _: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        Progress::default()
    }
}

/// Enforces nothing and writes down what it would have: a line of JSON for each schedule.
#[derive(Debug)]
pub struct Recorded<W> {
    to: W,
}

impl<W: Write + Send> Recorded<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Recorded<W> {
        Recorded { to }
    }
}

impl<W: Write + Send> Enforcer for Recorded<W> {
    fn apply(&mut self, holds: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        write!(self.to, r#"{{"epoch":{},"version":{},"flows":["#, holds.0, holds.1)?;
        for (k, (key, share)) in flows.iter().enumerate() {
            let comma = if k == 0 { "" } else { "," };
            let (FlowKey { coflow, flow }, Share { layer, rate, codec }) = (key, share);
            write!(
                self.to,
                r#"{comma}{{"coflow":{coflow},"flow":{flow},"layer":{layer},"rate":{rate}"#
            )?;
            if let Some(codec) = codec {
                write!(self.to, r#","codec":"{}""#, codec.name())?;
            }
            write!(self.to, "}}")?;
        }
        writeln!(self.to, "]}}")?;
        self.to.flush()
    }

    fn progress(&mut self) -> Progress {
        Progress::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_a_line() {
        let mut written = Vec::new();
        let share = Share { layer: 2, rate: 1.5, codec: None };
        let lz4 = Share { codec: Some(CodecName::Lz4), ..share };
        let key = |flow| FlowKey { coflow: 7, flow };
        let flows = BTreeMap::from([(key(3), share), (key(4), lz4)]);
        Recorded::new(&mut written).apply((1, 2), &flows).expect("memory takes all");
        let line = concat!(
            r#"{"epoch":1,"version":2,"flows":[{"coflow":7,"flow":3,"layer":2,"rate":1.5},"#,
            r#"{"coflow":7,"flow":4,"layer":2,"rate":1.5,"codec":"lz4"}]}"#
        );
        assert_eq!(String::from_utf8(written).expect("text"), format!("{line}\n"));
    }
}
