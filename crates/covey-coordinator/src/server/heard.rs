//! What agents have said, until the decision thread has time for it.
//!
//! All agents may report the ends of a wide coflow at once. So what they say is taken over in
//! pieces, and clients are served between them.

use std::collections::VecDeque;

use covey_proto::FromAgent;

use super::command::Command;
use crate::state::SessionId;

/// The most flows of which is taken over what agents say before others are served.
pub(super) const PIECE: usize = 4096;

/// A decision waits until everything is taken over that agents have said, but no longer than for so
/// many flows.
const UNDECIDED: usize = 1 << 20;

/// What agents have said and done, in the order in which it came.
#[derive(Default)]
pub(super) struct Heard {
    queue: VecDeque<Command>,
    /// Flows of what was taken over since the last decision.
    undecided: usize,
}

impl Heard {
    /// An agent has said something, or its connection has come or gone. A long list comes in
    /// pieces.
    pub fn push(&mut self, command: Command) {
        match command {
            Command::Heard(session, FromAgent::Ended(flows)) => {
                self.push_list(session, flows, FromAgent::Ended);
            }
            Command::Heard(session, FromAgent::Sent(flows)) => {
                self.push_list(session, flows, FromAgent::Sent);
            }
            Command::Heard(session, FromAgent::Written(flows)) => {
                self.push_list(session, flows, FromAgent::Written);
            }
            other => self.queue.push_back(other),
        }
    }

    fn push_list<T>(
        &mut self,
        session: SessionId,
        mut list: Vec<T>,
        of: impl Fn(Vec<T>) -> FromAgent,
    ) {
        while list.len() > PIECE {
            let rest = list.split_off(PIECE);
            let piece = std::mem::replace(&mut list, rest);
            self.queue.push_back(Command::Heard(session, of(piece)));
        }
        self.queue.push_back(Command::Heard(session, of(list)));
    }

    /// The next, if this piece has room for it. `flows` counts those of the piece.
    pub fn next(&mut self, flows: &mut usize) -> Option<Command> {
        let next = self.queue.pop_front_if(|next| *flows == 0 || *flows + width(next) <= PIECE)?;
        *flows += width(&next);
        self.undecided += width(&next);
        Some(next)
    }

    /// Takes everything.
    pub fn take_all(&mut self) -> VecDeque<Command> {
        std::mem::take(&mut self.queue)
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether it is time for a decision.
    pub fn is_time(&self) -> bool {
        self.queue.is_empty() || self.undecided >= UNDECIDED
    }

    /// There has been a decision.
    pub fn decided(&mut self) {
        self.undecided = 0;
    }
}

/// How many flows something is about; at least 1.
fn width(command: &Command) -> usize {
    let flows = match command {
        Command::Heard(_, FromAgent::Ended(flows)) => flows.len(),
        Command::Heard(_, FromAgent::Sent(flows)) => flows.len(),
        Command::Heard(_, FromAgent::Written(flows)) => flows.len(),
        _ => 1,
    };
    flows.max(1)
}

#[cfg(test)]
mod tests {
    use covey_proto::{FlowKey, FlowName};

    use super::*;

    fn written(session: SessionId, flows: usize) -> Command {
        let key = |flow| FlowName::Key(FlowKey { coflow: 1, flow: flow as u32 });
        Command::Heard(session, FromAgent::Written((0..flows).map(key).collect()))
    }

    /// What comes in the next piece: sessions, with the first flow and the number of flows.
    fn piece(heard: &mut Heard) -> Vec<(SessionId, Option<u32>, usize)> {
        let (mut flows, mut piece) = (0, Vec::new());
        while let Some(command) = heard.next(&mut flows) {
            piece.push(match command {
                Command::Heard(session, FromAgent::Written(flows)) => {
                    (session, flows.first().and_then(|name| Some(name.key()?.flow)), flows.len())
                }
                Command::Closed(session) => (session, None, 0),
                _ => panic!("nobody said that"),
            });
        }
        piece
    }

    #[test]
    fn what_agents_say_comes_in_pieces_and_in_order() {
        let mut heard = Heard::default();
        assert!(heard.is_time());
        heard.push(written(1, 1000));
        heard.push(written(2, 2 * PIECE + 10));
        heard.push(Command::Closed(2));
        heard.push(written(3, PIECE - 10));
        let pieces = std::iter::from_fn(|| Some(piece(&mut heard)).filter(|it| !it.is_empty()));
        let all: Vec<_> = pieces.collect();
        let whole = PIECE as u32;
        assert_eq!(all[0], [(1, Some(0), 1000)]);
        assert_eq!(all[1], [(2, Some(0), PIECE)]);
        assert_eq!(all[2], [(2, Some(whole), PIECE)]);
        assert_eq!(all[3], [(2, Some(2 * whole), 10), (2, None, 0)]);
        assert_eq!(all[4], [(3, Some(0), PIECE - 10)]);
        assert!(heard.is_time());
    }

    #[test]
    fn a_decision_waits_for_all_that_was_said_but_not_for_ever() {
        let mut heard = Heard::default();
        let mut taken = 0;
        loop {
            heard.push(written(1, PIECE));
            heard.push(written(2, PIECE));
            if heard.is_time() {
                break;
            }
            taken += piece(&mut heard).iter().map(|(.., flows)| flows).sum::<usize>();
        }
        assert_eq!(taken, UNDECIDED);
        heard.decided();
        assert!(!heard.is_time());
    }
}
