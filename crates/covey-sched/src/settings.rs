//! A policy's parameters as text, read with checks.

use covey_core::Codec;
use covey_core::suggest::nearest;
use covey_core::units::{self, QuantityError};
use covey_identify::Metric;

use crate::spec::{Param, SpecError, with_compress};

/// The values of one policy's parameters: what was given, else the default.
pub struct Settings {
    policy: &'static str,
    params: &'static [Param],
    /// A value for each of `params`.
    values: Vec<String>,
    /// Whether the value was given, for each of `params`.
    is_given: Vec<bool>,
    metric: Option<Metric>,
}

impl Settings {
    /// Reads `key=value,…` for the parameters of a policy.
    pub(crate) fn new(
        policy: &'static str,
        params: &'static [Param],
        given: &str,
    ) -> Result<Settings, SpecError> {
        let mut values: Vec<Option<String>> = vec![None; params.len()];
        for item in given.split(',').filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').ok_or_else(|| SpecError::Form {
                policy: policy.to_owned(),
                found: item.to_owned(),
            })?;
            let index = params.iter().position(|p| p.name == name).ok_or_else(|| {
                SpecError::UnknownParam {
                    policy,
                    param: name.to_owned(),
                    known: params.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
                    meant: nearest(name, with_compress(params).map(|p| p.name)),
                }
            })?;
            if values[index].replace(value.to_owned()).is_some() {
                return Err(SpecError::value(policy, name, value, "the parameter once"));
            }
        }
        let is_given = values.iter().map(Option::is_some).collect();
        let or_default = |(value, param): (Option<String>, &Param)| {
            value.unwrap_or_else(|| param.default.to_owned())
        };
        let values = values.into_iter().zip(params).map(or_default).collect();
        Ok(Settings { policy, params, values, is_given, metric: None })
    }

    /// Parameters and values, in the order in which they are listed.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let names = self.params.iter().map(|p| p.name.to_owned());
        names.zip(self.values.iter().cloned()).collect()
    }

    /// The text of a parameter, which must be one of the policy's.
    pub fn text(&self, name: &str) -> &str {
        let index = self.params.iter().position(|p| p.name == name);
        index.map_or("", |k| &self.values[k])
    }

    /// Sets a parameter that was not given. It must be one of the policy's.
    pub(crate) fn default_to(&mut self, name: &str, value: f64) {
        let index = self.params.iter().position(|p| p.name == name);
        if let Some(k) = index.filter(|&k| !self.is_given[k]) {
            self.values[k] = value.to_string();
        }
    }

    /// Sets the metric of a policy that identifies coflows.
    pub(crate) fn set_metric(&mut self, metric: Metric) {
        self.metric = Some(metric);
    }

    /// The metric, if one was set.
    pub(crate) fn metric(&self) -> Option<&Metric> {
        self.metric.as_ref()
    }

    /// The error for the value of a parameter.
    pub fn bad(&self, name: &str, expected: &str) -> SpecError {
        SpecError::value(self.policy, name, self.text(name), expected)
    }

    /// A whole number in a range.
    pub fn integer(&self, name: &str, min: u32, max: u32) -> Result<u32, SpecError> {
        let value = self.text(name).parse().ok().filter(|n| (min..=max).contains(n));
        value.ok_or_else(|| self.bad(name, &format!("a whole number from {min} to {max}")))
    }

    /// A number in a range.
    pub fn number(&self, name: &str, min: f64, max: f64) -> Result<f64, SpecError> {
        let value = self.text(name).parse().ok().filter(|n| (min..=max).contains(n));
        value.ok_or_else(|| self.bad(name, &format!("a number from {min} to {max}")))
    }

    /// A size in bytes, above zero.
    pub fn size(&self, name: &str) -> Result<f64, SpecError> {
        let size = units::parse_size(self.text(name));
        self.in_range(name, size, |s| s > 0.0, "a size above zero, like 10MiB")
    }

    /// A number of bytes, or 0.
    pub(crate) fn size_or_none(&self, name: &str) -> Result<f64, SpecError> {
        let size = units::parse_size(self.text(name));
        self.in_range(name, size, |_| true, "a size like 10MiB, or 0")
    }

    /// A duration in seconds, of at most a day.
    pub fn duration(&self, name: &str) -> Result<f64, SpecError> {
        let duration = units::parse_duration(self.text(name));
        self.in_range(
            name,
            duration,
            |d| d <= 86_400.0,
            "a duration of at most a day, like 8ms, or 0",
        )
    }

    /// A quantity, if it was read and is in range.
    fn in_range(
        &self,
        name: &str,
        read: Result<f64, QuantityError>,
        is_in_range: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<f64, SpecError> {
        match read {
            Ok(value) if is_in_range(value) => Ok(value),
            Ok(_) => Err(self.bad(name, expected)),
            Err(error) => Err(self.bad(name, &format!("{expected}{}", error.hint()))),
        }
    }

    /// A codec.
    pub(crate) fn codec(&self, name: &str) -> Result<Codec, SpecError> {
        Codec::parse(self.text(name)).map_err(|expected| self.bad(name, &expected))
    }

    /// One of several words, each with the value that it stands for.
    pub fn choice<T: Copy>(&self, name: &str, options: &[(&str, T)]) -> Result<T, SpecError> {
        let text = self.text(name);
        let found = options.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let words: Vec<&str> = options.iter().map(|(word, _)| *word).collect();
            self.bad(name, &words.join(" or "))
        })
    }
}
