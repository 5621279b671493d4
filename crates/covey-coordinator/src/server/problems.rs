//! Answers that refuse a request: problems as in RFC 9457.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use covey_api::Problem;

/// The most bytes of a request's body.
pub(super) const MAX_BODY: usize = 64 << 20;

/// The most bytes of a body that is small.
pub(super) const SMALL_BODY: usize = 64 << 10;

/// A body is too long.
pub(super) fn too_large() -> Problem {
    Problem::new(413, "too large", format!("expected a body of at most {MAX_BODY} bytes"))
}

/// The coordinator has stopped.
pub(super) fn stopping() -> Problem {
    Problem::new(503, "stopping", "the coordinator has stopped")
}

/// The answer that states a problem.
pub(super) fn refuse(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, json(&problem)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if matches!(problem.status, 429 | 503) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    // For the audit log.
    response.extensions_mut().insert(problem);
    response
}

/// A value as JSON.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    // Numbers, texts and lists of them can always be serialised.
    serde_json::to_string(value).unwrap_or_default()
}
