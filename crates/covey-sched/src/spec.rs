//! A policy as users write it: `name:key=value,…`, its parameters, and what can be wrong with it.

use covey_core::suggest::did_you_mean;
use covey_core::units;
use thiserror::Error;

/// A parameter of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name, as in the paper.
    pub name: &'static str,
    /// Value when not given.
    pub default: &'static str,
    /// What it does, and the values it takes.
    pub help: &'static str,
}

impl Param {
    /// The unit of a number that a program passes, if the parameter is a quantity: `B` or `s`. The
    /// default shows it.
    pub fn unit(&self) -> Option<&'static str> {
        // Of what is no quantity, only 0 would be read as one.
        let is_quantity = |read: Result<f64, _>| read.is_ok() && self.default != "0";
        if is_quantity(units::parse_size(self.default)) {
            return Some("B");
        }
        is_quantity(units::parse_duration(self.default)).then_some("s")
    }
}

/// The parameter that every policy takes beside its own.
pub static COMPRESS: Param = Param {
    name: "compress",
    default: "none",
    help: "compress flows before they are sent, where that is faster: none, lz4, lzo, snappy, lzf, zstd, or SPEED:RATIO like 785MB/s:0.62",
};

/// Whether a policy with these parameters has a codec of its own.
pub(crate) fn has_codec(params: &[Param]) -> bool {
    params.iter().any(|param| param.name == "codec")
}

/// The parameters of a policy, and [`COMPRESS`] unless it has a codec of its own.
pub(crate) fn with_compress(params: &'static [Param]) -> impl Iterator<Item = &'static Param> {
    params.iter().chain((!has_codec(params)).then_some(&COMPRESS))
}

/// Why a policy cannot be made from a text.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SpecError {
    /// No such policy.
    #[error("unknown policy '{name}': expected one of {known}{}", did_you_mean(*.meant))]
    UnknownPolicy {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
        /// The policy that may be meant.
        meant: Option<&'static str>,
    },
    /// No name at all.
    #[error("expected the name of a policy, found nothing")]
    NoName,
    /// No such parameter.
    #[error("policy {policy}: unknown parameter '{param}': expected {}{}", if known.is_empty() { "none" } else { known }, did_you_mean(*.meant))]
    UnknownParam {
        /// The policy.
        policy: &'static str,
        /// What was given.
        param: String,
        /// All parameters.
        known: String,
        /// The parameter that may be meant.
        meant: Option<&'static str>,
    },
    /// Nothing after the colon or a comma.
    #[error("policy {policy}: found nothing after ':' or ',': expected key=value")]
    Nothing {
        /// The policy.
        policy: &'static str,
    },
    /// Not `key=value`.
    #[error("policy {policy}: found '{found}': expected key=value")]
    Form {
        /// The policy.
        policy: String,
        /// What was given.
        found: String,
    },
    /// A value out of range.
    #[error("policy {policy}: {param}={found}: expected {expected}")]
    Value {
        /// The policy.
        policy: &'static str,
        /// The parameter.
        param: String,
        /// What was given.
        found: String,
        /// What would have been right.
        expected: String,
    },
}

impl SpecError {
    /// The error for a value that a parameter does not take.
    pub(crate) fn value(
        policy: &'static str,
        param: &str,
        found: &str,
        expected: &str,
    ) -> SpecError {
        SpecError::Value {
            policy,
            param: param.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

/// A policy as [`build`](crate::build) reads it: the name in small letters unless it is a file's,
/// no blanks around names and parameters.
pub fn normalized(spec: &str) -> String {
    let (name, given) = spec.split_once(':').map_or((spec, None), |(n, given)| (n, Some(given)));
    // The name of a file stays.
    let is_file = name.trim().ends_with(".py");
    let mut normalized = name.trim().to_owned();
    if !is_file {
        normalized.make_ascii_lowercase();
    }
    if let Some(given) = given {
        let items: Vec<&str> = given.split(',').map(str::trim).collect();
        normalized.push(':');
        normalized.push_str(&items.join(","));
    }
    normalized
}

/// Splits `a,b:x=1,y=2,c` into `a`, `b:x=1,y=2` and `c`, each [`normalized`]: an item whose first
/// `:` or `=` is `=` continues the policy before it.
pub fn split_list(list: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for item in list.split(',').map(str::trim) {
        let continues = item.find([':', '=']).is_some_and(|at| item[at..].starts_with('='));
        match specs.last_mut() {
            Some(spec) if continues => {
                spec.push(if spec.contains(':') { ',' } else { ':' });
                spec.push_str(item);
            }
            _ => specs.push(normalized(item)),
        }
    }
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_unit_is_refused_where_a_parameter_has_one() {
        for info in crate::policies() {
            for param in info.all_params() {
                let refusal = crate::build(&format!("{}:{}=7", info.name, param.name)).err();
                let asks =
                    refusal.is_some_and(|error| error.to_string().contains("did you mean '7"));
                let what = format!("{} {}", info.name, param.name);
                assert_eq!(asks, param.unit().is_some() || param.name == "thresholds", "{what}");
            }
        }
    }

    #[test]
    fn lists_split_where_a_policy_begins() {
        assert_eq!(split_list("a,b:x=1,y=2,c"), ["a", "b:x=1,y=2", "c"]);
        assert_eq!(split_list("philae:pilots=senders:0.1,K=4"), ["philae:pilots=senders:0.1,K=4"]);
        assert_eq!(split_list("a,k=1"), ["a:k=1"]);
        assert_eq!(split_list("A, B: x=M, K=2,c "), ["a", "b:x=M,K=2", "c"]);
        assert_eq!(split_list("fair,./Mine.py:Own,K=2"), ["fair", "./Mine.py:Own,K=2"]);
    }
}
