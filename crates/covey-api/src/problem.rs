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
    /// The limit of a token that the request would exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Cow<'static, str>>,
    /// The token of that limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Problem {
    /// A problem of this kind; `detail` says what is wrong with the request.
    pub fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        let (title, detail) = (Cow::Borrowed(title), detail.into());
        Problem { status, title, detail, limit: None, token: None }
    }

    /// The same problem: the request exceeds this limit of a token.
    #[must_use]
    pub fn of_limit(self, token: &str, limit: &'static str) -> Problem {
        Problem { limit: Some(Cow::Borrowed(limit)), token: Some(token.to_owned()), ..self }
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
