//! All policies by name, with their parameters and where they come from.

use std::sync::OnceLock;

use covey_core::suggest::nearest;
use covey_core::{AnyPolicy, Codec, Compression, Promises};
use covey_identify::Metric;
use thiserror::Error;

use crate::info::Info;
use crate::settings::Settings;
use crate::spec::{COMPRESS, SpecError, has_codec, normalized};
use crate::{coda, compressed, fvdf};

/// A policy made by [`build`].
pub struct Built {
    /// Its entry in the registry.
    pub info: &'static Info,
    /// All parameters with the values in force.
    pub params: Vec<(String, String)>,
    /// The policy.
    pub policy: AnyPolicy,
    /// What the policy promises with these parameters.
    pub promises: Promises,
    /// How flows are compressed, if the policy compresses.
    pub compression: Option<Compression>,
    /// Whether it compares flows by the metric that [`build_with_metric`] was given.
    pub has_metric: bool,
}

/// All policies of this crate, in the order in which they are listed. A new policy is a file, which
/// `lib.rs` declares, and a line here. The command line, the Python package and the conformance
/// suite find it by this list.
static POLICIES: &[Info] = &[
    crate::fair::INFO,
    crate::fifo::INFO,
    crate::fifo_flow::INFO,
    crate::pfp::INFO,
    crate::scf::INFO,
    crate::ncf::INFO,
    crate::lcf::INFO,
    crate::sebf::INFO,
    crate::order::INFO,
    crate::wss::INFO,
    crate::sincronia::INFO,
    crate::aalo::INFO,
    crate::aalo_oracle::INFO,
    crate::aalo_local::INFO,
    crate::fifo_lm::INFO,
    crate::stream::INFO,
    crate::saath::INFO,
    crate::graviton::INFO,
    crate::philae::INFO,
    crate::philae_oracle::INFO,
    crate::fvdf::INFO,
    crate::coda::INFO,
    crate::covey::INFO,
];

/// All policies of the process, from the first time that one is asked for.
static ALL: OnceLock<Vec<Info>> = OnceLock::new();

/// Other names, and the policies that they mean.
static ALIASES: [(&str, &str); 1] = [("srtf", "pfp")];

/// Names that papers and other programs use for these policies or for similar ones.
static ELSEWHERE: [(&str, &str); 19] = [
    ("varys", "sebf"),
    ("d-clas", "aalo"),
    ("dclas", "aalo"),
    ("dark", "aalo"),
    ("las", "aalo"),
    ("max-min", "fair"),
    ("maxmin", "fair"),
    ("pff", "fair"),
    ("tcp", "fair"),
    ("fair-sharing", "fair"),
    ("pfabric", "pfp"),
    ("pdq", "pfp"),
    ("srpt", "pfp"),
    ("bssi", "sincronia"),
    ("swallow", "fvdf"),
    ("baraat", "fifo-lm"),
    ("orchestra", "wss"),
    ("sjf", "scf"),
    ("fcfs", "fifo"),
];

/// All policies: those of this crate, then those of [`extend`].
pub fn policies() -> &'static [Info] {
    ALL.get_or_init(|| POLICIES.to_vec())
}

/// Why policies cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExtendError {
    /// A policy has the name already.
    #[error("there is a policy '{0}'")]
    Taken(&'static str),
    /// Nobody could write the name.
    #[error("policy '{0}': expected a name of small letters, digits and '-'")]
    Name(&'static str),
    /// Somebody has asked for policies, and would not know of these.
    #[error("policies are added before the first is asked for")]
    Late,
}

/// Adds policies of other crates, under their names, for the rest of the process. It is called
/// once, before anybody asks for a policy.
///
/// # Errors
/// If a name is taken or cannot be written, or if somebody has asked for policies.
pub fn extend(more: &[Info]) -> Result<(), ExtendError> {
    let mut all = POLICIES.to_vec();
    for info in more {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if info.name.is_empty() || !info.name.chars().all(is_letter) {
            return Err(ExtendError::Name(info.name));
        }
        let is_alias = ALIASES.iter().any(|(alias, _)| *alias == info.name);
        if is_alias || all.iter().any(|known| known.name == info.name) {
            return Err(ExtendError::Taken(info.name));
        }
        all.push(*info);
    }
    ALL.set(all).map_err(|_| ExtendError::Late)
}

/// The policy of that name; case does not matter.
///
/// # Errors
/// When there is none. The message lists all policies, and suggests one.
pub fn find(name: &str) -> Result<&'static Info, SpecError> {
    let lower = name.trim().to_ascii_lowercase();
    if lower.is_empty() {
        return Err(SpecError::NoName);
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower);
    let known = alias.map_or(lower.as_str(), |(_, policy)| policy);
    policies().iter().find(|info| info.name == known).ok_or_else(|| {
        let names: Vec<&str> = policies().iter().map(|info| info.name).collect();
        let meant = suggestion(name, &names);
        SpecError::UnknownPolicy { name: name.to_owned(), known: names.join(", "), meant }
    })
}

/// The policy of `known` that may be meant by an unknown name: one that is known elsewhere by this
/// name, or else the one with the most similar name.
pub fn suggestion(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let elsewhere =
        ELSEWHERE.iter().find(|(other, policy)| *other == lower && known.contains(policy));
    elsewhere.map(|(_, policy)| *policy).or_else(|| nearest(name, known.iter().copied()))
}

/// Makes a policy from `name` or `name:key=value,key=value`, in any form that [`normalized`] takes.
///
/// # Errors
/// When the policy or a parameter is unknown, or a value is out of range; the message says what was
/// expected.
pub fn build(spec: &str) -> Result<Built, SpecError> {
    build_with_metric(spec, None)
}

/// [`build`], with the metric by which flows are compared. Only `coda` compares flows; other
/// policies ignore it.
///
/// # Errors
/// As [`build`].
pub fn build_with_metric(spec: &str, metric: Option<&Metric>) -> Result<Built, SpecError> {
    let spec = normalized(spec);
    let (name, given) = spec.split_once(':').unwrap_or((&spec, ""));
    let info = find(name)?;
    if spec.contains(':') && given.split(',').any(str::is_empty) {
        return Err(SpecError::Nothing { policy: info.name });
    }
    let (given, compress) = take_compress(info, given)?;
    let mut settings = Settings::new(info.name, info.params, &given)?;
    let metric = metric.filter(|_| info.name == coda::INFO.name);
    if let Some(metric) = metric {
        coda::use_metric(&mut settings, metric);
    }
    let policy = (info.make)(&settings)?;
    let promises = (info.promises)(&settings)?;
    let params = settings.pairs();
    let has_metric = metric.is_some();
    let mut built = Built { info, params, policy, promises, compression: None, has_metric };
    if has_codec(info.params) {
        built.compression = Some(fvdf::compress(&settings)?.compression());
    }
    if let Some(text) = compress {
        if text != COMPRESS.default {
            let codec = Codec::parse(&text).map_err(|expected| {
                SpecError::value(info.name, COMPRESS.name, &text, &format!("none, {expected}"))
            })?;
            if built.policy.wants().regroups {
                let expected = "none, because flows that change their group are not compressed";
                return Err(SpecError::value(info.name, COMPRESS.name, &text, expected));
            }
            let (policy, compression) = compressed::compressed(built.policy, codec);
            built.policy = policy;
            built.compression = Some(compression);
        }
        built.params.push((COMPRESS.name.to_owned(), text));
    }
    Ok(built)
}

/// Takes `compress=CODEC` out of the parameters of a policy. For a policy with a codec of its own
/// it becomes `codec=CODEC`.
fn take_compress(info: &Info, given: &str) -> Result<(String, Option<String>), SpecError> {
    let mut rest: Vec<String> = Vec::new();
    let mut compress = None;
    for item in given.split(',') {
        match item.strip_prefix("compress=") {
            Some(codec) if has_codec(info.params) => rest.push(format!("codec={codec}")),
            Some(codec) => {
                if compress.replace(codec.to_owned()).is_some() {
                    return Err(SpecError::value(
                        info.name,
                        COMPRESS.name,
                        codec,
                        "the parameter once",
                    ));
                }
            }
            None => rest.push(item.to_owned()),
        }
    }
    Ok((rest.join(","), compress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_accepted() {
        for info in policies() {
            let built = build(info.name).unwrap_or_else(|e| panic!("{e}"));
            let level = info.knows.split(',').next();
            assert_eq!(Some(built.policy.knows()), level, "{}", info.name);
        }
    }

    #[test]
    fn help_names_every_codec() {
        let of_fvdf = find("fvdf").unwrap().params.iter().find(|param| param.name == "codec");
        for (codec, _) in covey_core::CODECS {
            assert!(COMPRESS.help.contains(codec), "help of compress does not name {codec}");
            assert!(of_fvdf.unwrap().help.contains(codec), "help of fvdf does not name {codec}");
        }
    }

    #[test]
    fn wrong_specs_say_what_was_expected() {
        let message = |spec: &str| build(spec).err().map(|e| e.to_string()).unwrap_or_default();
        let names = policies().iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
        assert_eq!(
            message("sbf"),
            format!("unknown policy 'sbf': expected one of {names}; did you mean 'sebf'?")
        );
        assert_eq!(
            message("aalo:k=3"),
            "policy aalo: unknown parameter 'k': expected K, E, q1, delta, start_small, queues, \
             share, work_conservation; did you mean 'K'?"
        );
        assert_eq!(message(" "), "expected the name of a policy, found nothing");
        for spec in ["covey:", "covey:,", "covey:phi=0,"] {
            let nothing = "found nothing after ':' or ',': expected key=value";
            assert_eq!(message(spec), format!("policy covey: {nothing}"));
        }
        assert_eq!(message("aalo:K=0"), "policy aalo: K=0: expected a whole number from 1 to 64");
        assert_eq!(
            message("aalo:queues=loose"),
            "policy aalo: queues=loose: expected weighted or strict or classes"
        );
        assert_eq!(
            message("aalo:queues=classes,share=equal"),
            "policy aalo: share=equal: expected maxmin with queues=classes"
        );
        assert_eq!(message("fair:x=1"), "policy fair: unknown parameter 'x': expected none");
        assert_eq!(message("aalo:K"), "policy aalo: found 'K': expected key=value");
        assert_eq!(message("aalo:K=2,K=3"), "policy aalo: K=3: expected the parameter once");
        assert!(message("philae:pilots=senders:7").contains("expected"));
        let codecs = "one of lz4, lzo, snappy, lzf, zstd, or SPEED:RATIO like 785MB/s:0.62 with a ratio between 0 and 1";
        assert_eq!(
            message("fvdf:codec=gzip"),
            format!("policy fvdf: codec=gzip: expected {codecs}")
        );
        assert_eq!(
            message("fair:compress=gzip"),
            format!("policy fair: compress=gzip: expected none, {codecs}")
        );
        assert_eq!(
            message("fair:compress=lz4,compress=lz4"),
            "policy fair: compress=lz4: expected the parameter once"
        );
        assert!(message("coda:compress=lz4").contains("expected none, because"));
        assert!(message("fvdf:logbase=0.9").contains("expected a number from 1 to"));
    }

    #[test]
    fn radii_are_those_of_a_metric_unless_they_are_given() {
        let mut metric = Metric::default();
        (metric.radius, metric.leader_radius) = (0.8, 0.2);
        let params = |spec: &str| {
            let built = build_with_metric(spec, Some(&metric)).unwrap();
            assert_eq!(built.has_metric, spec.starts_with("coda"));
            let radius = |(name, _): &(String, String)| name == "eps" || name == "tau";
            let radii = built.params.into_iter().filter(radius).map(|(_, value)| value);
            radii.collect::<Vec<_>>()
        };
        assert_eq!(params("coda"), ["0.8", "0.2"]);
        assert_eq!(params("coda:eps=0.4"), ["0.4", "0.1"]);
        assert_eq!(params("coda:tau=0.3"), ["0.8", "0.3"]);
        assert!(params("fair").is_empty());
        let wrong = build_with_metric("coda:eps=x", Some(&metric)).err().unwrap();
        assert_eq!(wrong.to_string(), "policy coda: eps=x: expected a number from 0 to 1000000");
    }

    #[test]
    fn unknown_names_are_answered_with_what_may_be_meant() {
        let meant = |name: &str| match find(name) {
            Err(SpecError::UnknownPolicy { meant, .. }) => meant,
            other => panic!("{name}: {:?}", other.map(|info| info.name)),
        };
        for (name, policy) in
            [("philea", "philae"), ("sebff", "sebf"), ("Sincronya", "sincronia"), ("VARYS", "sebf")]
        {
            assert_eq!(meant(name), Some(policy));
        }
        assert_eq!(meant("karuna"), None);
        for (other, policy) in ELSEWHERE {
            assert_eq!(meant(other), Some(policy));
            assert_eq!(find(policy).map(|info| info.name), Ok(policy));
        }
        // Only known policies are suggested.
        assert_eq!(suggestion("bssi", &["fair", "sebf"]), None);
    }

    #[test]
    fn case_and_blanks_do_not_matter_in_names() {
        for spec in ["SEBF", " Sebf ", "SEBF: share=madd"] {
            assert_eq!(build(spec).map(|built| built.info.name), Ok("sebf"));
        }
        assert_eq!(find("SRTF").map(|info| info.name), Ok("pfp"));
        assert!(build("aalo: K=3, E=2").is_ok());
        assert!(build("fair:compress=LZ4").is_ok());
    }

    #[test]
    fn every_policy_but_coda_takes_a_codec() {
        for info in policies().iter().filter(|info| info.name != "coda") {
            let built = build(&format!("{}:compress=zstd", info.name)).unwrap();
            let level = info.knows.split(',').next();
            assert_eq!(Some(built.policy.knows()), level, "{}", info.name);
            let given = |(name, value): &(String, String)| {
                (name == "compress" || name == "codec") && value == "zstd"
            };
            assert!(built.params.iter().any(given), "{}", info.name);
        }
    }
}
