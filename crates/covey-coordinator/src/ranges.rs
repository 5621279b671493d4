//! Numbers of requests, and what they may be.

use std::fmt::Display;
use std::ops::RangeInclusive;

use covey_api::Problem;

/// Refuses a number out of range, if there is one; `what` is its path in the request.
pub(crate) fn check_range<T: PartialOrd + Display>(
    what: &str,
    number: Option<T>,
    range: &RangeInclusive<T>,
) -> Result<(), Problem> {
    match number.filter(|number| !range.contains(number)) {
        None => Ok(()),
        Some(found) => {
            let (min, max) = (range.start(), range.end());
            Err(Problem::invalid(format!("{what}: expected from {min} to {max}, found {found}")))
        }
    }
}
