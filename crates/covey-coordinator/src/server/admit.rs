//! What a request has to pass before it is handled: the token, the rate, and room for its body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use covey_api::Problem;
use covey_door::{Guest, Reason};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::caller::Caller;
use super::problems::{MAX_BODY, SMALL_BODY, refuse, too_large};
use super::shared::Shared;
use covey_credentials::{Right, Tokens};

/// The most bytes of the large bodies that are in memory together.
const MAX_LARGE_BODIES: usize = 4 * MAX_BODY;

/// The same of small ones, for which large ones leave room.
const MAX_SMALL_BODIES: usize = 16 << 20;

/// Memory for bodies, in bytes, and the time that a body may take.
pub(super) struct Bodies {
    large: Semaphore,
    small: Semaphore,
    patience: Duration,
}

impl Bodies {
    pub fn new(patience: Duration) -> Bodies {
        let (large, small) = (MAX_LARGE_BODIES, MAX_SMALL_BODIES);
        Bodies { large: Semaphore::new(large), small: Semaphore::new(small), patience }
    }
}

/// What requests have to pass.
pub(super) struct Gate {
    pub tokens: Arc<Tokens>,
    pub shared: Arc<Shared>,
    pub bodies: Bodies,
}

/// Looks at the token of every request, also where none is needed. The connection of a request with
/// a token that counts stays.
pub(super) async fn identify(
    State(gate): State<Arc<Gate>>,
    Extension(guest): Extension<Arc<Guest>>,
    mut request: Request,
    next: Next,
) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(bearer);
    let holder = shown.and_then(|secret| gate.tokens.holder(secret));
    if holder.is_some() {
        guest.authenticate();
    }
    request.extensions_mut().insert(Caller { guest, holder });
    next.run(request).await
}

/// The token of a header. The name of the scheme may have any case, as RFC 9110 says.
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// The rights of which a request needs one, the usual one first.
fn needed(method: &Method, path: &str) -> &'static [Right] {
    match *method {
        _ if path.starts_with("/v1/admin/") => &[Right::Operate],
        Method::GET | Method::HEAD => &[Right::Read],
        _ => &[Right::Register, Right::Operate],
    }
}

/// Admits requests that show a token with the right that they need, up to the allowed rate.
pub(super) async fn admit(
    State(gate): State<Arc<Gate>>,
    Extension(Caller { guest, holder }): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let Some(holder) = holder else {
        let detail = "expected 'Authorization: Bearer' with a token of the coordinator";
        guest.refuse(Reason::Credential, None, detail);
        let mut response = refuse(Problem::new(401, "unauthorized", detail));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    };
    let rights = needed(request.method(), request.uri().path());
    if !rights.iter().any(|right| holder.has(*right)) {
        let detail = format!("the token '{}' lacks the right {}", holder.name, rights[0].name());
        guest.refuse(Reason::Right, None, &detail);
        return refuse(Problem::new(403, "forbidden", detail));
    }
    // What a token may not ask takes nothing from others.
    if let Some(per_s) = holder.requests
        && !gate.shared.rates.take(&holder.name, per_s)
    {
        let detail = format!("the token '{}' may ask {per_s} times a second", holder.name);
        guest.refuse(Reason::Rate, None, &detail);
        let problem = Problem::new(429, "limit of the token", detail);
        return refuse(problem.of_limit(&holder.name, "requests"));
    }
    let rate = &gate.shared.rate;
    if !rate.take() {
        let detail = format!("expected at most {} requests a second", rate.per_s());
        guest.refuse(Reason::Rate, None, &detail);
        return refuse(Problem::new(429, "too many requests", detail));
    }
    match with_body(&gate.bodies, request).await {
        // The permit is held until the request is answered, because what is parsed is in memory
        // too.
        Ok((_permit, request)) => next.run(request).await,
        Err(problem) => {
            match problem.status {
                408 => guest.refuse(Reason::SlowBody, None, &problem.detail),
                429 => guest.refuse(Reason::Rate, None, &problem.detail),
                _ => {}
            }
            refuse(problem)
        }
    }
}

/// Reads the body of a request, if there is room for it.
async fn with_body(
    bodies: &Bodies,
    request: Request,
) -> Result<(SemaphorePermit<'_>, Request), Problem> {
    let most = request.body().size_hint().upper().unwrap_or(u64::MAX);
    let is_sized = most != u64::MAX;
    if is_sized && most > MAX_BODY as u64 {
        return Err(too_large());
    }
    // A body of unknown length may become as long as is allowed.
    let permits = most.min(MAX_BODY as u64) as u32;
    let (room, max) = match permits as usize <= SMALL_BODY {
        true => (&bodies.small, MAX_SMALL_BODIES),
        false => (&bodies.large, MAX_LARGE_BODIES),
    };
    let permit = room.try_acquire_many(permits).map_err(|_| {
        let detail = format!("the bodies under way would have more than {max} bytes");
        Problem::new(429, "too many bodies", detail)
    })?;
    let (parts, body) = request.into_parts();
    let read = timeout(bodies.patience, axum::body::to_bytes(body, MAX_BODY)).await;
    let late = |_| {
        let detail = format!("expected the body within {} s", bodies.patience.as_secs_f64());
        Problem::new(408, "too slow", detail)
    };
    let bytes = read.map_err(late)?.map_err(|error| match is_sized {
        true => Problem::new(400, "unreadable body", error.to_string()),
        false => too_large(),
    })?;
    Ok((permit, Request::from_parts(parts, Body::from(bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_may_have_any_case() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("BEARER   abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearerabc", None),
            ("", None),
        ] {
            let value = HeaderValue::from_static(header);
            assert_eq!(bearer(&value), token.map(str::as_bytes), "{header}");
        }
    }
}
