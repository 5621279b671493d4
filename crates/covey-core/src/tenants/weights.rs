//! The weights of tenants by name.

use std::ops::RangeInclusive;

use crate::values::ids::TenantId;

/// The weights that a tenant may have.
const WEIGHTS: RangeInclusive<f64> = 1e-6..=1e6;

/// Tenants by name, each with a number and a weight. The weight is 1 unless it was given.
///
/// ```
/// use covey_core::{TenantId, TenantWeights};
/// let mut tenants = TenantWeights::parse("analytics=3,serving=1")?;
/// assert_eq!(tenants.number("serving"), TenantId(1));
/// assert_eq!(tenants.number("research"), TenantId(2));
/// assert_eq!(tenants.weights(), [3.0, 1.0, 1.0]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TenantWeights {
    names: Vec<String>,
    weights: Vec<f64>,
}

impl TenantWeights {
    /// Reads `NAME=WEIGHT,NAME=WEIGHT…`.
    ///
    /// # Errors
    /// What was expected, and what was found.
    pub fn parse(text: &str) -> Result<TenantWeights, String> {
        let mut tenants = TenantWeights::default();
        for item in text.split(',').map(str::trim) {
            let Some((name, weight)) = item.rsplit_once('=') else {
                return Err(format!("expected NAME=WEIGHT,…, found '{item}'"));
            };
            let number = weight.trim().parse().map_err(|_| weight.trim().to_owned());
            tenants.add(name.trim(), number)?;
        }
        Ok(tenants)
    }

    /// Adds a tenant with its weight, or with the text that is none.
    ///
    /// # Errors
    /// What was expected, and what was found: a name that is empty or known, or a weight out of
    /// range.
    pub fn add(&mut self, name: &str, weight: Result<f64, String>) -> Result<(), String> {
        if name.is_empty() {
            return Err("expected a name before =, found none".to_owned());
        }
        if self.names.iter().any(|known| known == name) {
            return Err(format!("expected each tenant once, found '{name}' twice"));
        }
        let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
        let expected = format!("expected a weight from {least} to {most} of '{name}'");
        let weight = weight.map_err(|text| format!("{expected}, found '{text}'"))?;
        if !WEIGHTS.contains(&weight) {
            return Err(format!("{expected}, found {weight}"));
        }
        self.names.push(name.to_owned());
        self.weights.push(weight);
        Ok(())
    }

    /// The number of a tenant. One that is not known gets the next number, and the weight 1.
    pub fn number(&mut self, name: &str) -> TenantId {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.weights.push(1.0);
            self.names.len() - 1
        });
        TenantId(number as u32)
    }

    /// Names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Weights, by number.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_weights_say_what_was_expected() {
        for (text, problem) in [
            ("", "expected NAME=WEIGHT,…, found ''"),
            ("a", "expected NAME=WEIGHT,…, found 'a'"),
            ("a=1,", "expected NAME=WEIGHT,…, found ''"),
            ("=1", "expected a name before =, found none"),
            ("a=1,a=2", "expected each tenant once, found 'a' twice"),
            ("a=x", "expected a weight from 0.000001 to 1000000 of 'a', found 'x'"),
            ("a=0", "expected a weight from 0.000001 to 1000000 of 'a', found 0"),
            ("a=nan", "expected a weight from 0.000001 to 1000000 of 'a', found NaN"),
        ] {
            assert_eq!(TenantWeights::parse(text), Err(problem.to_owned()));
        }
        let tenants = TenantWeights::parse(" a = 3 , b=c=0.5").unwrap();
        assert_eq!(tenants.names(), ["a", "b=c"]);
    }
}
