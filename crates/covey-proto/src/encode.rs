//! The layouts of the messages between agent and coordinator, as docs/protocol.md describes them.

use crate::bytes::{ADDRESS, IP, Reader, Write};
use crate::codec::CodecName;
use crate::direction::Direction;
use crate::flow::{FlowKey, FlowName};
use crate::frame::Message;
use crate::message::{
    Appearance, Appeared, Compressor, Ended, Entry, FlowAnnouncement, FromAgent, Hello, Links,
    MAX_FROM_AGENT, MAX_TO_AGENT, Processor, Refusal, ReportThreshold, Schedule, Sent, Service,
    ToAgent, Use, Uses, Welcome,
};
use crate::opening::{
    read_opening_answers, read_openings, read_passings, read_turns, write_opening_answers,
    write_openings, write_passings, write_turns,
};
use crate::proof::{FlowAnswer, FlowAsk, FlowKeys, FlowTokens, Key, Purpose, TOKEN, Token};
use crate::version::{APPEARANCES, USES};

/// Bytes of an item in a body.
pub(crate) const ENTRY: usize = 25;
pub(crate) const KEY: usize = 12;
const OF_FLOW: usize = 28;
const THRESHOLD: usize = 16;
const COMPRESSOR: usize = 17;
const OF_USE: usize = 13;
const NUMBER: usize = 8;
const ANNOUNCEMENT: usize = 9 + KEY;
const APPEARANCE: usize = 17 + 2 * ADDRESS;
const ASK: usize = KEY + 2 + TOKEN;
const ANSWER: usize = ASK + 1 + TOKEN;

pub(crate) fn write_entries(entries: &[Entry], out: &mut Vec<u8>) {
    for &Entry { key, service: Service { layer, rate, codec } } in entries {
        out.name(key);
        out.u32(layer);
        out.f64(rate);
        out.push(CodecName::byte(codec));
    }
}

pub(crate) fn read_entry(body: &mut Reader<'_>) -> Option<Entry> {
    Some(Entry {
        key: body.name()?,
        service: Service {
            layer: body.u32()?,
            rate: body.finite()?,
            codec: CodecName::read(body)?,
        },
    })
}

pub(crate) fn write_names<N: Copy + Into<FlowName>>(kind: u8, names: &[N], out: &mut Vec<u8>) {
    out.push(kind);
    out.u32(names.len() as u32);
    names.iter().for_each(|&name| out.name(name));
}

pub(crate) fn read_names(body: &mut Reader<'_>) -> Option<Vec<FlowName>> {
    let count = body.u32()?;
    body.items(count, KEY, Reader::name)
}

pub(crate) fn read_keys(body: &mut Reader<'_>) -> Option<Vec<FlowKey>> {
    let count = body.u32()?;
    body.items(count, KEY, Reader::key)
}

pub(crate) fn write_ended(flows: &[Ended], out: &mut Vec<u8>) {
    out.u32(flows.len() as u32);
    for &Ended { key, bytes, wire } in flows {
        out.name(key);
        out.f64(bytes);
        out.f64(wire);
    }
}

pub(crate) fn read_ended(body: &mut Reader<'_>) -> Option<Vec<Ended>> {
    let count = body.u32()?;
    body.items(count, OF_FLOW, |body| {
        Some(Ended { key: body.name()?, bytes: body.volume()?, wire: body.volume()? })
    })
}

pub(crate) fn write_sent(flows: &[Sent], out: &mut Vec<u8>) {
    out.u32(flows.len() as u32);
    for &Sent { key, bytes, wire } in flows {
        out.name(key);
        out.f64(bytes);
        out.f64(wire);
    }
}

pub(crate) fn read_sent(body: &mut Reader<'_>) -> Option<Vec<Sent>> {
    let count = body.u32()?;
    body.items(count, OF_FLOW, |body| {
        Some(Sent { key: body.name()?, bytes: body.volume()?, wire: body.volume()? })
    })
}

fn read_processor(body: &mut Reader<'_>) -> Option<Processor> {
    let share = body.finite().filter(|share| *share <= 1.0)?;
    let count = body.u8()?;
    let compressors = body.items(count.into(), COMPRESSOR, |body| {
        Some(Compressor {
            codec: CodecName::read(body)??,
            speed: body.finite().filter(|speed| *speed > 0.0)?,
            ratio: body.finite()?,
        })
    })?;
    Some(Processor { share, compressors })
}

fn write_numbers(numbers: &[u64], out: &mut Vec<u8>) {
    out.u32(numbers.len() as u32);
    numbers.iter().for_each(|&number| out.u64(number));
}

fn read_numbers(body: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = body.u32()?;
    body.items(count, NUMBER, Reader::u64)
}

pub(crate) fn refusal_byte(refusal: Refusal) -> u8 {
    match refusal {
        Refusal::Version => 1,
        Refusal::Credential => 2,
        Refusal::Port => 3,
        Refusal::Order => 4,
        Refusal::Replaced => 5,
        Refusal::Full => 6,
    }
}

pub(crate) fn read_refusal(body: &mut Reader<'_>) -> Option<Refusal> {
    Some(match body.u8()? {
        1 => Refusal::Version,
        2 => Refusal::Credential,
        3 => Refusal::Port,
        4 => Refusal::Order,
        5 => Refusal::Replaced,
        6 => Refusal::Full,
        _ => return None,
    })
}

fn read_flag(body: &mut Reader<'_>) -> Option<bool> {
    match body.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn write_uses(uses: &Uses, out: &mut Vec<u8>) {
    out.push(u8::from(uses.all));
    out.u32(uses.flows.len() as u32);
    for &(key, of) in &uses.flows {
        out.name(key);
        out.push(match of {
            Use::Moves => 0,
            Use::Idle => 1,
            Use::Closed => 2,
        });
    }
    write_numbers(&uses.unopened, out);
}

fn read_uses(body: &mut Reader<'_>) -> Option<Uses> {
    let all = read_flag(body)?;
    let count = body.u32()?;
    let flows = body.items(count, OF_USE, |body| {
        let name = body.name()?;
        let of = match body.u8()? {
            0 => Use::Moves,
            1 => Use::Idle,
            2 => Use::Closed,
            _ => return None,
        };
        Some((name, of))
    })?;
    Some(Uses { all, flows, unopened: read_numbers(body)? })
}

fn write_appeared(Appeared { all_in, flows }: &Appeared, out: &mut Vec<u8>) {
    let (first, last) = all_in.unwrap_or_default();
    out.push(u8::from(all_in.is_some()));
    out.u64(first);
    out.u64(last);
    out.u32(flows.len() as u32);
    for &Appearance { number, protocol, from, to, age_s } in flows {
        out.u64(number);
        out.push(protocol);
        out.address(from);
        out.address(to);
        out.f64(age_s);
    }
}

fn read_appeared(body: &mut Reader<'_>) -> Option<Appeared> {
    let (is_all, first, last) = (read_flag(body)?, body.u64()?, body.u64()?);
    if first > last {
        return None;
    }
    let all_in = is_all.then_some((first, last));
    let count = body.u32()?;
    let flows = body.items(count, APPEARANCE, |body| {
        Some(Appearance {
            number: body.u64()?,
            protocol: body.u8()?,
            from: body.address()?,
            to: body.address()?,
            age_s: body.finite()?,
        })
    })?;
    Some(Appeared { all_in, flows })
}

fn write_ask(ask: &FlowAsk, out: &mut Vec<u8>) {
    out.name(ask.key);
    out.push(ask.direction.byte());
    let (purpose, seal) = match ask.purpose {
        Purpose::Show => (1, [0; TOKEN]),
        Purpose::Confirm(seal) => (2, seal),
    };
    out.push(purpose);
    out.extend_from_slice(&seal);
}

fn read_ask(body: &mut Reader<'_>) -> Option<FlowAsk> {
    let (key, direction) = (body.key()?, Direction::of_byte(body.u8()?)?);
    let purpose = match (body.u8()?, body.array()?) {
        (1, seal) if seal == [0; TOKEN] => Purpose::Show,
        (2, seal) => Purpose::Confirm(seal),
        _ => return None,
    };
    Some(FlowAsk { key, direction, purpose })
}

fn write_answers(answers: &[FlowAnswer], out: &mut Vec<u8>) {
    out.u32(answers.len() as u32);
    for FlowAnswer { ask, granted } in answers {
        write_ask(ask, out);
        out.push(u8::from(granted.is_some()));
        out.extend_from_slice(&granted.unwrap_or_default().0);
    }
}

fn read_answer(body: &mut Reader<'_>) -> Option<FlowAnswer> {
    let (ask, is_granted, token) = (read_ask(body)?, read_flag(body)?, Token::read(body)?);
    Some(FlowAnswer { ask, granted: is_granted.then_some(token) })
}

fn write_flow_keys(keys: &FlowKeys, out: &mut Vec<u8>) {
    out.push(match keys.mode {
        FlowTokens::Off => 0,
        FlowTokens::Allow => 1,
        FlowTokens::On => 2,
    });
    out.extend_from_slice(&keys.receiving.0);
    out.extend_from_slice(&keys.sending.0);
    out.extend_from_slice(&keys.fabric.0);
}

fn read_flow_keys(body: &mut Reader<'_>) -> Option<FlowKeys> {
    let mode = match body.u8()? {
        0 => FlowTokens::Off,
        1 => FlowTokens::Allow,
        2 => FlowTokens::On,
        _ => return None,
    };
    let (receiving, sending) = (Key::read(body)?, Key::read(body)?);
    Some(FlowKeys { mode, receiving, sending, fabric: Key::read(body)? })
}

fn read_welcome(body: &mut Reader<'_>) -> Option<Welcome> {
    let version = body.u16()?;
    Some(Welcome {
        version,
        epoch: body.u64()?,
        report_every_s: body.finite()?,
        heartbeat_s: body.finite()?,
        codec: CodecName::read(body)?,
        idle_after_s: if version >= USES { body.amount()? } else { f64::INFINITY },
        groups: version >= APPEARANCES && read_flag(body)?,
    })
}

impl Message for FromAgent {
    const MAX: usize = MAX_FROM_AGENT;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FromAgent::Hello(hello) => {
                out.push(1);
                out.u16(hello.version);
                out.u32(hello.port);
                out.u64(hello.holds.0);
                out.u64(hello.holds.1);
                let token = &hello.token[..hello.token.len().min(255)];
                out.push(token.len() as u8);
                out.extend_from_slice(token);
            }
            FromAgent::Applied { epoch, version } => {
                out.push(2);
                out.u64(*epoch);
                out.u64(*version);
            }
            FromAgent::Ended(flows) => {
                out.push(3);
                write_ended(flows, out);
            }
            FromAgent::Sent(flows) => {
                out.push(4);
                write_sent(flows, out);
            }
            FromAgent::Resync => out.push(5),
            FromAgent::Alive => out.push(6),
            FromAgent::Processor(Processor { share, compressors }) => {
                out.push(7);
                out.f64(*share);
                let compressors = &compressors[..compressors.len().min(255)];
                out.push(compressors.len() as u8);
                for &Compressor { codec, speed, ratio } in compressors {
                    out.push(CodecName::byte(Some(codec)));
                    out.f64(speed);
                    out.f64(ratio);
                }
            }
            FromAgent::Written(keys) => write_names(8, keys, out),
            FromAgent::Uses(uses) => {
                out.push(9);
                write_uses(uses, out);
            }
            FromAgent::Keeps(coflows) => {
                out.push(10);
                write_numbers(coflows, out);
            }
            FromAgent::Addresses(addresses) => {
                out.push(11);
                out.u32(addresses.len() as u32);
                addresses.iter().for_each(|&ip| out.ip(ip));
            }
            FromAgent::Appeared(appeared) => {
                out.push(12);
                write_appeared(appeared, out);
            }
            FromAgent::Asks(asks) => {
                out.push(13);
                out.u32(asks.len() as u32);
                asks.iter().for_each(|ask| write_ask(ask, out));
            }
            FromAgent::Checked { refused, unproven } => {
                out.push(14);
                out.u64(*refused);
                out.u64(*unproven);
            }
            FromAgent::Opened(openings) => {
                out.push(15);
                write_openings(openings, out);
            }
            FromAgent::Passed(passings) => {
                out.push(16);
                write_passings(passings, out);
            }
            FromAgent::Links(Links { sent, received }) => {
                out.push(17);
                out.f64(*sent);
                out.f64(*received);
            }
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => {
                let version = body.u16()?;
                let port = body.u32()?;
                let holds = (body.u64()?, body.u64()?);
                let length = body.u8()?;
                let token = body.bytes(length.into())?.to_vec();
                FromAgent::Hello(Hello { version, port, holds, token })
            }
            2 => FromAgent::Applied { epoch: body.u64()?, version: body.u64()? },
            3 => FromAgent::Ended(read_ended(body)?),
            4 => FromAgent::Sent(read_sent(body)?),
            5 => FromAgent::Resync,
            6 => FromAgent::Alive,
            7 => FromAgent::Processor(read_processor(body)?),
            8 => FromAgent::Written(read_names(body)?),
            9 => FromAgent::Uses(read_uses(body)?),
            10 => FromAgent::Keeps(read_numbers(body)?),
            11 => {
                let count = body.u32()?;
                FromAgent::Addresses(body.items(count, IP, Reader::ip)?)
            }
            12 => FromAgent::Appeared(read_appeared(body)?),
            13 => {
                let count = body.u32()?;
                FromAgent::Asks(body.items(count, ASK, read_ask)?)
            }
            14 => FromAgent::Checked { refused: body.u64()?, unproven: body.u64()? },
            15 => FromAgent::Opened(read_openings(body)?),
            16 => FromAgent::Passed(read_passings(body)?),
            17 => FromAgent::Links(Links { sent: body.finite()?, received: body.finite()? }),
            _ => return None,
        })
    }
}

impl Message for ToAgent {
    const MAX: usize = MAX_TO_AGENT;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ToAgent::Welcome(welcome) => {
                out.push(1);
                out.u16(welcome.version);
                out.u64(welcome.epoch);
                out.f64(welcome.report_every_s);
                out.f64(welcome.heartbeat_s);
                out.push(CodecName::byte(welcome.codec));
                if welcome.version >= USES {
                    out.f64(welcome.idle_after_s);
                }
                if welcome.version >= APPEARANCES {
                    out.push(u8::from(welcome.groups));
                }
            }
            ToAgent::Schedule(schedule) => {
                out.push(2);
                out.u64(schedule.epoch);
                out.u64(schedule.version);
                out.u64(schedule.base);
                out.u32(schedule.set.len() as u32);
                out.u32(schedule.removed.len() as u32);
                write_entries(&schedule.set, out);
                schedule.removed.iter().for_each(|&key| out.name(key));
            }
            ToAgent::Acknowledged(keys) => write_names(3, keys, out),
            ToAgent::Thresholds(thresholds) => {
                out.push(4);
                out.u32(thresholds.len() as u32);
                for &ReportThreshold { coflow, bytes } in thresholds {
                    out.u64(coflow);
                    out.f64(bytes);
                }
            }
            ToAgent::Refused(refusal) => {
                out.push(5);
                out.push(refusal_byte(*refusal));
            }
            ToAgent::Alive => out.push(6),
            ToAgent::Over(coflows) => {
                out.push(7);
                write_numbers(coflows, out);
            }
            ToAgent::Flows(flows) => {
                out.push(8);
                out.u32(flows.len() as u32);
                for FlowAnnouncement { id, member } in flows {
                    out.u64(id.0);
                    out.push(u8::from(member.is_some()));
                    let none = FlowName::Key(FlowKey { coflow: 0, flow: 0 });
                    out.name(member.unwrap_or(none));
                }
            }
            ToAgent::Taken(numbers) => {
                out.push(9);
                write_numbers(numbers, out);
            }
            ToAgent::Released(numbers) => {
                out.push(10);
                write_numbers(numbers, out);
            }
            ToAgent::Keys(keys) => {
                out.push(11);
                write_flow_keys(keys, out);
            }
            ToAgent::Tokens(answers) => {
                out.push(12);
                write_answers(answers, out);
            }
            ToAgent::Openings(answers) => {
                out.push(13);
                write_opening_answers(answers, out);
            }
            ToAgent::Turns(turns) => {
                out.push(14);
                write_turns(turns, out);
            }
            ToAgent::StartSmall(bytes) => {
                out.push(15);
                out.u64(*bytes);
            }
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => ToAgent::Welcome(read_welcome(body)?),
            2 => {
                let (epoch, version, base) = (body.u64()?, body.u64()?, body.u64()?);
                let (set, removed) = (body.u32()?, body.u32()?);
                let set = body.items(set, ENTRY, read_entry)?;
                let removed = body.items(removed, KEY, Reader::name)?;
                ToAgent::Schedule(Schedule { epoch, version, base, set, removed })
            }
            3 => ToAgent::Acknowledged(read_names(body)?),
            4 => {
                let count = body.u32()?;
                ToAgent::Thresholds(body.items(count, THRESHOLD, |body| {
                    Some(ReportThreshold { coflow: body.u64()?, bytes: body.amount()? })
                })?)
            }
            5 => ToAgent::Refused(read_refusal(body)?),
            6 => ToAgent::Alive,
            7 => ToAgent::Over(read_numbers(body)?),
            8 => {
                let count = body.u32()?;
                ToAgent::Flows(body.items(count, ANNOUNCEMENT, |body| {
                    let (id, is_member, name) = (body.id()?, read_flag(body)?, body.name()?);
                    Some(FlowAnnouncement { id, member: is_member.then_some(name) })
                })?)
            }
            9 => ToAgent::Taken(read_numbers(body)?),
            10 => ToAgent::Released(read_numbers(body)?),
            11 => ToAgent::Keys(read_flow_keys(body)?),
            12 => {
                let count = body.u32()?;
                ToAgent::Tokens(body.items(count, ANSWER, read_answer)?)
            }
            13 => ToAgent::Openings(read_opening_answers(body)?),
            14 => ToAgent::Turns(read_turns(body)?),
            15 => ToAgent::StartSmall(body.u64()?),
            _ => return None,
        })
    }
}
