//! The REST API under `/v1`, and the routes for probes and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Extension, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use super::admit::{Gate, admit, identify};
use super::body::{self, parse};
use super::caller::Caller;
use super::change::Control;
use super::command::Command;
use super::problems::{MAX_BODY, json, refuse, stopping};
use super::shared::Shared;
use super::{audit, events, metrics, requests};
use crate::connections::{METRICS_TYPE, lock};
use crate::record::{Digest, Key};
use crate::request::{Client, List, Reply, Request};
use covey_api::{CoflowSpec, CoflowStatus, Community, Page, Problem, Settings, Update};
use covey_credentials::hex;
use covey_credentials::{Right, Tokens};

/// Items of a page, if the request does not say.
const PAGE: usize = 100;
/// The most items of a page.
const MAX_PAGE: usize = 1000;

/// The description of the API.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// The page for people.
const DASHBOARD: &str = include_str!("dashboard.html");

/// What handlers of requests need.
pub(super) struct Api {
    pub commands: mpsc::Sender<Command>,
    pub control: Control,
    pub shared: Arc<Shared>,
    pub tokens: Arc<Tokens>,
    pub epoch: u64,
}

/// All routes.
pub(super) fn router(api: &Arc<Api>, gate: &Arc<Gate>) -> Router {
    let closed = Router::new()
        .route("/v1/coflows", get(list).post(register))
        .route("/v1/coflows/{id}", get(status).patch(update).delete(remove))
        .route("/v1/coflows/{id}/keep", post(keep))
        .route("/v1/schedule", get(schedule))
        .route("/v1/flows", get(flows))
        .route("/v1/flows/community", post(community))
        .route("/v1/agents", get(agents))
        .route("/v1/relays", get(relays))
        .route("/v1/waiting", get(waiting))
        .route("/v1/recording", get(recording))
        .route("/v1/coordinator", get(coordinator))
        .route("/v1/events", get(events))
        .route("/v1/admin/ports/{port}/drain", get(drain_status).put(drain).delete(undrain))
        .route("/v1/admin/settings", get(settings).patch(change_settings))
        .layer(middleware::from_fn_with_state(api.shared.audit.clone(), audit::record));
    with_probes(closed, api, gate)
}

/// The routes of the port for probes.
pub(super) fn probes(api: &Arc<Api>, gate: &Arc<Gate>) -> Router {
    with_probes(Router::new(), api, gate)
}

/// Adds the routes for probes and metrics to those that need a token.
fn with_probes(closed: Router<Arc<Api>>, api: &Arc<Api>, gate: &Arc<Gate>) -> Router {
    let closed = closed
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn_with_state(gate.clone(), admit));
    let open = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/openapi.json", get(openapi))
        .route("/", get(dashboard));
    let nothing = async || refuse(Problem::new(404, "no such resource", "see /openapi.json"));
    let method = async || refuse(Problem::new(405, "method not allowed", "see /openapi.json"));
    open.merge(closed)
        .fallback(nothing)
        .method_not_allowed_fallback(method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(api.shared.requests.clone(), requests::measure))
        .layer(middleware::from_fn_with_state(gate.clone(), identify))
        .with_state(api.clone())
}

/// Asks for something that changes nothing.
async fn ask(api: &Api, request: Request) -> Result<Reply, Problem> {
    ask_of(api, Client::default(), request).await
}

async fn ask_of(api: &Api, client: Client, request: Request) -> Result<Reply, Problem> {
    let changes = matches!(
        request,
        Request::Register { .. } | Request::Update { .. } | Request::Remove { .. }
    );
    if changes && let Some(problem) = api.shared.closed() {
        return Err(problem);
    }
    let (sender, answer) = oneshot::channel();
    api.commands.send(Command::Request(client, request, sender)).await.map_err(|_| stopping())?;
    answer.await.map_err(|_| stopping())?
}

/// Reads a list, as JSON. Pages are made one after the other, on no thread that serves others.
async fn read(api: &Api, list: List) -> Result<String, Problem> {
    // The client may leave: then the thread goes on, with its permit.
    let permit = api.shared.pages.clone().acquire_owned().await.map_err(|_| stopping())?;
    let (sender, reader) = oneshot::channel();
    api.commands.send(Command::List(list, sender)).await.map_err(|_| stopping())?;
    let make = reader.await.map_err(|_| stopping())?;
    let page = spawn_blocking(move || {
        let _permit = permit;
        json(&make())
    });
    page.await.map_err(|_| stopping())
}

/// The answer as a response.
fn respond(reply: Result<Reply, Problem>) -> Response {
    let body = |value: String| ([(header::CONTENT_TYPE, "application/json")], value);
    match reply {
        Err(problem) => refuse(problem),
        Ok(Reply::Removed | Reply::Noted) => StatusCode::NO_CONTENT.into_response(),
        Ok(Reply::Registered(status)) => {
            let location = format!("/v1/coflows/{}", status.id);
            let headers = [(header::LOCATION, location), (header::ETAG, etag(&status))];
            (StatusCode::CREATED, headers, body(json(&status))).into_response()
        }
        Ok(Reply::Coflow(status)) => {
            ([(header::ETAG, etag(&status))], body(json(&status))).into_response()
        }
        Ok(reply) => body(json(&reply)).into_response(),
    }
}

/// A page of a list, as JSON, as a response.
fn page(page: Result<String, Problem>) -> Response {
    let body = |page| ([(header::CONTENT_TYPE, "application/json")], page).into_response();
    page.map_or_else(refuse, body)
}

fn etag(status: &CoflowStatus) -> String {
    format!("\"{}\"", status.revision)
}

fn digest(body: &Bytes) -> Digest {
    let crc = u64::from(crc32fast::hash(body)) << 32 | body.len() as u64;
    let sha256 = ring::digest::digest(&ring::digest::SHA256, body);
    Digest { crc, sha256: Some(hex(sha256.as_ref())) }
}

async fn register(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = async {
        let has_key = headers.contains_key("idempotency-key");
        let read = move |body: &Bytes| {
            let digest = if has_key { digest(body) } else { Digest::default() };
            Ok((parse(body)?, digest))
        };
        let (spec, digest): (CoflowSpec, Digest) = body::read(&api.shared, body, read).await?;
        let key = match headers.get("idempotency-key") {
            None => None,
            Some(key) => {
                let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= 255);
                let key = key.ok_or_else(|| {
                    Problem::new(
                        400,
                        "bad key",
                        "Idempotency-Key: expected 1 to 255 ASCII characters",
                    )
                })?;
                Some(Key { key: key.to_owned(), digest })
            }
        };
        ask_of(&api, caller.client(), Request::Register { spec, key }).await
    };
    respond(request.await)
}

fn number(id: &str) -> Result<u64, Problem> {
    id.parse().map_err(|_| Problem::new(404, "no such coflow", format!("'{id}' is no number")))
}

async fn status(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Response {
    respond(async { ask(&api, Request::Get { id: number(&id)? }).await }.await)
}

async fn update(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = async {
        let id = number(&id)?;
        let update: Update = body::read(&api.shared, body, parse).await?;
        let revision = match headers.get(header::IF_MATCH).map(HeaderValue::to_str) {
            None | Some(Ok("*")) => None,
            Some(tag) => {
                let bad = || Problem::new(400, "bad header", "If-Match: expected an ETag, or *");
                let unknown = |_| Problem::new(412, "changed meanwhile", "it never had this ETag");
                let tag = tag.map_err(|_| bad())?;
                match tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')) {
                    Some(tag) => Some(tag.parse().map_err(unknown)?),
                    // Some clients leave the quotes out.
                    None => Some(tag.parse().map_err(|_| bad())?),
                }
            }
        };
        ask_of(&api, caller.client(), Request::Update { id, update, revision }).await
    };
    respond(request.await)
}

async fn remove(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    let request = async {
        let id = number(&id)?;
        ask_of(&api, caller.client(), Request::Remove { id }).await
    };
    respond(request.await)
}

/// The body of a request to keep a coflow, which may be empty.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keep {
    #[serde(default)]
    lease_s: Option<f64>,
}

async fn keep(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = async {
        let id = number(&id)?;
        let Keep { lease_s } = match &body {
            Ok(bytes) if bytes.is_empty() => Keep::default(),
            _ => body::read(&api.shared, body, parse).await?,
        };
        ask_of(&api, caller.client(), Request::Keep { id, lease_s }).await
    };
    respond(request.await)
}

async fn community(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = async {
        let told = body::read(&api.shared, body, parse).await?;
        let Community { community, flows } = told;
        ask_of(&api, caller.client(), Request::Community { community, flows }).await
    };
    respond(request.await)
}

type Asked = Result<Query<BTreeMap<String, String>>, QueryRejection>;

/// The parameters of a request for a list: where it begins, how long it is, and others.
struct ListQuery {
    cursor: Option<String>,
    limit: usize,
    others: BTreeMap<String, String>,
}

fn asked(query: Asked) -> Result<ListQuery, Problem> {
    let bad = |detail: String| Problem::new(400, "bad parameter", detail);
    let mut others = query.map_err(|error| bad(error.to_string()))?.0;
    let limit = match others.remove("limit") {
        None => PAGE,
        Some(text) => {
            let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
            limit.ok_or_else(|| bad(format!("limit: expected 1 to {MAX_PAGE}, found '{text}'")))?
        }
    };
    Ok(ListQuery { cursor: others.remove("cursor"), limit, others })
}

fn cursor<T: std::str::FromStr + Default>(text: Option<&str>) -> Result<T, Problem> {
    let Some(text) = text else { return Ok(T::default()) };
    let bad = || Problem::new(400, "bad parameter", "cursor: expected what 'next' of a page said");
    text.parse().map_err(|_| bad())
}

/// A parameter that is `true` or `false`, if the request has it.
fn flag(others: &mut BTreeMap<String, String>, name: &str) -> Result<Option<bool>, Problem> {
    let bad = |_| Problem::new(400, "bad parameter", format!("{name}: expected true or false"));
    others.remove(name).map(|text| text.parse().map_err(bad)).transpose()
}

fn no_others(others: &BTreeMap<String, String>) -> Result<(), Problem> {
    match others.keys().next() {
        None => Ok(()),
        Some(name) => {
            Err(Problem::new(400, "bad parameter", format!("unknown parameter '{name}'")))
        }
    }
}

async fn list(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let mut query = asked(query)?;
        let all = match query.others.remove("state").as_deref() {
            None | Some("present") => false,
            Some("all") => true,
            Some(_) => {
                return Err(Problem::new(400, "bad parameter", "state: expected present or all"));
            }
        };
        no_others(&query.others)?;
        let from = cursor(query.cursor.as_deref())?;
        read(&api, List::Coflows { from, limit: query.limit, all }).await
    };
    page(request.await)
}

async fn schedule(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let query = asked(query)?;
        no_others(&query.others)?;
        let from = match query.cursor.as_deref().and_then(|text| text.split_once('.')) {
            Some((coflow, flow)) => (cursor(Some(coflow))?, cursor(Some(flow))?),
            None => (cursor(query.cursor.as_deref())?, 0),
        };
        read(&api, List::Schedule { from, limit: query.limit }).await
    };
    page(request.await)
}

async fn flows(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let mut query = asked(query)?;
        let why = flag(&mut query.others, "why")?.unwrap_or(false);
        no_others(&query.others)?;
        let from = cursor(query.cursor.as_deref())?;
        read(&api, List::Flows { from, limit: query.limit, why }).await
    };
    page(request.await)
}

async fn agents(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let query = asked(query)?;
        no_others(&query.others)?;
        let from = cursor(query.cursor.as_deref())?;
        read(&api, List::Agents { from, limit: query.limit }).await
    };
    page(request.await)
}

async fn relays(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let query = asked(query)?;
        no_others(&query.others)?;
        let from = cursor(query.cursor.as_deref())?;
        let (items, next) = api.shared.relays.list(from, query.limit);
        Ok(json(&Page { items, next: next.map(|session| session.to_string()) }))
    };
    page(request.await)
}

async fn waiting(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let query = asked(query)?;
        no_others(&query.others)?;
        let from = cursor(query.cursor.as_deref())?;
        read(&api, List::Waiting { from, limit: query.limit }).await
    };
    page(request.await)
}

/// What coflows did in the last minutes, without a question to the decision thread.
async fn recording(State(api): State<Arc<Api>>, query: Asked) -> Response {
    let request = async {
        let mut query = asked(query)?;
        let with_sent = flag(&mut query.others, "sent")?.unwrap_or(true);
        no_others(&query.others)?;
        let last = query.cursor.as_deref().map_or(Ok(u64::MAX), |text| cursor(Some(text)))?;
        let permit = api.shared.pages.clone().acquire_owned().await.map_err(|_| stopping())?;
        let recorder = api.shared.recorder.clone();
        let page = spawn_blocking(move || {
            let _permit = permit;
            let page = lock(&recorder).page(last, query.limit, with_sent);
            json(&page)
        });
        page.await.map_err(|_| stopping())
    };
    page(request.await)
}

async fn coordinator(State(api): State<Arc<Api>>) -> Response {
    let status = json(&api.shared.status());
    ([(header::CONTENT_TYPE, "application/json")], status).into_response()
}

/// Seconds in one turn after which the coordinator is not ready, and after which it does not live:
/// then it should be started again.
const SLOW_S: f64 = 1.0;
pub(super) const STUCK_S: f64 = 30.0;

async fn livez(State(api): State<Arc<Api>>) -> Response {
    match api.shared.turn.seconds() {
        seconds if seconds > STUCK_S => refuse(busy(seconds)),
        _ => "ok\n".into_response(),
    }
}

fn busy(seconds: f64) -> Problem {
    Problem::new(503, "busy", format!("the decision thread has been at it for {seconds:.0} s"))
}

async fn readyz(State(api): State<Arc<Api>>) -> Response {
    let seconds = api.shared.turn.seconds();
    if seconds > SLOW_S {
        return refuse(busy(seconds));
    }
    api.shared.refusal().map_or_else(|| "ok\n".into_response(), refuse)
}

/// A page that asks for what it shows, with the token that its reader has.
async fn dashboard() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, DASHBOARD)
}

async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

async fn metrics(State(api): State<Arc<Api>>) -> impl IntoResponse {
    let (mut snapshot, measured) = {
        let measured = lock(&api.shared.measured);
        (measured.0.clone(), measured.1.clone())
    };
    let shared = &api.shared;
    snapshot.turn_s = shared.turn.seconds();
    let (relays, lost) = (shared.relays.count(), shared.audit.failures());
    let mut text = metrics::text(&snapshot, &measured, &shared.doors, relays, lost);
    shared.requests.write(&mut text);
    shared.tls.write_metrics(&mut text);
    ([(header::CONTENT_TYPE, METRICS_TYPE)], text)
}

async fn settings(State(api): State<Arc<Api>>) -> Response {
    let asked = api.control.change(Settings::default()).await;
    asked.map_or_else(refuse, |status| as_json(&status))
}

async fn change_settings(
    State(api): State<Arc<Api>>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let changed = async {
        let settings = body::read(&api.shared, body, parse).await?;
        api.control.change(settings).await
    };
    changed.await.map_or_else(refuse, |status| as_json(&status))
}

async fn drain_status(State(api): State<Arc<Api>>, Path(port): Path<String>) -> Response {
    draining(&api, &port, None).await
}

async fn drain(State(api): State<Arc<Api>>, Path(port): Path<String>) -> Response {
    draining(&api, &port, Some(true)).await
}

async fn undrain(State(api): State<Arc<Api>>, Path(port): Path<String>) -> Response {
    draining(&api, &port, Some(false)).await
}

async fn draining(api: &Api, port: &str, draining: Option<bool>) -> Response {
    let no_such = |_| Problem::new(404, "no such port", format!("'{port}' is no port"));
    let request = async {
        let port = port.parse().map_err(no_such)?;
        ask(api, Request::Drain { port, draining }).await
    };
    respond(request.await)
}

fn as_json(value: &impl serde::Serialize) -> Response {
    page(Ok(json(value)))
}

/// Events since the one that `Last-Event-ID` names, or from now on.
async fn events(
    State(api): State<Arc<Api>>,
    Extension(Caller { holder, .. }): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let tokens = api.tokens.clone();
    let withdrawn = async move {
        // Nobody gets here without one.
        if let Some(holder) = holder {
            tokens.withdrawn(&holder, Right::Read).await;
        }
    };
    events::watch(&api.shared, api.epoch, &headers, withdrawn).unwrap_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_json_and_names_every_route() {
        let document: serde_json::Value = serde_json::from_str(OPENAPI).expect("JSON");
        let paths = document["paths"].as_object().expect("paths");
        let described: Vec<String> = paths
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("methods").keys();
                methods
                    .filter(|name| *name != "parameters")
                    .map(move |name| format!("{name} {path}"))
            })
            .collect();
        let mut routes = vec![
            "get /livez",
            "get /readyz",
            "get /",
            "get /openapi.json",
            "get /metrics",
            "get /v1/coflows",
            "post /v1/coflows",
            "get /v1/coflows/{id}",
            "patch /v1/coflows/{id}",
            "delete /v1/coflows/{id}",
            "post /v1/coflows/{id}/keep",
            "get /v1/schedule",
            "get /v1/flows",
            "post /v1/flows/community",
            "get /v1/agents",
            "get /v1/relays",
            "get /v1/waiting",
            "get /v1/recording",
            "get /v1/coordinator",
            "get /v1/events",
            "get /v1/admin/settings",
            "patch /v1/admin/settings",
            "get /v1/admin/ports/{port}/drain",
            "put /v1/admin/ports/{port}/drain",
            "delete /v1/admin/ports/{port}/drain",
        ];
        let mut described: Vec<&str> = described.iter().map(String::as_str).collect();
        routes.sort_unstable();
        described.sort_unstable();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_operation_has_an_id_of_its_own_and_a_security_scheme_that_exists() {
        let document: serde_json::Value = serde_json::from_str(OPENAPI).expect("JSON");
        let schemes = &document["components"]["securitySchemes"];
        assert_eq!(schemes["bearer"]["scheme"], "bearer");
        let paths = document["paths"].as_object().expect("paths").values();
        let operations = paths.flat_map(|path| path.as_object().expect("methods"));
        let operations: Vec<_> = operations.filter(|(name, _)| *name != "parameters").collect();
        let ids = operations.iter().map(|(_, operation)| operation["operationId"].as_str());
        let ids: std::collections::BTreeSet<&str> = ids.map(|id| id.expect("an id")).collect();
        assert_eq!(ids.len(), operations.len());
        for (_, operation) in operations.iter().filter(|it| it.1.get("security").is_none()) {
            let answers = |status: &str| operation["responses"].get(status).is_some();
            assert!(["401", "403", "429"].into_iter().all(answers), "{operation}");
        }
        let own = operations.iter().filter_map(|(_, operation)| operation.get("security"));
        for security in own.chain([&document["security"]]) {
            let names = security.as_array().expect("a list").iter().filter_map(|it| it.as_object());
            names.flat_map(|it| it.keys()).for_each(|name| assert!(schemes.get(name).is_some()));
        }
    }
}
