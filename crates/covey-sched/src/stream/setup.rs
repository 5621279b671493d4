//! What the parameters of `stream` say.

use covey_core::units::{self, QuantityError};
use covey_stream::{Equation, EscapeRules, Proposal, Rules, Setup};

use crate::settings::Settings;
use crate::spec::SpecError;

/// Values of the parameters that switch something.
const SWITCH: &[(&str, bool)] = &[("true", true), ("false", false)];

/// What the parameters of `stream` say.
pub(super) fn of(settings: &Settings) -> Result<Setup, SpecError> {
    let weight = settings.number("aW", 0.0, 10.0)?;
    let rules = Rules {
        thresholds: thresholds(settings)?,
        equation: settings
            .choice("eq", &[("walk", Equation::Walk), ("literal", Equation::Literal)])?,
        alpha: settings.number("alpha", 0.0, 1.0)?,
        beta: settings.number("beta", 0.0, 1.0)?,
        weight: if settings.choice("wp", SWITCH)? { weight } else { 0.0 },
    };
    let positive = |name: &str| {
        let seconds = settings.duration(name)?;
        let or = "a duration above zero, like 10ms";
        if seconds > 0.0 { Ok(seconds) } else { Err(settings.bad(name, or)) }
    };
    let longest_s = positive("patience")?;
    let raise_s = positive("raise")?;
    let escape = match settings.text("escape") {
        "off" => None,
        _ => Some(EscapeRules { first_s: positive("escape")?, raise_s, longest_s }),
    };
    Ok(Setup {
        rules,
        escape,
        rtt_s: settings.duration("rtt")?,
        relays: settings.choice("relay", SWITCH)?,
        tells_sizes: settings.choice("cp", SWITCH)?,
        proposal: settings.choice("ids", &[("next", Proposal::Next), ("own", Proposal::Own)])?,
    })
}

/// The threshold of each queue but the last, in bytes.
fn thresholds(settings: &Settings) -> Result<Vec<f64>, SpecError> {
    let queues = settings.integer("K", 2, 8)? as usize;
    let (first, factor) = (settings.size("q1")?, settings.number("E", 1.01, 1e6)?);
    let text = settings.text("thresholds");
    if text == "exponential" {
        return Ok((1..queues).map(|k| first * libm::pow(factor, k as f64 - 1.0)).collect());
    }
    let sizes: Result<Vec<f64>, QuantityError> = text.split('/').map(units::parse_size).collect();
    let bad = |hint: &str| {
        let expected = format!(
            "exponential, or K-1 = {} sizes, ascending, like 10MiB/100MiB{hint}",
            queues - 1
        );
        settings.bad("thresholds", &expected)
    };
    match sizes {
        Ok(all) if all.len() == queues - 1 && all[0] > 0.0 && all.is_sorted() => Ok(all),
        Ok(_) => Err(bad("")),
        Err(error) => Err(bad(error.hint())),
    }
}
