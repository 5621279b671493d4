//! What a relay answers to probes.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use covey_door::Door;
use tokio::sync::watch;

use super::uplink::Uplink;
use crate::connections::{METRICS_TYPE, write_doors};
use covey_credentials::LiveTls;

/// The routes for probes. They need no token, and show counts alone.
pub(super) fn router(
    uplink: watch::Receiver<Option<Arc<Uplink>>>,
    doors: Arc<[Arc<Door>]>,
    tls: Arc<LiveTls>,
) -> Router {
    let joined = uplink.clone();
    let ready = async move || match joined.borrow().is_some() {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not connected to the coordinator\n"),
    };
    let metrics = async move || {
        let name = "covey_relay_joined";
        let joined = u8::from(uplink.borrow().is_some());
        let mut text = format!(
            "# HELP {name} Whether the relay is connected to the coordinator.\n# TYPE {name} gauge\n{name} {joined}\n"
        );
        write_doors(&doors.iter().map(Arc::as_ref).collect::<Vec<_>>(), &mut text);
        tls.write_metrics(&mut text);
        ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response()
    };
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}
