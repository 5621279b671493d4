//! Integers in JSON. `584.0` counts as one, because some clients write integers that way.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// An integer from 0 on that fits in `T`.
struct Integer<T>(T);

/// Above this not every integer is an `f64`.
const MAX_EXACT: f64 = (1_u64 << 53) as f64;

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Integer<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<T: TryFrom<u64>> Visitor<'_> for Reader<T> {
            type Value = Integer<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a whole number of at most {} bits", 8 * size_of::<T>())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                let integer = T::try_from(number).map(Integer);
                integer.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                if number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&number) {
                    return self.visit_u64(number as u64);
                }
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }
        }

        from.deserialize_u64(Reader(PhantomData))
    }
}

/// Reads one integer.
pub fn number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    Ok(Integer::deserialize(from)?.0)
}

/// Reads one integer that may be left out.
pub fn optional<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let integer: Option<Integer<T>> = Option::deserialize(from)?;
    Ok(integer.map(|integer| integer.0))
}

/// Reads a list of integers.
pub fn numbers<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<Vec<T>, D::Error> {
    let list: Vec<Integer<T>> = Vec::deserialize(from)?;
    Ok(list.into_iter().map(|integer| integer.0).collect())
}
