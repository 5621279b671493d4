//! A contender: a policy to simulate.

use covey_core::suggest::{did_you_mean, nearest};
use covey_core::{AnyPolicy, Codec, Compression};
use covey_emulate::Emulation;
use covey_sched::Built;
use covey_sim::Observer;

use crate::Error;

/// The policy that is the default baseline if it is a contender.
const BASELINE: &str = "fair";

/// A policy to simulate.
pub struct Contender {
    /// The policy as the user wrote it, [`normalized`](covey_sched::normalized()).
    pub label: String,
    /// The policy's name.
    pub name: String,
    /// The policy's parameters, defaults included.
    pub params: Vec<(String, String)>,
    /// How flows are compressed, if the policy compresses.
    pub(crate) compression: Option<Compression>,
    /// The measured speed and ratio of the hosts' compressor, if it was measured.
    pub(crate) measured_codec: Option<Codec>,
    /// The policy itself, for one of the simulators.
    pub(crate) policy: Simulated,
    /// Makes the policy again, if it is in the registry.
    pub(crate) again: Option<Box<dyn FnMut() -> AnyPolicy + Send>>,
    /// An observer of the exact simulation.
    pub(crate) observer: Option<Box<dyn Observer + Send>>,
}

/// A policy for the exact simulator or for an emulated one.
pub(crate) enum Simulated {
    Exactly(AnyPolicy),
    Emulated(Emulation),
}

impl Contender {
    /// A contender with a policy that is not in the registry.
    pub fn new(name: &str, params: Vec<(String, String)>, policy: AnyPolicy) -> Contender {
        Contender {
            label: name.to_owned(),
            name: name.to_owned(),
            params,
            compression: None,
            measured_codec: None,
            policy: Simulated::Exactly(policy),
            again: None,
            observer: None,
        }
    }

    pub(crate) fn built(spec: &str, built: Built) -> Contender {
        Contender {
            label: spec.to_owned(),
            compression: built.compression,
            ..Contender::new(built.info.name, built.params, built.policy)
        }
    }

    pub(crate) fn emulated(spec: &str, emulation: Emulation) -> Contender {
        Contender {
            label: spec.to_owned(),
            name: emulation.name().to_owned(),
            params: emulation.params().to_vec(),
            compression: None,
            measured_codec: None,
            policy: Simulated::Emulated(emulation),
            again: None,
            observer: None,
        }
    }

    /// Adds an observer of the exact simulation.
    #[must_use]
    pub fn watched_by(mut self, observer: Box<dyn Observer + Send>) -> Contender {
        self.observer = Some(observer);
        self
    }

    /// The codec that compresses flows, if the policy compresses.
    pub fn codec(&self) -> Option<Codec> {
        self.compression.map(|compression| compression.codec)
    }

    /// Replaces the codec by a measured one, if the policy compresses.
    #[must_use]
    pub fn compressed_by(mut self, codec: Codec) -> Contender {
        if let Some(compression) = &mut self.compression {
            compression.codec = codec;
            self.measured_codec = Some(codec);
        }
        self
    }

    /// Checks that the last contender differs from those before it.
    ///
    /// # Errors
    /// If another contender has the same label.
    pub fn check_differ(contenders: &[Contender]) -> Result<(), Error> {
        match contenders.split_last() {
            Some((last, before)) if before.iter().any(|c| c.label == last.label) => {
                let found = format!("'{}' twice", last.label);
                Err(Error::argument("policies", "each policy once", found))
            }
            _ => Ok(()),
        }
    }
}

/// The index of the baseline: the contender with the label `name`, or else the only one whose
/// policy has that name. Without a name it is `fair` if that is a contender, and the first
/// contender otherwise.
///
/// # Errors
/// If no contender has the name, or several have it.
pub fn baseline(name: Option<&str>, contenders: &[Contender]) -> Result<usize, Error> {
    let labelled = |name: &str| contenders.iter().position(|c| c.label == name);
    let Some(name) = name else {
        return Ok(labelled(BASELINE).unwrap_or(0));
    };
    let name = &covey_sched::normalized(name);
    let named = contenders.iter().enumerate().filter(|(_, c)| c.name == *name);
    let named: Vec<usize> = named.map(|(index, _)| index).collect();
    match (labelled(name), named.as_slice()) {
        (Some(one), _) | (None, &[one]) => Ok(one),
        (None, several) => {
            let labels: Vec<&str> = contenders.iter().map(|c| c.label.as_str()).collect();
            let expected = format!("one of {}", labels.join(" | "));
            let why = if several.is_empty() {
                did_you_mean(nearest(name, labels))
            } else {
                ", which may mean several".to_owned()
            };
            Err(Error::argument("baseline", expected, format!("'{name}'{why}")))
        }
    }
}
