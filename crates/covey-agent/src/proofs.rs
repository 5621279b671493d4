//! Proofs of flows: what applications of this host show to others, and what others show to them.
//! Without I/O and clock.
//!
//! An application that begins a flow asks for a proof. While the coordinator is heard, the proof is
//! its token; while it is away, or where no coordinator knows the coflow, the agent makes one with
//! the key that all agents have in common. Of a header that comes in, a token is checked with the
//! receiving key of this host's port. The proof of another agent shows only that it is one: for a
//! registered coflow, the coordinator is asked whether it is that of the flow's port, if it is
//! heard.

use std::collections::BTreeMap;

use covey_proto::{
    Direction, FlowAnswer, FlowAsk, FlowCheck, FlowKey, FlowKeys, FlowTokens, Mac, Proof,
    ProofRefusal, Purpose, Token,
};

use crate::app_id::AppId;

/// Number of [`Proofs::tick`]s in a second.
pub const TICKS_A_SECOND: u32 = 5;
/// After so many ticks the coordinator counts as away for what it has been asked.
const PATIENCE: u32 = 4;
/// An application waits so many ticks for a coordinator of which this agent has never heard.
const FIRST_PATIENCE: u32 = 5 * TICKS_A_SECOND;
/// For so many ticks the keys before count, too, and headers without a proof when proofs have just
/// become necessary: other hosts may hear of that later.
const CHANGE_OVER: u32 = 10 * TICKS_A_SECOND;
/// Maximum number of questions that wait for the coordinator.
const MAX_ASKS: usize = 100_000;

/// What an application is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The proof of a flow that it begins.
    Proof(AppId, FlowKey, Direction, Option<Proof>),
    /// Whether a header is refused.
    Checked(AppId, FlowCheck, Option<ProofRefusal>),
}

/// Who waits for an answer of the coordinator.
#[derive(Debug, Default)]
struct Waiting {
    /// Ticks since the question.
    ticks: u32,
    /// Applications that begin the flow, one for each time that it has asked.
    apps: Vec<AppId>,
    /// Headers that others have sent.
    checks: Vec<(AppId, FlowCheck)>,
}

/// The keys in force, and those before.
#[derive(Debug)]
struct Keys {
    present: FlowKeys,
    mac: Mac,
    /// They count for so many ticks.
    former: Option<(FlowKeys, u32)>,
}

impl Keys {
    /// Whether a proof is right, apart from who may show it.
    fn is_right(&self, proof: Proof, direction: Direction, flow: FlowKey) -> bool {
        let former = self.former.iter().map(|(keys, _)| keys);
        former.chain([&self.present]).any(|keys| match proof {
            Proof::Coordinator(token) => keys.receiving.sign(self.mac, direction, flow) == token,
            Proof::Agent { token, .. } => keys.fabric.sign(self.mac, direction, flow) == token,
        })
    }

    /// The proof that this agent makes.
    fn own(&self, direction: Direction, flow: FlowKey) -> Proof {
        let FlowKeys { sending, fabric, .. } = self.present;
        Proof::Agent {
            token: fabric.sign(self.mac, direction, flow),
            seal: sending.sign(self.mac, direction, flow),
        }
    }
}

/// The proofs of a host's flows.
#[derive(Debug, Default)]
pub struct Proofs {
    keys: Option<Keys>,
    /// The mode that the coordinator has said last; `None`: none has been heard.
    mode: Option<FlowTokens>,
    /// Whether the coordinator has said the keys in the present session.
    is_heard: bool,
    /// For so many ticks headers need no proof.
    lenient: u32,
    waiting: BTreeMap<FlowAsk, Waiting>,
    /// Questions that the coordinator has not been asked yet.
    unasked: Vec<FlowAsk>,
    refused: u64,
    unproven: u64,
}

/// Whether a coordinator knows the coflow of a flow.
fn is_registered(flow: FlowKey) -> bool {
    flow.coflow >> 63 == 0
}

impl Proofs {
    /// Whether headers show proofs and are checked.
    pub fn is_proving(&self) -> bool {
        self.mode.is_some_and(|mode| mode != FlowTokens::Off)
    }

    /// Whether a coordinator has said whether headers show proofs.
    pub fn is_known(&self) -> bool {
        self.mode.is_some()
    }

    /// The coordinator has said keys and mode, or speaks a version without proofs.
    pub fn set_keys(&mut self, keys: Option<(FlowKeys, Mac)>, told: &mut Vec<Told>) {
        let mode = keys.map_or(FlowTokens::Off, |(keys, _)| keys.mode);
        let before = self.mode.replace(mode);
        if mode != FlowTokens::On {
            self.lenient = 0;
        } else if before.is_some_and(|before| before != FlowTokens::On) {
            self.lenient = CHANGE_OVER;
        }
        self.is_heard = keys.is_some();
        let former = self.keys.take();
        self.keys = keys.map(|(present, mac)| {
            let former = former.and_then(|former| match former.present == present {
                true => former.former,
                false => Some((former.present, CHANGE_OVER)),
            });
            Keys { present, mac, former }
        });
        if before.is_none() {
            // They have waited for this.
            for (FlowAsk { key, direction, .. }, waiting) in std::mem::take(&mut self.waiting) {
                waiting.apps.into_iter().for_each(|app| self.ask(app, key, direction, told));
                waiting.checks.into_iter().for_each(|(app, check)| self.check(app, check, told));
            }
        }
    }

    /// The session with the coordinator is over.
    pub fn left(&mut self, told: &mut Vec<Told>) {
        self.is_heard = false;
        self.unasked.clear();
        let asks = self.waiting.keys().copied();
        let over: Vec<FlowAsk> = asks.filter(|ask| self.patience(ask) == PATIENCE).collect();
        over.into_iter().for_each(|ask| self.unanswered(ask, told));
    }

    /// After how many ticks the coordinator counts as away for a question. An agent without keys
    /// cannot make a proof, and the flow would be refused.
    fn patience(&self, ask: &FlowAsk) -> u32 {
        match (self.is_known(), ask.purpose) {
            (false, Purpose::Show) => FIRST_PATIENCE,
            _ => PATIENCE,
        }
    }

    /// An application begins a flow.
    pub fn ask(&mut self, app: AppId, key: FlowKey, direction: Direction, told: &mut Vec<Told>) {
        let may_wait = self.is_proving() && self.is_heard && is_registered(key);
        // An application that asks knows from an agent before this one that proofs are necessary.
        if may_wait || !self.is_known() {
            let ask = FlowAsk { key, direction, purpose: Purpose::Show };
            if let Some(waiting) = self.wait(ask) {
                waiting.apps.push(app);
                return;
            }
        }
        told.push(Told::Proof(app, key, direction, self.own(direction, key)));
    }

    /// What is waited for with a question, which is asked if it has not been; `None` if there are
    /// too many.
    fn wait(&mut self, ask: FlowAsk) -> Option<&mut Waiting> {
        let is_new = !self.waiting.contains_key(&ask);
        if is_new && self.waiting.len() >= MAX_ASKS {
            return None;
        }
        if is_new && self.is_heard {
            self.unasked.push(ask);
        }
        Some(self.waiting.entry(ask).or_default())
    }

    /// The proof of a flow without the coordinator. Where none is necessary there is none: only the
    /// coordinator knows whether the other host could read it.
    fn own(&self, direction: Direction, flow: FlowKey) -> Option<Proof> {
        let keys = self.keys.as_ref().filter(|keys| keys.present.mode == FlowTokens::On)?;
        Some(keys.own(direction, flow))
    }

    /// A header has come from another host.
    pub fn check(&mut self, app: AppId, check: FlowCheck, told: &mut Vec<Told>) {
        let FlowCheck { key, direction, proof, .. } = check;
        let seal = match proof {
            Some(Proof::Agent { seal, .. }) => seal.0,
            _ => Token::default().0,
        };
        let confirm = FlowAsk { key, direction, purpose: Purpose::Confirm(seal) };
        if !self.is_known()
            && let Some(waiting) = self.wait(confirm)
        {
            return waiting.checks.push((app, check));
        }
        let Some(keys) = self.keys.as_ref().filter(|_| self.is_proving()) else {
            return told.push(Told::Checked(app, check, None));
        };
        let refusal = match proof {
            None if self.mode == Some(FlowTokens::On) && self.lenient == 0 => {
                Some(ProofRefusal::Missing)
            }
            None => {
                self.unproven += 1;
                None
            }
            Some(proof) if !keys.is_right(proof, direction, key) => Some(ProofRefusal::Wrong),
            Some(Proof::Agent { .. }) if self.is_heard && is_registered(key) => {
                if let Some(waiting) = self.wait(confirm) {
                    return waiting.checks.push((app, check));
                }
                Some(ProofRefusal::OtherPort)
            }
            Some(_) => None,
        };
        self.checked(app, check, refusal, told);
    }

    fn checked(
        &mut self,
        app: AppId,
        check: FlowCheck,
        refusal: Option<ProofRefusal>,
        told: &mut Vec<Told>,
    ) {
        self.refused += u64::from(refusal.is_some());
        told.push(Told::Checked(app, check, refusal));
    }

    /// The coordinator has answered.
    pub fn answered(&mut self, answers: &[FlowAnswer], told: &mut Vec<Told>) {
        for FlowAnswer { ask, granted } in answers {
            let FlowAsk { key, direction, .. } = *ask;
            let Some(Waiting { apps, checks, .. }) = self.waiting.remove(ask) else { continue };
            let proof = granted.map(Proof::Coordinator);
            told.extend(apps.into_iter().map(|app| Told::Proof(app, key, direction, proof)));
            let refusal = granted.is_none().then_some(ProofRefusal::OtherPort);
            checks.into_iter().for_each(|(app, check)| self.checked(app, check, refusal, told));
        }
    }

    /// The coordinator is away, and does not answer.
    fn unanswered(&mut self, ask: FlowAsk, told: &mut Vec<Told>) {
        let Some(waiting) = self.waiting.remove(&ask) else { return };
        let FlowAsk { key, direction, .. } = ask;
        let proof = self.own(direction, key);
        told.extend(waiting.apps.into_iter().map(|app| Told::Proof(app, key, direction, proof)));
        waiting.checks.into_iter().for_each(|(app, check)| self.checked(app, check, None, told));
    }

    /// A fifth of a second has gone by.
    pub fn tick(&mut self, told: &mut Vec<Told>) {
        self.lenient = self.lenient.saturating_sub(1);
        if let Some(keys) = &mut self.keys {
            keys.former = keys.former.and_then(|(keys, left)| Some((keys, left.checked_sub(1)?)));
        }
        self.waiting.values_mut().for_each(|waiting| waiting.ticks += 1);
        let late: Vec<FlowAsk> = self
            .waiting
            .iter()
            .filter(|(ask, waiting)| waiting.ticks >= self.patience(ask))
            .map(|(ask, _)| *ask)
            .collect();
        late.into_iter().for_each(|ask| self.unanswered(ask, told));
    }

    /// Whether the coordinator has to be asked something.
    pub fn has_asks(&self) -> bool {
        !self.unasked.is_empty()
    }

    /// Takes what the coordinator has to be asked.
    pub fn take_asks(&mut self) -> Vec<FlowAsk> {
        std::mem::take(&mut self.unasked)
    }

    /// Takes the numbers of headers that were refused, and of those that were taken without a
    /// proof, since the last call.
    pub fn take_counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.refused), std::mem::take(&mut self.unproven))
    }
}

#[cfg(test)]
mod tests;
