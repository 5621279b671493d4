//! A policy's parameters as text, read with checks.

use covey_core::suggest::nearest;
use covey_core::{Codec, units};

use crate::registry::{Info, SpecError};

/// The values of one policy's parameters: what was given, else the default.
pub(crate) struct Settings {
    info: &'static Info,
    values: Vec<String>,
}

impl Settings {
    pub(crate) fn new(info: &'static Info, given: &str) -> Result<Settings, SpecError> {
        let mut values: Vec<Option<String>> = vec![None; info.params.len()];
        for item in given.split(',').filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').ok_or_else(|| SpecError::Form {
                policy: info.name.to_owned(),
                found: item.to_owned(),
            })?;
            let place = info.params.iter().position(|p| p.name == name).ok_or_else(|| {
                SpecError::UnknownParam {
                    policy: info.name,
                    param: name.to_owned(),
                    known: info.params.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
                    meant: nearest(name, info.all_params().map(|p| p.name)),
                }
            })?;
            if values[place].replace(value.to_owned()).is_some() {
                return Err(info.bad(name, value, "the parameter once"));
            }
        }
        let or_default = |(value, param): (Option<String>, &crate::Param)| {
            value.unwrap_or_else(|| param.default.to_owned())
        };
        let values = values.into_iter().zip(info.params).map(or_default).collect();
        Ok(Settings { info, values })
    }

    /// Parameters and values, in the order of the registry.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let names = self.info.params.iter().map(|p| p.name.to_owned());
        names.zip(self.values.iter().cloned()).collect()
    }

    /// The text of a parameter; every name asked for is one that the registry lists.
    pub(crate) fn text(&self, name: &str) -> &str {
        let place = self.info.params.iter().position(|p| p.name == name);
        place.map_or("", |k| &self.values[k])
    }

    pub(crate) fn bad(&self, name: &str, expected: &str) -> SpecError {
        self.info.bad(name, self.text(name), expected)
    }

    pub(crate) fn integer(&self, name: &str, min: u32, max: u32) -> Result<u32, SpecError> {
        let value = self.text(name).parse().ok().filter(|n| (min..=max).contains(n));
        value.ok_or_else(|| self.bad(name, &format!("a whole number from {min} to {max}")))
    }

    pub(crate) fn number(&self, name: &str, min: f64, max: f64) -> Result<f64, SpecError> {
        let value = self.text(name).parse().ok().filter(|n| (min..=max).contains(n));
        value.ok_or_else(|| self.bad(name, &format!("a number from {min} to {max}")))
    }

    /// A size in bytes, above zero.
    pub(crate) fn size(&self, name: &str) -> Result<f64, SpecError> {
        let size = units::parse_size(self.text(name)).ok().filter(|s| *s > 0.0);
        size.ok_or_else(|| self.bad(name, "a size above zero, like 10MiB"))
    }

    /// A duration in seconds, of at most a day.
    pub(crate) fn duration(&self, name: &str) -> Result<f64, SpecError> {
        let duration = units::parse_duration(self.text(name)).ok().filter(|d| *d <= 86_400.0);
        duration.ok_or_else(|| self.bad(name, "a duration of at most a day, like 8ms, or 0"))
    }

    pub(crate) fn codec(&self, name: &str) -> Result<Codec, SpecError> {
        Codec::parse(self.text(name)).map_err(|expected| self.bad(name, &expected))
    }

    pub(crate) fn choice<T: Copy>(
        &self,
        name: &str,
        options: &[(&str, T)],
    ) -> Result<T, SpecError> {
        let text = self.text(name);
        let found = options.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let words: Vec<&str> = options.iter().map(|(word, _)| *word).collect();
            self.bad(name, &words.join(" or "))
        })
    }
}
