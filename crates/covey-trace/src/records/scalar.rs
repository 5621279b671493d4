//! Values of JSON that are texts or numbers.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::value::RawValue;

/// A text, or a number as it is written.
pub(super) struct Scalar<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw: &'de RawValue = Deserialize::deserialize(from)?;
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Scalar).map_err(D::Error::custom),
            Some(b'[') => Err(D::Error::custom("a list, expected a text or a number")),
            Some(b'{') => Err(D::Error::custom("an object, expected a text or a number")),
            Some(b't' | b'f' | b'n') => {
                Err(D::Error::custom(format_args!("{text}, expected a text or a number")))
            }
            _ => Ok(Scalar(Cow::Borrowed(text))),
        }
    }
}

/// A text, or a number, of a document that is not in memory.
pub(super) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
        }
        from.deserialize_any(Any)
    }
}

/// A number as it is written.
pub(super) struct Number<'a>(pub &'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Number<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw: &'de RawValue = Deserialize::deserialize(from)?;
        match raw.get().parse::<f64>() {
            Ok(_) => Ok(Number(raw.get())),
            Err(_) => Err(D::Error::custom(format_args!(
                "{}, expected a number",
                raw.get().chars().take(40).collect::<String>()
            ))),
        }
    }
}
