//! The enforcer that carries nothing out and records schedules: a line of JSON each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use covey_proto::{FlowName, Service};

use super::setup::{EnforcerInfo, Make, Setup, SetupError};
use crate::enforcer::{CoordinatorEvent, Enforcer};
use crate::progress::Progress;

pub const INFO: EnforcerInfo = EnforcerInfo {
    name: "recorded",
    about: "Nothing carries schedules out, but they are written down",
    make: Make::Alone(make),
};

fn make(setup: &Setup) -> Result<Box<dyn Enforcer>, SetupError> {
    let missing = || SetupError::new("--record", "expected a file, found none");
    let path = setup.record.as_ref().ok_or_else(missing)?;
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|error| {
        SetupError::new("--record", format!("{} cannot be used: {error}", path.display()))
    })?;
    Ok(Box::new(Recorded { to: file }))
}

/// Writes schedules to `to`.
struct Recorded<W> {
    to: W,
}

impl<W: Write + Send> Enforcer for Recorded<W> {
    fn apply(&mut self, holds: (u64, u64), flows: &BTreeMap<FlowName, Service>) -> io::Result<()> {
        write!(self.to, r#"{{"epoch":{},"version":{},"flows":["#, holds.0, holds.1)?;
        for (k, (name, service)) in flows.iter().enumerate() {
            let comma = if k == 0 { "" } else { "," };
            let ((coflow, flow), Service { layer, rate, codec }) = (name.encoded(), service);
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

    fn sees_uses(&self) -> bool {
        false
    }

    fn heard(&mut self, _: CoordinatorEvent<'_>) {}
}

#[cfg(test)]
mod tests {
    use covey_proto::CodecName;

    use covey_proto::FlowKey;

    use super::*;

    #[test]
    fn a_schedule_is_a_line() {
        let mut written = Vec::new();
        let service = Service { layer: 2, rate: 1.5, codec: None };
        let lz4 = Service { codec: Some(CodecName::Lz4), ..service };
        let key = |flow| FlowName::Key(FlowKey { coflow: 7, flow });
        let flows = BTreeMap::from([(key(3), service), (key(4), lz4)]);
        Recorded { to: &mut written }.apply((1, 2), &flows).expect("memory takes all");
        let line = concat!(
            r#"{"epoch":1,"version":2,"flows":[{"coflow":7,"flow":3,"layer":2,"rate":1.5},"#,
            r#"{"coflow":7,"flow":4,"layer":2,"rate":1.5,"codec":"lz4"}]}"#
        );
        assert_eq!(String::from_utf8(written).expect("text"), format!("{line}\n"));
    }
}
