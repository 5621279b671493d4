//! Bodies of requests as JSON.
//!
//! A thread of the runtime serves many connections, so a large body is not read there. Nor are many
//! large ones at a time: what is read has several times the memory of the text.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use covey_api::{Object, Problem};
use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;

use super::problems::{SMALL_BODY, stopping, too_large};
use super::shared::Shared;

/// Commas and braces of a body that do not separate flows.
const OTHERS: usize = 4096;

/// The most commas of a flow, or of what names it.
const A_FLOW: usize = 8;

/// Has a body read.
pub(super) async fn read<T: Send + 'static>(
    shared: &Arc<Shared>,
    body: Result<Bytes, BytesRejection>,
    read: impl FnOnce(&Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let body = body.map_err(|rejection| match rejection.status().as_u16() {
        413 => too_large(),
        _ => Problem::new(400, "unreadable body", rejection.to_string()),
    })?;
    if body.len() <= SMALL_BODY {
        return read(&body);
    }
    // The client may leave: then the thread goes on, with its permit.
    let permit = shared.large_bodies.clone().acquire_owned().await.map_err(|_| stopping())?;
    let max_flows = shared.max_flows.load(Ordering::Relaxed);
    let reading = spawn_blocking(move || {
        let _permit = permit;
        check_length(&body, max_flows)?;
        read(&body)
    });
    reading.await.map_err(|_| stopping())?
}

/// Refuses a body with more items than any request may have, before they are in memory.
fn check_length(body: &[u8], max_flows: usize) -> Result<(), Problem> {
    let count = |byte: u8| body.iter().filter(|it| **it == byte).count();
    let most = max_flows.saturating_add(OTHERS);
    // Each item is an object, or stands behind a comma; one that moves is two objects.
    if count(b'{') <= most.saturating_mul(2) && count(b',') <= most.saturating_mul(A_FLOW) {
        return Ok(());
    }
    let detail = format!("expected at most {max_flows} flows in all");
    Err(Problem::new(413, "too many flows", detail))
}

/// Reads one object.
pub(super) fn parse<T: DeserializeOwned>(body: &Bytes) -> Result<T, Problem> {
    object(body).map_err(|detail| Problem::new(400, "malformed body", detail))
}

/// Reads JSON; an error begins with the path of the field that is wrong, where there is one.
fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let object = serde_json::from_slice(body).map(|Object(value)| value);
    object.map_err(|error| {
        // Only a second reading keeps track of the field, which would slow down every request.
        let mut json = serde_json::Deserializer::from_slice(body);
        let located = serde_path_to_error::deserialize::<_, Object<T>>(&mut json).err();
        // The path ends in a question mark where the text breaks off, and is a dot outside of all
        // fields.
        let path = located.map(|error| error.path().to_string()).unwrap_or_default();
        match path.trim_end_matches(['.', '?']) {
            "" => error.to_string(),
            path => format!("{path}: {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use covey_api::{CoflowSpec, Community, Update};

    use super::*;

    #[test]
    fn bodies_with_too_many_items_are_not_read() {
        let flow = r#"{"src":0,"dst":1,"bytes":1e9,"attempt":0,"ratio":0.5},"#;
        for (max_flows, text) in [(10_000, flow), (30_000, "12345,"), (5_000, r#"{"a":0},"#)] {
            let many = |count: usize| text.repeat(count).into_bytes();
            assert_eq!(check_length(&many(max_flows), max_flows), Ok(()), "{text}");
            let refused = check_length(&many(100 * max_flows), max_flows).expect_err(text);
            assert_eq!(refused.status, 413);
        }
    }

    #[test]
    fn errors_begin_with_the_path_of_the_field() {
        let spec = |body: &str| object::<CoflowSpec>(body.as_bytes()).expect_err(body);
        let update = |body: &str| object::<Update>(body.as_bytes()).expect_err(body);
        for (message, path) in [
            (spec(r#"{"flows":[{"src":0,"dst":1},{"src":"a","dst":1}]}"#), "flows[1].src: "),
            (spec(r#"{"flows":[{"src":0,"dst":-1}]}"#), "flows[0].dst: "),
            (spec(r#"{"flows":[{"src":0,"dst":1,"bytes":"9"}]}"#), "flows[0].bytes: "),
            (spec(r#"{"flows":[{"src":0}]}"#), "flows[0]: missing field `dst`"),
            (spec(r#"{"flows":[{"src":0,"dst":1,"size":1}]}"#), "flows[0].size: unknown field"),
            (spec(r#"{"flows":7}"#), "flows: "),
            (spec(r#"{"flows":[],"weight":"1"}"#), "weight: "),
            (spec(r#"{"flows":[],"parents":[1,"x"]}"#), "parents"),
            (spec(r#"{"flows":[],"open":1}"#), "open: "),
            (update(r#"{"move":[{"flow":0,"to":{"src":0,"dst":null}}]}"#), "move[0].to.dst: "),
            (update(r#"{"restart":[0,-1]}"#), "restart"),
            (spec("[]"), "invalid type: sequence, expected an object"),
            (update(" []"), "invalid type: sequence, expected an object"),
            (
                object::<Community>(br#"{"community":0.5,"flows":[]}"#).expect_err("a part"),
                "community: invalid value",
            ),
            (spec(r#"{"flows":[[0,1]]}"#), "flows[0]: invalid type: sequence, expected an object"),
            (update(r#"{"add":[[0,1,9]]}"#), "add[0]: invalid type: sequence"),
            (update(r#"{"move":[[0,[0,1]]]}"#), "move[0]: invalid type: sequence"),
            (update(r#"{"move":[{"flow":0,"to":[0,1]}]}"#), "move[0].to: invalid type: sequence"),
            (
                object::<Community>(br#"{"community":1,"flows":[["10.0.0.1:1","10.0.0.2:2"]]}"#)
                    .expect_err("a list"),
                "flows[0]: invalid type: sequence",
            ),
            (spec(""), "EOF "),
            (spec(r#"{"flows":[]} x"#), "trailing characters"),
        ] {
            assert!(message.starts_with(path), "{path}: {message}");
        }
    }
}
