//! Messages to bytes. The numbers of kinds and the layouts are those of docs/protocol.md.

use crate::bytes::{Reader, Write};
use crate::message::{
    Ended, Entry, FromAgent, Grain, Hello, Message, Refusal, Schedule, Sent, ToAgent, Welcome,
};
use crate::{MOST_FROM_AGENT, MOST_TO_AGENT};

/// Appends a message to `out` as a frame.
pub fn encode(message: &impl Message, out: &mut Vec<u8>) {
    let start = out.len();
    out.u32(0);
    message.write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Bytes of an item in a body.
const ENTRY: usize = 24;
const KEY: usize = 12;
const OF_FLOW: usize = 20;
const GRAIN: usize = 16;

impl Message for FromAgent {
    const MOST: usize = MOST_FROM_AGENT;

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
                out.u32(flows.len() as u32);
                for &Ended { key, bytes } in flows {
                    out.key(key);
                    out.f64(bytes);
                }
            }
            FromAgent::Sent(flows) => {
                out.push(4);
                out.u32(flows.len() as u32);
                for &Sent { key, bytes } in flows {
                    out.key(key);
                    out.f64(bytes);
                }
            }
            FromAgent::Resync => out.push(5),
            FromAgent::Alive => out.push(6),
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
            3 => {
                let count = body.u32()?;
                FromAgent::Ended(body.items(count, OF_FLOW, |body| {
                    Some(Ended { key: body.key()?, bytes: body.finite()? })
                })?)
            }
            4 => {
                let count = body.u32()?;
                FromAgent::Sent(body.items(count, OF_FLOW, |body| {
                    Some(Sent { key: body.key()?, bytes: body.finite()? })
                })?)
            }
            5 => FromAgent::Resync,
            6 => FromAgent::Alive,
            _ => return None,
        })
    }
}

impl Message for ToAgent {
    const MOST: usize = MOST_TO_AGENT;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ToAgent::Welcome(welcome) => {
                out.push(1);
                out.u16(welcome.version);
                out.u64(welcome.epoch);
                out.f64(welcome.report_every_s);
                out.f64(welcome.heartbeat_s);
            }
            ToAgent::Schedule(schedule) => {
                out.push(2);
                out.u64(schedule.epoch);
                out.u64(schedule.version);
                out.u64(schedule.base);
                out.u32(schedule.set.len() as u32);
                out.u32(schedule.removed.len() as u32);
                for &Entry { key, layer, rate } in &schedule.set {
                    out.key(key);
                    out.u32(layer);
                    out.f64(rate);
                }
                schedule.removed.iter().for_each(|&key| out.key(key));
            }
            ToAgent::Settled(flows) => {
                out.push(3);
                out.u32(flows.len() as u32);
                flows.iter().for_each(|&key| out.key(key));
            }
            ToAgent::Grains(grains) => {
                out.push(4);
                out.u32(grains.len() as u32);
                for &Grain { coflow, bytes } in grains {
                    out.u64(coflow);
                    out.f64(bytes);
                }
            }
            ToAgent::Refused(refusal) => {
                out.push(5);
                out.push(match refusal {
                    Refusal::Version => 1,
                    Refusal::Credential => 2,
                    Refusal::Port => 3,
                    Refusal::Order => 4,
                    Refusal::Replaced => 5,
                    Refusal::Full => 6,
                });
            }
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => ToAgent::Welcome(Welcome {
                version: body.u16()?,
                epoch: body.u64()?,
                report_every_s: body.finite()?,
                heartbeat_s: body.finite()?,
            }),
            2 => {
                let (epoch, version, base) = (body.u64()?, body.u64()?, body.u64()?);
                let (set, removed) = (body.u32()?, body.u32()?);
                let set = body.items(set, ENTRY, |body| {
                    Some(Entry { key: body.key()?, layer: body.u32()?, rate: body.finite()? })
                })?;
                let removed = body.items(removed, KEY, Reader::key)?;
                ToAgent::Schedule(Schedule { epoch, version, base, set, removed })
            }
            3 => {
                let count = body.u32()?;
                ToAgent::Settled(body.items(count, KEY, Reader::key)?)
            }
            4 => {
                let count = body.u32()?;
                ToAgent::Grains(body.items(count, GRAIN, |body| {
                    Some(Grain { coflow: body.u64()?, bytes: body.amount()? })
                })?)
            }
            5 => ToAgent::Refused(match body.u8()? {
                1 => Refusal::Version,
                2 => Refusal::Credential,
                3 => Refusal::Port,
                4 => Refusal::Order,
                5 => Refusal::Replaced,
                6 => Refusal::Full,
                _ => return None,
            }),
            _ => return None,
        })
    }
}
