//! Which ends of flows applications have open, what the coordinator is asked of them, and who hears
//! the answers.
//!
//! The coordinator answers every question of a session, those about one end in order. So each
//! application hears the answers to its own questions, however often a flow is opened. At the next
//! session all that is open is asked again, because the coordinator may be another one.

use std::collections::{BTreeMap, VecDeque};

use covey_proto::{Ended, FlowKey, FlowOpening, OpeningAnswer, Side};

use crate::app_id::AppId;

/// Maximum number of ends that are followed. Others go unchecked.
pub const MAX_ENDS: usize = 200_000;

/// One end of a flow, which is open or is asked for.
#[derive(Debug, Default)]
struct End {
    /// The latest opening, while it is open.
    open: Option<Open>,
    /// Who asks the questions that are under way, in order.
    askers: VecDeque<AppId>,
}

impl End {
    fn is_over(&self) -> bool {
        self.open.is_none() && self.askers.is_empty()
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    app: AppId,
    what: FlowOpening,
    /// Whether it was found to be right. It stays so, also for a coordinator that has lost its
    /// journal.
    is_right: bool,
}

/// The ends of flows that applications have open.
#[derive(Debug, Default)]
pub struct Openings {
    ends: BTreeMap<(FlowKey, Side), End>,
    /// Whether there is a coordinator that answers.
    is_answered: bool,
    /// Questions that have not been passed on yet, in order.
    unasked: Vec<FlowOpening>,
    /// Openings that went unchecked, because there are too many ends.
    pub unchecked: u64,
}

impl Openings {
    /// An application has opened one end of a flow. Returns whether the coordinator is asked now.
    pub fn opens(&mut self, app: AppId, what: FlowOpening) -> bool {
        let at = (what.key, what.side);
        if self.ends.len() >= MAX_ENDS && !self.ends.contains_key(&at) {
            self.unchecked += 1;
            return false;
        }
        let end = self.ends.entry(at).or_default();
        end.open = Some(Open { app, what, is_right: false });
        if self.is_answered {
            end.askers.push_back(app);
            self.unasked.push(what);
        }
        self.is_answered
    }

    /// An application does not send a flow any more. Another one may have opened it since.
    pub fn closed(&mut self, app: AppId, key: FlowKey) {
        let at = (key, Side::Sends);
        let Some(end) = self.ends.get_mut(&at) else { return };
        end.open = end.open.filter(|open| open.app != app);
        if end.is_over() {
            self.ends.remove(&at);
        }
    }

    /// An application is gone.
    pub fn left(&mut self, app: AppId) {
        self.ends.retain(|_, end| {
            end.open = end.open.filter(|open| open.app != app);
            !end.is_over()
        });
    }

    /// The application that sends a flow.
    pub fn sender(&self, key: FlowKey) -> Option<AppId> {
        Some(self.ends.get(&(key, Side::Sends))?.open?.app)
    }

    /// The coordinator has answered. Returns the application that is to hear of it, if there is
    /// one.
    pub fn answered(&mut self, answer: &OpeningAnswer) -> Option<AppId> {
        let at = (answer.key, answer.side);
        let end = self.ends.get_mut(&at)?;
        let asker = end.askers.pop_front()?;
        let mut is_told = true;
        if end.askers.is_empty() {
            if let Some(open) = &mut end.open {
                is_told = answer.found.is_ok() || !open.is_right;
                open.is_right |= answer.found.is_ok();
            }
            if answer.side == Side::Receives {
                // Nobody says when it is over.
                end.open = None;
            }
        }
        if end.is_over() {
            self.ends.remove(&at);
        }
        is_told.then_some(asker)
    }

    /// A session with a coordinator has begun, which answers or is too old for it. To be called
    /// after [`Openings::disconnected`].
    pub fn joined(&mut self, is_answered: bool) {
        self.is_answered = is_answered;
        if is_answered {
            for end in self.ends.values_mut() {
                end.askers.extend(end.open.map(|open| open.app));
                self.unasked.extend(end.open.map(|open| open.what));
            }
        }
    }

    /// The session is over, and nothing is answered any more. Returns the questions that were under
    /// way, by who has asked them.
    pub fn disconnected(&mut self) -> Vec<(AppId, FlowKey, Side)> {
        self.is_answered = false;
        self.unasked.clear();
        let mut unanswered = Vec::new();
        self.ends.retain(|&(key, side), end| {
            unanswered.extend(end.askers.drain(..).map(|app| (app, key, side)));
            !end.is_over()
        });
        unanswered
    }

    /// Whether the coordinator has to be asked something.
    pub fn has_questions(&self) -> bool {
        !self.unasked.is_empty()
    }

    /// Takes what the coordinator has to be asked, but for flows that were opened once more after
    /// an end that it has not heard of yet. `ended` are those ends.
    pub fn take(&mut self, ended: &[Ended]) -> Vec<FlowOpening> {
        let mut taken = std::mem::take(&mut self.unasked);
        let is_open = |at: &(FlowKey, Side)| self.ends.get(at).is_some_and(|it| it.open.is_some());
        let waits = |what: &mut FlowOpening| {
            is_open(&(what.key, what.side)) && ended.iter().any(|it| it.key == what.key.into())
        };
        self.unasked = taken.extract_if(.., waits).collect();
        taken
    }
}

#[cfg(test)]
mod tests {
    use covey_proto::{FlowFacts, OpeningError};

    use super::*;

    const A: FlowKey = FlowKey { coflow: 1, flow: 0 };
    const RIGHT: Result<FlowFacts, OpeningError> = Ok(FlowFacts { peer: 7, bytes: 1.0 });
    const OVER: Result<FlowFacts, OpeningError> = Err(OpeningError::FlowOver);

    fn opening(bytes: f64) -> FlowOpening {
        FlowOpening { key: A, side: Side::Sends, bytes }
    }

    fn answer(found: Result<FlowFacts, OpeningError>) -> OpeningAnswer {
        OpeningAnswer { key: A, side: Side::Sends, found }
    }

    fn asking() -> Openings {
        let mut openings = Openings::default();
        openings.joined(true);
        openings
    }

    #[test]
    fn each_question_has_an_answer() {
        let mut openings = asking();
        openings.opens(1, opening(1.0));
        assert_eq!(openings.take(&[]), [opening(1.0)]);
        // The flow ends, and is opened twice more, before the first answer.
        openings.closed(1, A);
        openings.opens(1, opening(2.0));
        openings.opens(1, opening(3.0));
        assert_eq!(openings.take(&[]), [opening(2.0), opening(3.0)]);
        // The application has asked three times.
        for found in [RIGHT, OVER, OVER] {
            assert_eq!(openings.answered(&answer(found)), Some(1));
        }
        // Nobody has asked.
        assert_eq!(openings.answered(&answer(RIGHT)), None);
    }

    #[test]
    fn a_flow_that_is_opened_after_its_end_is_asked_for_after_its_end() {
        let ended = [Ended { key: A.into(), bytes: 1.0, wire: 1.0 }];
        let mut openings = asking();
        openings.opens(1, opening(1.0));
        openings.closed(1, A);
        // The flow has ended before anything was asked. The coordinator is asked all the same: a
        // wrong opening is counted.
        assert_eq!(openings.take(&ended), [opening(1.0)]);
        assert_eq!(openings.answered(&answer(OVER)), Some(1));
        openings.opens(1, opening(2.0));
        assert_eq!(openings.take(&ended), []);
        assert!(openings.has_questions());
        assert_eq!(openings.take(&[]), [opening(2.0)]);
        assert_eq!(openings.answered(&answer(OVER)), Some(1));
    }

    #[test]
    fn whoever_has_asked_hears_the_answer() {
        let mut openings = asking();
        openings.opens(1, opening(1.0));
        openings.opens(2, opening(1.0));
        openings.closed(1, A);
        assert_eq!(openings.take(&[]).len(), 2);
        assert_eq!(
            openings.answered(&answer(RIGHT)),
            Some(1),
            "the question was that of the first"
        );
        assert_eq!(openings.answered(&answer(RIGHT)), Some(2));
        openings.left(2);
        assert!(openings.ends.is_empty());
    }

    #[test]
    fn a_coordinator_that_comes_is_asked_again_and_a_flow_that_was_right_stays_so() {
        let mut openings = Openings::default();
        openings.opens(1, opening(1.0));
        assert_eq!(openings.take(&[]), [], "nobody would answer");
        openings.joined(true);
        assert_eq!(openings.take(&[]), [opening(1.0)]);
        assert_eq!(openings.answered(&answer(RIGHT)), Some(1));
        assert_eq!(openings.disconnected(), []);
        openings.joined(true);
        assert_eq!(openings.take(&[]), [opening(1.0)]);
        let lost = answer(Err(OpeningError::Unregistered));
        assert_eq!(openings.answered(&lost), None);
        // What is opened now is another matter.
        openings.opens(1, opening(1.0));
        openings.take(&[]);
        assert_eq!(openings.answered(&lost), Some(1));
        // What is under way is not answered any more.
        openings.opens(1, opening(1.0));
        assert_eq!(openings.disconnected(), [(1, A, Side::Sends)]);
        // A coordinator of an older version does not answer; nothing stays behind.
        openings.joined(false);
        openings.opens(1, opening(1.0));
        assert_eq!(openings.take(&[]), []);
        openings.closed(1, A);
        assert!(openings.ends.is_empty());
    }

    #[test]
    fn nothing_stays_of_flows_that_are_over() {
        let mut openings = asking();
        openings.opens(1, opening(1.0));
        openings.opens(1, FlowOpening { side: Side::Receives, ..opening(1.0) });
        openings.take(&[]);
        openings.closed(1, A);
        assert_eq!(openings.answered(&answer(RIGHT)), Some(1));
        let received = OpeningAnswer { side: Side::Receives, ..answer(RIGHT) };
        assert_eq!(openings.answered(&received), Some(1));
        assert!(openings.ends.is_empty());
    }
}
