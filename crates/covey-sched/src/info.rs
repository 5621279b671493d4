//! An entry of the registry.

use covey_core::{AnyPolicy, Promises};

use crate::settings::Settings;
use crate::spec::{Param, SpecError, with_compress};

/// What is known of a policy before one is made.
#[derive(Clone, Copy)]
pub struct Info {
    /// Name on the command line.
    pub name: &'static str,
    /// What it knows with default parameters: `sized`, `unsized` or `unlabelled`, followed by
    /// `local` if each node decides by itself.
    pub knows: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Its own parameters, in the order in which they are listed.
    pub params: &'static [Param],
    /// The publication it comes from.
    pub source: &'static str,
    /// What the policy promises with checked values of `params`.
    pub promises: fn(&Settings) -> Result<Promises, SpecError>,
    /// Makes the policy from checked values of `params`.
    pub make: fn(&Settings) -> Result<AnyPolicy, SpecError>,
}

impl Info {
    /// Its own parameters, and `compress`, which all policies take. A policy with a parameter
    /// `codec` has no `compress`.
    pub fn all_params(&self) -> impl Iterator<Item = &'static Param> {
        with_compress(self.params)
    }
}
