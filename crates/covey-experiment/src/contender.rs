//! A policy that is to be simulated.

use covey_core::suggest::{did_you_mean, nearest};
use covey_core::{AnyPolicy, Codec, Compression};
use covey_emulate::Emulation;
use covey_sched::Built;
use covey_sim::Observer;

use crate::Error;

/// The baseline, where the user names none and it is there.
const BASELINE: &str = "fair";

/// A policy that is to be simulated.
pub struct Contender {
    /// As the user wrote it, [`normalized`](covey_sched::normalized()).
    pub label: String,
    /// The policy's name.
    pub name: String,
    /// Its parameters, defaults included.
    pub params: Vec<(String, String)>,
    /// How it has flows compressed, if it does.
    pub(crate) compression: Option<Compression>,
    /// What that means.
    pub(crate) policy: Simulated,
    /// Somebody who looks on.
    pub(crate) observer: Option<Box<dyn Observer + Send>>,
}

/// A policy in the exact simulator, or in another.
pub(crate) enum Simulated {
    Exactly(AnyPolicy),
    Emulated(Emulation),
}

impl Contender {
    /// A policy that is in no registry.
    pub fn new(name: &str, params: Vec<(String, String)>, policy: AnyPolicy) -> Contender {
        Contender {
            label: name.to_owned(),
            name: name.to_owned(),
            params,
            compression: None,
            policy: Simulated::Exactly(policy),
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
            policy: Simulated::Emulated(emulation),
            observer: None,
        }
    }

    /// The same with somebody who looks on while it is simulated exactly.
    #[must_use]
    pub fn watched_by(mut self, observer: Box<dyn Observer + Send>) -> Contender {
        self.observer = Some(observer);
        self
    }

    /// What flows are compressed with, if they are.
    pub fn codec(&self) -> Option<Codec> {
        self.compression.map(|compression| compression.codec)
    }

    /// The same with flows that are compressed by another codec, if they are at all.
    #[must_use]
    pub fn compressed_by(mut self, codec: Codec) -> Contender {
        if let (Some(compression), Simulated::Exactly(policy)) =
            (&mut self.compression, &mut self.policy)
        {
            compression.codec = codec;
            policy.codec_measured(codec);
        }
        self
    }

    /// Checks that the last of the policies is not among those before it.
    ///
    /// # Errors
    /// When it is.
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

/// The position of the baseline: the policy that was written as `name`, or else the only one of that
/// name. If none is given, it is `fair` where that is there, else the first.
///
/// # Errors
/// When the name means none, or several.
pub fn baseline(name: Option<&str>, contenders: &[Contender]) -> Result<usize, Error> {
    let labelled = |name: &str| contenders.iter().position(|c| c.label == name);
    let Some(name) = name else {
        return Ok(labelled(BASELINE).unwrap_or(0));
    };
    let name = &covey_sched::normalized(name);
    let named = contenders.iter().enumerate().filter(|(_, c)| c.name == *name);
    let named: Vec<usize> = named.map(|(place, _)| place).collect();
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
