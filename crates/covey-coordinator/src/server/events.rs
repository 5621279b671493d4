//! The stream of events of a client: `GET /v1/events`.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use covey_api::Problem;
use tokio::sync::{broadcast, mpsc};

use super::shared::{Numbered, Shared};
use crate::connections::lock;

/// Events that wait for a client, before it counts as slow.
const WAITING: usize = 64;

/// Streams events since the one that `Last-Event-ID` names, or from now on, until the client's
/// token is `withdrawn`.
///
/// # Errors
/// When the header is wrong, or events after that one are not kept any more.
pub(super) fn watch(
    shared: &Shared,
    epoch: u64,
    headers: &HeaderMap,
    withdrawn: impl Future<Output = ()> + Send + 'static,
) -> Result<Response, Problem> {
    let mut live = shared.events.subscribe();
    let mut past: Vec<Numbered> = Vec::new();
    if let Some(last) = headers.get("last-event-id") {
        let last = last.to_str().ok().and_then(|last| last.split_once('-'));
        let last = last.and_then(|(epoch, number)| {
            Some((epoch.parse::<u64>().ok()?, number.parse::<u64>().ok()?))
        });
        let Some((known, number)) = last else {
            let expected = "Last-Event-ID: expected the id of an event, like 1-0";
            return Err(Problem::new(400, "bad header", expected));
        };
        let remembered = lock(&shared.past);
        let first = remembered.front().map_or(0, |event| event.number);
        if known != epoch || number.saturating_add(1) < first {
            let detail = format!("events before {epoch}-{first} are not kept");
            return Err(Problem::new(410, "compacted", detail));
        }
        past.extend(remembered.iter().filter(|event| event.number > number));
    }
    let (sender, receiver) = mpsc::channel::<Numbered>(WAITING);
    let pass_on = async move {
        let mut next = 0;
        for event in past {
            next = event.number + 1;
            if sender.send(event).await.is_err() {
                return;
            }
        }
        loop {
            match live.recv().await {
                Ok(event) if event.number < next => {}
                Ok(event) => {
                    if sender.send(event).await.is_err() {
                        return;
                    }
                }
                // A slow client is cut off. It comes back with the number of the last event that it
                // has seen.
                Err(
                    broadcast::error::RecvError::Lagged(_) | broadcast::error::RecvError::Closed,
                ) => {
                    return;
                }
            }
        }
    };
    tokio::spawn(async {
        tokio::select! {
            () = pass_on => {}
            () = withdrawn => {}
        }
    });
    let stream = Stream { receiver, epoch };
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

/// The events of a channel, as a stream.
struct Stream {
    receiver: mpsc::Receiver<Numbered>,
    epoch: u64,
}

impl futures_core::Stream for Stream {
    type Item = Result<Event, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let epoch = self.epoch;
        self.receiver.poll_recv(context).map(|next| {
            next.map(|Numbered { number, event }| {
                // An event consists of numbers and names, which can always be serialised.
                let data = serde_json::to_string(&event).unwrap_or_default();
                Ok(Event::default().id(format!("{epoch}-{number}")).data(data))
            })
        })
    }
}
