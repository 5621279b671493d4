//! What a host has for compressing flows, and what compressing takes.

use covey_proto::{CodecName, Compressor, Processor};

/// The compressors of a host and the share of a processor that is there for them.
#[derive(Debug, Default)]
pub struct Compression {
    compressors: Vec<Compressor>,
    /// Share of a processor that is idle, from 0 to 1.
    idle: f64,
    /// Seconds of a processor that compressing has taken since the last
    /// [`Compression::take_used_s`].
    used_s: f64,
}

impl Compression {
    pub fn new(compressors: Vec<Compressor>) -> Compression {
        Compression { compressors, ..Compression::default() }
    }

    /// Whether the host can compress.
    pub fn is_possible(&self) -> bool {
        !self.compressors.is_empty()
    }

    /// Sets the idle share. Returns the message about it if the share has changed.
    pub fn set_idle(&mut self, idle: f64) -> Option<Processor> {
        let share = idle.clamp(0.0, 1.0);
        let has_changed = std::mem::replace(&mut self.idle, share) != share;
        has_changed.then_some(Processor { share, compressors: Vec::new() })
    }

    /// The message that describes the host to a coordinator that knows nothing of it.
    pub fn describe(&self) -> Processor {
        Processor { share: self.idle, compressors: self.compressors.clone() }
    }

    /// A flow scheduled with `codec` has sent `bytes` more, for which `wire` bytes went over the
    /// wire.
    pub fn count(&mut self, codec: Option<CodecName>, bytes: f64, wire: f64) {
        let compressor = self.compressors.iter().find(|it| Some(it.codec) == codec);
        if let Some(compressor) = compressor.filter(|_| wire < bytes) {
            self.used_s += bytes / compressor.speed;
        }
    }

    /// Takes the seconds of a processor that compressing has taken since the last call.
    pub fn take_used_s(&mut self) -> f64 {
        std::mem::take(&mut self.used_s)
    }
}
