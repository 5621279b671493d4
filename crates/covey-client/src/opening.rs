//! Whether a flow is opened where it is registered, and as it is.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use covey_proto::{FlowFacts, FlowKey, OpeningAnswer, OpeningError, Side, WrongOpening};

/// What is known of one end of a flow.
#[derive(Debug)]
pub struct Opening {
    key: FlowKey,
    side: Side,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What the coordinator has answered.
    found: Option<Result<FlowFacts, OpeningError>>,
    /// Whoever waits at this end of the flow.
    waker: Option<Waker>,
}

impl Opening {
    pub fn new(key: FlowKey, side: Side) -> Arc<Opening> {
        Arc::new(Opening { key, side, known: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The coordinator has answered. Wakes whoever waits.
    pub fn answered(&self, answer: OpeningAnswer) {
        let mut known = self.lock();
        known.found = Some(answer.found);
        if let Some(waker) = known.waker.take() {
            waker.wake();
        }
    }

    /// Whether the flow is opened rightly, as far as is known.
    ///
    /// # Errors
    /// When it is not: a [`WrongOpening`].
    pub fn check(&self) -> io::Result<()> {
        match self.lock().found {
            Some(Err(why)) => Err(self.wrong(why)),
            _ => Ok(()),
        }
    }

    /// The same. When the coordinator answers later, the task of `cx` is woken.
    ///
    /// # Errors
    /// Those of [`Opening::check`].
    pub fn poll_check(&self, cx: &Context<'_>) -> io::Result<()> {
        self.check()?;
        match &mut self.lock().waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        self.check()
    }

    /// Bytes that are registered; infinite if they are not known.
    pub fn registered(&self) -> f64 {
        match self.lock().found {
            Some(Ok(FlowFacts { bytes, .. })) => bytes,
            _ => f64::INFINITY,
        }
    }

    /// The error of a flow that is opened wrongly.
    pub fn wrong(&self, why: OpeningError) -> io::Error {
        let Opening { key, side, .. } = *self;
        io::Error::new(io::ErrorKind::InvalidInput, WrongOpening { key, side, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_error_that_says_what_to_do() {
        let key = FlowKey { coflow: 5, flow: 6 };
        let opening = Opening::new(key, Side::Sends);
        opening.check().expect("nothing is known");
        assert_eq!(opening.registered(), f64::INFINITY);
        let answer = |found| OpeningAnswer { key, side: Side::Sends, found };
        opening.answered(answer(Ok(FlowFacts { peer: 1, bytes: 1000.0 })));
        opening.poll_check(&Context::from_waker(Waker::noop())).expect("it is right");
        assert_eq!(opening.registered(), 1000.0);
        opening.answered(answer(Err(OpeningError::OtherHost(7))));
        let error = opening.check().expect_err("it is wrong");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let wrong = error.get_ref().and_then(|it| it.downcast_ref::<WrongOpening>());
        assert_eq!(wrong.map(|it| it.why), Some(OpeningError::OtherHost(7)));
        assert!(error.to_string().contains("the host of port 7"), "{error}");
    }
}
