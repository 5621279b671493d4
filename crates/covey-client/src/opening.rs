//! Whether flows are opened where they are registered, and as they are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use covey_proto::{
    FlowFacts, FlowKey, FlowOpening, OpeningAnswer, OpeningError, Side, WrongOpening,
};

/// The ends of flows that are open here, by flow and side: of each the latest. One is open for as
/// long as somebody has it; nobody has to say that it is over.
#[derive(Debug)]
pub struct Openings {
    latest: BTreeMap<(FlowKey, Side), Weak<Opening>>,
    /// Ends with a question under way, at most one: so an answer is the one to that. With it, what
    /// is asked next, if the end was opened again since.
    asked: BTreeMap<(FlowKey, Side), Option<FlowOpening>>,
    /// How many of these there are when those that nobody has any more are forgotten next.
    prune_at: usize,
}

/// Number of ends of flows that may be kept although nobody has them open.
const MIN_PRUNED: usize = 1000;

impl Default for Openings {
    fn default() -> Openings {
        let (latest, asked) = (BTreeMap::new(), BTreeMap::new());
        Openings { latest, asked, prune_at: MIN_PRUNED }
    }
}

impl Openings {
    /// One end of a flow is opened. If this end has it open to send already, the earlier opening is
    /// over, and is told. Where nobody is asked, the new opening passes for right.
    pub fn begin(&mut self, what: FlowOpening, is_asked: bool) -> Arc<Opening> {
        if self.latest.len() >= self.prune_at {
            self.latest.retain(|_, opening| opening.strong_count() > 0);
            self.prune_at = 2 * self.latest.len() + MIN_PRUNED;
        }
        let passes = FlowFacts { peer: 0, bytes: f64::INFINITY };
        let found = (!is_asked).then_some(Ok(passes));
        let known = Known { found, ..Known::default() };
        let opening = Arc::new(Opening { what, known: Mutex::new(known) });
        let before = self.latest.insert((what.key, what.side), Arc::downgrade(&opening));
        if what.side == Side::Sends
            && let Some(before) = before.and_then(|before| before.upgrade())
        {
            before.answered(Err(OpeningError::Taken));
        }
        opening
    }

    /// Somebody asks what is registered of a flow. Returns whether it is to be asked now, and not
    /// after the answer to an earlier question.
    pub fn ask(&mut self, what: FlowOpening) -> bool {
        match self.asked.entry((what.key, what.side)) {
            Entry::Vacant(none) => {
                none.insert(None);
                true
            }
            Entry::Occupied(mut next) => {
                next.insert(Some(what));
                false
            }
        }
    }

    /// The coordinator has answered what is registered of a flow. Returns what is to be asked next.
    pub fn answered(&mut self, answer: &OpeningAnswer) -> Option<FlowOpening> {
        let at = (answer.key, answer.side);
        let opening = self.latest.get(&at).and_then(Weak::upgrade);
        // That it was opened again is what agents say unasked.
        if answer.found != Err(OpeningError::Taken) {
            let next = self.asked.remove(&at).flatten().filter(|_| opening.is_some());
            if next.is_some() {
                self.asked.insert(at, None);
                return next;
            }
        }
        if let Some(opening) = opening {
            opening.answered(answer.found);
        }
        None
    }

    /// The coordinator has ended a flow that is sent from here.
    pub fn cancelled(&self, key: FlowKey) {
        let opening = self.latest.get(&(key, Side::Sends)).and_then(Weak::upgrade);
        if let Some(opening) = opening {
            opening.change(|known| known.is_cancelled = true);
        }
    }

    /// The agent that was asked is gone. Returns what one that has come is to ask: all ends to send
    /// that are open, and others that have no answer.
    pub fn ask_again(&mut self) -> Vec<FlowOpening> {
        let open = self.latest.values().filter_map(Weak::upgrade);
        let asked = open.filter(|it| it.what.side == Side::Sends || it.is_asked());
        let asked: Vec<FlowOpening> = asked.map(|opening| opening.what).collect();
        self.asked = asked.iter().map(|what| ((what.key, what.side), None)).collect();
        asked
    }
}

/// What the writer of a flow hears that nobody needs any more.
pub fn cancelled() -> io::Error {
    let what = "the flow was cancelled: another attempt of its transfer has ended, or a client has asked for it or has given the coflow up";
    io::Error::new(io::ErrorKind::ConnectionAborted, what)
}

/// What is known of one end of a flow.
#[derive(Debug)]
pub struct Opening {
    what: FlowOpening,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What the coordinator has answered.
    found: Option<Result<FlowFacts, OpeningError>>,
    /// Whether nobody needs the flow any more.
    is_cancelled: bool,
    /// Whoever waits at this end of the flow.
    waker: Option<Waker>,
}

impl Opening {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The coordinator has answered. Wakes whoever waits.
    fn answered(&self, found: Result<FlowFacts, OpeningError>) {
        self.change(|known| known.found = Some(found));
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.lock();
        change(&mut known);
        if let Some(waker) = known.waker.take() {
            waker.wake();
        }
    }

    /// Whether the flow is opened rightly and needed, as far as is known.
    ///
    /// # Errors
    /// When it is not: a [`WrongOpening`], or [`cancelled`].
    pub fn check(&self) -> io::Result<()> {
        match *self.lock() {
            Known { found: Some(Err(why)), .. } => Err(self.wrong(why)),
            Known { found: Some(Ok(_)), is_cancelled: true, .. } => Err(cancelled()),
            _ => Ok(()),
        }
    }

    /// Whether nobody has answered yet.
    pub fn is_asked(&self) -> bool {
        self.lock().found.is_none()
    }

    /// Whether the flow is opened rightly.
    pub fn is_right(&self) -> bool {
        matches!(self.lock().found, Some(Ok(_)))
    }

    /// Whether the flow is opened rightly, and nobody needs it any more.
    pub fn is_cancelled(&self) -> bool {
        let known = self.lock();
        known.is_cancelled && matches!(known.found, Some(Ok(_)))
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
        let FlowOpening { key, side, .. } = self.what;
        io::Error::new(io::ErrorKind::InvalidInput, WrongOpening { key, side, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: FlowKey = FlowKey { coflow: 5, flow: 6 };

    fn opened(openings: &mut Openings, side: Side) -> Arc<Opening> {
        openings.begin(FlowOpening { key: KEY, side, bytes: 1000.0 }, true)
    }

    #[test]
    fn an_answer_is_an_error_that_says_what_to_do() {
        let mut openings = Openings::default();
        let opening = opened(&mut openings, Side::Sends);
        opening.check().expect("nothing is known");
        assert_eq!(opening.registered(), f64::INFINITY);
        let answer = |found| OpeningAnswer { key: KEY, side: Side::Sends, found };
        openings.answered(&answer(Ok(FlowFacts { peer: 1, bytes: 1000.0 })));
        opening.poll_check(&Context::from_waker(Waker::noop())).expect("it is right");
        assert_eq!(opening.registered(), 1000.0);
        openings.answered(&answer(Err(OpeningError::OtherHost(7))));
        let error = opening.check().expect_err("it is wrong");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let wrong = error.get_ref().and_then(|it| it.downcast_ref::<WrongOpening>());
        assert_eq!(wrong.map(|it| it.why), Some(OpeningError::OtherHost(7)));
        assert!(error.to_string().contains("the host of port 7"), "{error}");
    }

    #[test]
    fn an_answer_to_an_earlier_opening_is_not_that_of_the_latest() {
        let mut openings = Openings::default();
        let what = FlowOpening { key: KEY, side: Side::Sends, bytes: 1000.0 };
        let found = |found| OpeningAnswer { key: KEY, side: Side::Sends, found };
        let right = found(Ok(FlowFacts { peer: 1, bytes: 7.0 }));
        let (first, second) = (openings.begin(what, true), openings.begin(what, true));
        assert!(openings.ask(what));
        assert!(!openings.ask(what));
        drop(first);
        // The answer to the first, and that to the second.
        assert_eq!(openings.answered(&right), Some(what));
        assert!(second.is_asked());
        assert_eq!(openings.answered(&found(Err(OpeningError::FlowOver))), None);
        second.check().expect_err("it is over");
        // Nothing is asked for somebody who is gone.
        assert!(openings.ask(what));
        assert!(!openings.ask(what));
        drop(second);
        assert_eq!(openings.answered(&right), None);
        assert!(openings.ask(what));
    }

    #[test]
    fn a_flow_that_was_cancelled_hears_first_whether_it_is_opened_rightly() {
        let over = OpeningError::CoflowOver;
        for (found, kind) in [
            (Ok(FlowFacts { peer: 1, bytes: 7.0 }), io::ErrorKind::ConnectionAborted),
            (Err(over), io::ErrorKind::InvalidInput),
        ] {
            let mut openings = Openings::default();
            let opening = opened(&mut openings, Side::Sends);
            openings.cancelled(KEY);
            opening.check().expect("nothing is answered yet");
            openings.answered(&OpeningAnswer { key: KEY, side: Side::Sends, found });
            assert_eq!(opening.check().expect_err("it is over").kind(), kind);
        }
        // Where nobody is asked, it passes.
        let mut openings = Openings::default();
        let what = FlowOpening { key: KEY, side: Side::Sends, bytes: 1000.0 };
        let opening = openings.begin(what, false);
        assert!(opening.is_right());
        openings.cancelled(KEY);
        assert!(opening.is_cancelled());
    }

    /// However an earlier opening ends, the latest has the answers.
    #[test]
    fn the_latest_of_a_flow_has_the_answers_and_the_one_before_is_told() {
        let mut openings = Openings::default();
        let first = opened(&mut openings, Side::Sends);
        let second = opened(&mut openings, Side::Sends);
        let receiving = opened(&mut openings, Side::Receives);
        let error = first.check().expect_err("it was opened again");
        assert!(error.to_string().contains("opened again on this host"), "{error}");
        drop(first);
        assert_eq!(openings.ask_again().len(), 2);
        for side in [Side::Sends, Side::Receives] {
            let found = Ok(FlowFacts { peer: 1, bytes: 7.0 });
            openings.answered(&OpeningAnswer { key: KEY, side, found });
        }
        assert_eq!((second.registered(), receiving.registered()), (7.0, 7.0));
        // An agent that comes back is asked again of what is sent alone.
        let asked = openings.ask_again();
        assert_eq!(asked.iter().map(|it| it.side).collect::<Vec<_>>(), [Side::Sends]);
        openings.cancelled(KEY);
        let error = second.check().expect_err("nobody needs it");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
        receiving.check().expect("the sender is to hear");
        drop(second);
        assert_eq!(openings.ask_again(), []);
    }
}
