//! What requests of clients came to, by route and by token, for /metrics.
//!
//! A route is a pattern such as `/v1/coflows/{id}`, so that clients cannot make the number of
//! series grow.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use covey_api::Problem;

use super::caller::Caller;
use super::histogram::Histogram;
use super::metrics::head;
use crate::connections::lock;

/// The route of requests that match none.
const NO_ROUTE: &str = "none";

/// All requests so far.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<Counted>);

/// All requests so far, counted in two ways.
#[derive(Debug, Default)]
struct Counted {
    by_route: BTreeMap<Asked, Outcomes>,
    /// By the name of the token, if one was shown that counts, and the class of the status.
    by_token: BTreeMap<(Option<Arc<str>>, u16), u64>,
    /// Refused by a limit of a token: by its name, and that of the limit.
    limited: BTreeMap<(String, String), u64>,
}

/// What was asked for: route and method.
type Asked = (String, &'static str);

/// What became of the requests of one kind.
#[derive(Debug, Default)]
struct Outcomes {
    /// How many were answered with each status.
    statuses: BTreeMap<u16, u64>,
    /// From the head of the request to that of the answer.
    times: Histogram,
}

impl Requests {
    fn add(&self, asked: Asked, token: Option<Arc<str>>, status: u16, seconds: f64) {
        let mut all = lock(&self.0);
        *all.by_token.entry((token, status / 100)).or_default() += 1;
        let outcomes = all.by_route.entry(asked).or_default();
        *outcomes.statuses.entry(status).or_default() += 1;
        outcomes.times.add(seconds);
    }

    /// A limit of a token refuses a request, if that is the problem.
    fn add_limited(&self, problem: &Problem) {
        if let (Some(token), Some(limit)) = (&problem.token, &problem.limit) {
            let name = (token.clone(), limit.to_string());
            *lock(&self.0).limited.entry(name).or_default() += 1;
        }
    }

    /// The metrics, in the text format of Prometheus.
    pub fn write(&self, out: &mut String) {
        let all = lock(&self.0);
        let name = "covey_http_requests_total";
        head(name, "Requests of clients that were answered.", "counter", out);
        for ((route, method), outcomes) in &all.by_route {
            for (status, count) in &outcomes.statuses {
                let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
                let _ = writeln!(out, "{name}{{{labels}}} {count}");
            }
        }
        let name = "covey_http_request_duration_seconds";
        let help = "Time from the head of a request to that of its answer.";
        head(name, help, "histogram", out);
        for ((route, method), outcomes) in &all.by_route {
            let labels = format!("route=\"{route}\",method=\"{method}\"");
            outcomes.times.write(name, &labels, out);
        }
        let name = "covey_requests_total";
        head(name, "Requests, by token and by the class of the answer.", "counter", out);
        for ((token, class), count) in &all.by_token {
            let token = token.as_deref().unwrap_or_default();
            let _ = writeln!(out, "{name}{{token=\"{token}\",status=\"{class}xx\"}} {count}");
        }
        let name = "covey_limited_total";
        head(name, "Requests that a limit of their token refused.", "counter", out);
        for ((token, limit), count) in &all.limited {
            let _ = writeln!(out, "{name}{{token=\"{token}\",limit=\"{limit}\"}} {count}");
        }
    }
}

/// A method by its name. Clients may make up others.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::PUT => "PUT",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Counts and times a request.
pub(super) async fn measure(
    State(requests): State<Arc<Requests>>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str);
    let asked = (route.to_owned(), known(request.method()));
    let token = request.extensions().get().and_then(Caller::token);
    let response = next.run(request).await;
    if let Some(problem) = response.extensions().get() {
        requests.add_limited(problem);
    }
    requests.add(asked, token, response.status().as_u16(), begin.elapsed().as_secs_f64());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_by_route_method_and_status_and_by_token() {
        let requests = Requests::default();
        let asked = || ("/v1/coflows/{id}".to_owned(), "GET");
        for (status, token) in [(200, Some("ci")), (404, Some("ci")), (404, None)] {
            requests.add(asked(), token.map(Arc::from), status, 2e-5);
        }
        let mut text = String::new();
        requests.write(&mut text);
        for line in [
            "covey_http_requests_total{route=\"/v1/coflows/{id}\",method=\"GET\",status=\"200\"} 1",
            "covey_http_requests_total{route=\"/v1/coflows/{id}\",method=\"GET\",status=\"404\"} 2",
            "covey_http_request_duration_seconds_count{route=\"/v1/coflows/{id}\",method=\"GET\"} 3",
            "covey_requests_total{token=\"ci\",status=\"2xx\"} 1",
            "covey_requests_total{token=\"\",status=\"4xx\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_method_that_a_client_makes_up_is_no_series_of_its_own() {
        let made_up = Method::from_bytes(b"BREW").expect("a method");
        assert_eq!([known(&Method::PATCH), known(&made_up)], ["PATCH", "other"]);
    }
}
