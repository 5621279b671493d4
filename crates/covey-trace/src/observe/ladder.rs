//! The ladder: workloads whose coflows are ever harder to identify.
//!
//! CODA's paper tests "normal" and "challenging" workloads. The text at hand does not say how the
//! challenging ones are made; so the rungs here are our own. Each is one change to a workload, and
//! a way for its flows to appear.

use covey_core::suggest::{did_you_mean, nearest};
use covey_identify::Observed;

use super::flows::{Appearance, Labelled, appear, observe, start_as_observed};
use super::framework::Framework;
use crate::error::{TraceError, quote};
use crate::transform::{Scale, burst, scale};
use crate::workload::Workload;

/// When coflows arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// This many times as dense as in the trace.
    Denser(f64),
    /// This many at once, and those bursts this many times as dense as in the trace.
    Batches(usize, f64),
}

/// A rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rung {
    /// Short name.
    pub name: &'static str,
    /// When coflows arrive.
    pub arrivals: Arrivals,
    /// Noise of the start of each flow: standard deviation in seconds.
    pub noise_s: f64,
    /// Frameworks, mixed at random.
    pub frameworks: &'static [Framework],
    /// Applications of each framework.
    pub applications: u32,
}

use Arrivals::{Batches, Denser};
use Framework::{Collective, Hadoop, Spark, Unknown};

/// One framework each.
const MIXED: &[Framework] = &[Spark, Hadoop, Collective];

/// All rungs, from easy to contrived.
#[rustfmt::skip]
pub const LADDER: &[Rung] = &[
    new("trace", Denser(1.0), 0.0, &[Unknown], 1),
    new("noise", Denser(1.0), 0.050, &[Unknown], 1),
    new("denser", Denser(30.0), 0.0, MIXED, 8),
    new("mixed", Denser(1.0), 0.050, MIXED, 8),
    new("mixed-denser", Denser(30.0), 0.050, MIXED, 8),
    new("spark", Denser(30.0), 0.050, &[Spark], 8),
    new("collective", Denser(30.0), 0.050, &[Collective], 8),
    new("hadoop", Denser(30.0), 0.050, &[Hadoop], 1),
    new("batches", Batches(10, 1.0), 0.0, MIXED, 8),
    new("batches-noise", Batches(10, 1.0), 0.050, MIXED, 8),
    new("batches-hosts", Batches(10, 1.0), 0.0, &[Unknown], 1),
    new("contrived", Batches(10, 30.0), 0.200, MIXED, 2),
];

const fn new(
    name: &'static str,
    arrivals: Arrivals,
    noise_s: f64,
    frameworks: &'static [Framework],
    applications: u32,
) -> Rung {
    Rung { name, arrivals, noise_s, frameworks, applications }
}

/// The rung of this name.
///
/// # Errors
/// [`TraceError::Argument`] if there is none.
pub fn rung(name: &str) -> Result<&'static Rung, TraceError> {
    LADDER.iter().find(|rung| rung.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names = || LADDER.iter().map(|rung| rung.name);
        TraceError::Argument {
            argument: "--rung".to_owned(),
            expected: format!("one of {}", names().collect::<Vec<_>>().join(", ")),
            found: format!("{}{}", quote(name), did_you_mean(nearest(name, names()))),
        }
    })
}

impl Rung {
    /// The labelled flows of this rung, made of `workload`.
    ///
    /// # Errors
    /// [`TraceError::Argument`] for a rung whose numbers are out of range; none of [`LADDER`] is.
    pub fn flows(&self, workload: &Workload, seed: u64) -> Result<Labelled, TraceError> {
        Ok(observe(&self.arriving(workload)?, &self.appearance(seed)))
    }

    /// The same as a workload whose flows start with the noise of this rung, and its flows as they
    /// appear, in the order of the trace.
    ///
    /// # Errors
    /// As [`Rung::flows`].
    pub fn workload(
        &self,
        workload: &Workload,
        seed: u64,
    ) -> Result<(Workload, Vec<Observed>), TraceError> {
        let mut workload = self.arriving(workload)?;
        let flows = appear(&workload, &self.appearance(seed));
        start_as_observed(&mut workload, &flows);
        Ok((workload, flows))
    }

    /// `workload` with the arrivals of this rung.
    fn arriving(&self, workload: &Workload) -> Result<Workload, TraceError> {
        let faster = |workload: &Workload, k: f64| {
            scale(workload, Scale { time: 1.0 / k, size: 1.0, ports: None })
        };
        match self.arrivals {
            Denser(k) => faster(workload, k),
            Batches(m, k) => faster(&burst(workload, m)?, k),
        }
    }

    fn appearance(&self, seed: u64) -> Appearance<'static> {
        let Rung { frameworks, applications, noise_s, .. } = *self;
        Appearance { frameworks, applications, noise_s, seed }
    }
}
