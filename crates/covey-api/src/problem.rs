//! Why a request is refused.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The body of a refusal (RFC 9457).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem, in words.
    pub title: Cow<'static, str>,
    /// What is wrong with this request.
    pub detail: String,
}

impl Problem {
    /// A problem of this kind; `detail` says what is wrong with the request.
    pub fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, title: Cow::Borrowed(title), detail: detail.into() }
    }

    /// The coordinator does not know the coflow.
    pub fn unknown(id: u64) -> Problem {
        Problem::new(404, "no such coflow", format!("coflow {id} is not known"))
    }

    /// The request can be read, but asks for something impossible.
    pub fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(422, "invalid request", detail)
    }
}
