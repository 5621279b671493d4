//! Messages survive the way over the wire in pieces of any length, and garbage is an error.

use std::net::{IpAddr, SocketAddr};

use covey_proto::{
    APPEARANCES, Appearance, Appeared, CHUNK_HEADER, ChunkHeader, CodecName, CoflowTurn,
    Compressor, Connected, Decoder, Direction, Ended, Entry, FlowAnnouncement, FlowAnswer, FlowAsk,
    FlowCheck, FlowFacts, FlowHeader, FlowId, FlowKey, FlowKeys, FlowName, FlowOpening, FlowTokens,
    FromAgent, FromApp, FromRelay, HEADER, Hello, Key, Links, MAX_BYTES, MAX_PIECE, Means, Message,
    Note, Opening, OpeningAnswer, OpeningError, PROOF, Passing, Processor, Proof, ProofRefusal,
    ProtoError, Purpose, Refusal, RelayHello, Reply, ReportThreshold, Schedule, Sent, Service,
    Side, ToAgent, ToApp, ToRelay, Token, USES, Use, Uses, Welcome, encode, refusal_of, refusal_to,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn key() -> impl Strategy<Value = FlowKey> {
    (any::<u64>(), any::<u32>()).prop_map(|(coflow, flow)| FlowKey { coflow, flow })
}

fn flow_name() -> impl Strategy<Value = FlowName> {
    prop_oneof![
        (any::<u64>(), any::<u32>()).prop_map(|(number, index)| FlowName::decoded(number, index)),
        any::<u64>().prop_map(|id| FlowName::Id(FlowId(id))),
        any::<u64>().prop_map(FlowName::Number),
    ]
}

fn announcement() -> impl Strategy<Value = FlowAnnouncement> {
    (any::<u64>(), proptest::option::of(flow_name()))
        .prop_map(|(id, member)| FlowAnnouncement { id: FlowId(id), member })
}

fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e12, Just(f64::MAX)]
}

fn volume() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e12, Just(MAX_BYTES)]
}

fn name() -> impl Strategy<Value = CodecName> {
    proptest::sample::select(CodecName::ALL.to_vec())
}

fn codec() -> impl Strategy<Value = Option<CodecName>> {
    proptest::option::of(name())
}

fn entry() -> impl Strategy<Value = Entry> {
    (flow_name(), any::<u32>(), amount(), codec()).prop_map(|(key, layer, rate, codec)| Entry {
        key,
        service: Service { layer, rate, codec },
    })
}

fn ended() -> impl Strategy<Value = Ended> {
    (flow_name(), volume(), volume()).prop_map(|(key, bytes, wire)| Ended { key, bytes, wire })
}

fn sent_so_far() -> impl Strategy<Value = Sent> {
    (flow_name(), volume(), volume()).prop_map(|(key, bytes, wire)| Sent { key, bytes, wire })
}

fn processor() -> impl Strategy<Value = Processor> {
    let compressor = (name(), 1.0..1e12_f64, amount());
    let compressor =
        compressor.prop_map(|(codec, speed, ratio)| Compressor { codec, speed, ratio });
    (0.0..=1.0_f64, vec(compressor, 0..5))
        .prop_map(|(share, compressors)| Processor { share, compressors })
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Pushed), Just(Direction::Pulled)]
}

fn token() -> impl Strategy<Value = Token> {
    any::<[u8; 16]>().prop_map(Token)
}

fn proof() -> impl Strategy<Value = Proof> {
    prop_oneof![
        token().prop_map(Proof::Coordinator),
        (token(), token()).prop_map(|(token, seal)| Proof::Agent { token, seal })
    ]
}

fn ask() -> impl Strategy<Value = FlowAsk> {
    let purpose = prop_oneof![Just(Purpose::Show), any::<[u8; 16]>().prop_map(Purpose::Confirm)];
    (key(), direction(), purpose).prop_map(|(key, direction, purpose)| FlowAsk {
        key,
        direction,
        purpose,
    })
}

fn flow_keys() -> impl Strategy<Value = FlowKeys> {
    let mode = prop_oneof![Just(FlowTokens::Off), Just(FlowTokens::Allow), Just(FlowTokens::On)];
    (mode, any::<[[u8; 32]; 3]>()).prop_map(|(mode, keys)| {
        let [receiving, sending, fabric] = keys.map(Key);
        FlowKeys { mode, receiving, sending, fabric }
    })
}

fn flow_check() -> impl Strategy<Value = FlowCheck> {
    (any::<u32>(), key(), direction(), proptest::option::of(proof()), address()).prop_map(
        |(number, key, direction, proof, peer)| FlowCheck { number, key, direction, proof, peer },
    )
}

fn proof_refusal() -> impl Strategy<Value = ProofRefusal> {
    prop_oneof![
        Just(ProofRefusal::Missing),
        Just(ProofRefusal::Wrong),
        Just(ProofRefusal::OtherPort),
        Just(ProofRefusal::NoTls),
        Just(ProofRefusal::OtherHost)
    ]
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Sends), Just(Side::Receives)]
}

fn amount_or_infinite() -> impl Strategy<Value = f64> {
    prop_oneof![amount(), Just(f64::INFINITY)]
}

fn opening() -> impl Strategy<Value = FlowOpening> {
    (key(), side(), amount_or_infinite()).prop_map(|(key, side, bytes)| FlowOpening {
        key,
        side,
        bytes,
    })
}

fn opening_answer() -> impl Strategy<Value = OpeningAnswer> {
    let wrong = (any::<u32>(), amount()).prop_flat_map(|(number, bytes)| {
        proptest::sample::select(vec![
            OpeningError::Unregistered,
            OpeningError::CoflowOver,
            OpeningError::NoFlow(number),
            OpeningError::OtherHost(number),
            OpeningError::FlowOver,
            OpeningError::TooMany(bytes),
            OpeningError::Taken,
        ])
    });
    let right = (any::<u32>(), amount_or_infinite());
    let found = prop_oneof![
        right.prop_map(|(peer, bytes)| Ok(FlowFacts { peer, bytes })),
        wrong.prop_map(Err)
    ];
    (key(), side(), found).prop_map(|(key, side, found)| OpeningAnswer { key, side, found })
}

fn turn() -> impl Strategy<Value = CoflowTurn> {
    (any::<u64>(), any::<u32>(), any::<u64>(), any::<u32>(), amount_or_infinite()).prop_map(
        |(coflow, layer, dag, depth, left)| CoflowTurn { coflow, layer, dag, depth, left },
    )
}

fn from_agent() -> impl Strategy<Value = FromAgent> {
    let hello = (any::<u16>(), any::<u32>(), any::<(u64, u64)>(), vec(any::<u8>(), 0..256));
    prop_oneof![
        hello.prop_map(|(version, port, holds, token)| FromAgent::Hello(Hello {
            version,
            port,
            holds,
            token
        })),
        any::<(u64, u64)>().prop_map(|(epoch, version)| FromAgent::Applied { epoch, version }),
        vec(ended(), 0..20).prop_map(FromAgent::Ended),
        vec(sent_so_far(), 0..20).prop_map(FromAgent::Sent),
        processor().prop_map(FromAgent::Processor),
        vec(flow_name(), 0..20).prop_map(FromAgent::Written),
        uses().prop_map(FromAgent::Uses),
        vec(any::<u64>(), 0..20).prop_map(FromAgent::Keeps),
        vec(any::<IpAddr>(), 0..20).prop_map(|addresses| {
            FromAgent::Addresses(addresses.iter().map(IpAddr::to_canonical).collect())
        }),
        (proptest::option::of(any::<(u64, u64)>()), vec(appearance(), 0..20)).prop_map(
            |(ends, flows)| {
                let all_in = ends.map(|(a, b)| (a.min(b), a.max(b)));
                FromAgent::Appeared(Appeared { all_in, flows })
            }
        ),
        vec(ask(), 0..20).prop_map(FromAgent::Asks),
        any::<(u64, u64)>()
            .prop_map(|(refused, unproven)| FromAgent::Checked { refused, unproven }),
        vec(opening(), 0..20).prop_map(FromAgent::Opened),
        vec((flow_name(), flow_name()).prop_map(|(from, to)| Passing { from, to }), 0..20)
            .prop_map(FromAgent::Passed),
        (amount(), amount())
            .prop_map(|(sent, received)| FromAgent::Links(Links { sent, received })),
        Just(FromAgent::Resync),
        Just(FromAgent::Alive),
    ]
}

fn uses() -> impl Strategy<Value = Uses> {
    let of = proptest::sample::select(vec![Use::Moves, Use::Idle, Use::Closed]);
    (any::<bool>(), vec((flow_name(), of), 0..20), vec(any::<u64>(), 0..20))
        .prop_map(|(all, flows, unopened)| Uses { all, flows, unopened })
}

fn to_agent() -> impl Strategy<Value = ToAgent> {
    let schedule = (any::<(u64, u64, u64)>(), vec(entry(), 0..20), vec(flow_name(), 0..20));
    let threshold = prop_oneof![amount(), Just(f64::INFINITY)];
    prop_oneof![
        (any::<u16>(), any::<u64>(), amount(), amount(), codec(), amount(), any::<bool>())
            .prop_map(
                |(version, epoch, report_every_s, heartbeat_s, codec, idle_after_s, groups)| {
                    // Versions before have no such time.
                    let idle_after_s = if version < USES { f64::INFINITY } else { idle_after_s };
                    ToAgent::Welcome(Welcome {
                        version,
                        epoch,
                        report_every_s,
                        heartbeat_s,
                        codec,
                        idle_after_s,
                        groups: groups && version >= APPEARANCES,
                    })
                }
            ),
        vec(any::<u64>(), 0..20).prop_map(ToAgent::Over),
        vec(any::<u64>(), 0..20).prop_map(ToAgent::Taken),
        vec(any::<u64>(), 0..20).prop_map(ToAgent::Released),
        vec(announcement(), 0..20).prop_map(ToAgent::Flows),
        flow_keys().prop_map(ToAgent::Keys),
        vec((ask(), proptest::option::of(token())), 0..20).prop_map(|answers| {
            let answer = |(ask, granted)| FlowAnswer { ask, granted };
            ToAgent::Tokens(answers.into_iter().map(answer).collect())
        }),
        vec(opening_answer(), 0..20).prop_map(ToAgent::Openings),
        vec(turn(), 0..20).prop_map(ToAgent::Turns),
        any::<u64>().prop_map(ToAgent::StartSmall),
        Just(ToAgent::Alive),
        schedule.prop_map(|((epoch, version, base), set, removed)| ToAgent::Schedule(Schedule {
            epoch,
            version,
            base,
            set,
            removed
        })),
        vec(flow_name(), 0..20).prop_map(ToAgent::Acknowledged),
        vec(
            (any::<u64>(), threshold).prop_map(|(coflow, bytes)| ReportThreshold { coflow, bytes }),
            0..20
        )
        .prop_map(ToAgent::Thresholds),
        prop_oneof![
            Just(Refusal::Version),
            Just(Refusal::Credential),
            Just(Refusal::Port),
            Just(Refusal::Order),
            Just(Refusal::Replaced),
            Just(Refusal::Full),
        ]
        .prop_map(ToAgent::Refused),
    ]
}

fn from_app() -> impl Strategy<Value = FromApp> {
    prop_oneof![
        any::<u16>().prop_map(FromApp::Hello),
        vec(key(), 0..20).prop_map(FromApp::Opened),
        vec(ended(), 0..20).prop_map(FromApp::Ended),
        vec(sent_so_far(), 0..20).prop_map(FromApp::Sent),
        vec(key(), 0..20).prop_map(FromApp::Gone),
        vec(key(), 0..20).prop_map(FromApp::Written),
        vec(connected(), 0..20).prop_map(FromApp::Connected),
        vec((key(), direction()), 0..20).prop_map(FromApp::Asks),
        vec(flow_check(), 0..20).prop_map(FromApp::Checks),
        vec(opening(), 0..20).prop_map(FromApp::Opens),
    ]
}

/// An address of IPv4 as it is mapped into IPv6 is one of IPv4.
fn address() -> impl Strategy<Value = SocketAddr> {
    any::<(IpAddr, u16)>().prop_map(|(ip, port)| (ip.to_canonical(), port).into())
}

fn appearance() -> impl Strategy<Value = Appearance> {
    (any::<u64>(), any::<u8>(), address(), address(), amount()).prop_map(
        |(number, protocol, from, to, age_s)| Appearance { number, protocol, from, to, age_s },
    )
}

fn connected() -> impl Strategy<Value = Connected> {
    (key(), address(), address()).prop_map(|(key, from, to)| Connected { key, from, to })
}

fn to_app() -> impl Strategy<Value = ToApp> {
    let means = [Means::Pacing, Means::Marks, Means::PacingAndMarks, Means::Shaping];
    let means = prop::sample::select(means.to_vec());
    prop_oneof![
        (any::<u16>(), any::<u32>(), means, amount()).prop_map(
            |(version, port, means, report_every_s)| ToApp::Welcome {
                version,
                port,
                means,
                report_every_s
            }
        ),
        vec(entry(), 0..20).prop_map(ToApp::Shares),
        vec(key(), 0..20).prop_map(ToApp::Acknowledged),
        (any::<bool>(), codec()).prop_map(|(heard, codec)| ToApp::Coordinator { heard, codec }),
        Just(ToApp::Refused),
        vec((key(), direction(), proptest::option::of(proof())), 0..20).prop_map(ToApp::Proofs),
        vec((any::<u32>(), proptest::option::of(proof_refusal())), 0..20).prop_map(ToApp::Checked),
        any::<bool>().prop_map(ToApp::Proving),
        vec(opening_answer(), 0..20).prop_map(ToApp::Openings),
        any::<u64>().prop_map(ToApp::StartSmall),
    ]
}

fn relay_hello() -> impl Strategy<Value = RelayHello> {
    (any::<u16>(), vec(any::<u8>(), 0..256))
        .prop_map(|(version, token)| RelayHello { version, token })
}

fn from_relay() -> impl Strategy<Value = FromRelay> {
    prop_oneof![
        relay_hello().prop_map(FromRelay::Hello),
        (any::<u64>(), vec(any::<u8>(), 0..300))
            .prop_map(|(session, bytes)| FromRelay::Said { session, bytes }),
        vec(any::<u64>(), 0..20).prop_map(FromRelay::Left),
        vec(any::<u64>(), 0..20).prop_map(FromRelay::Delivered),
        Just(FromRelay::Alive),
    ]
}

fn to_relay() -> impl Strategy<Value = ToRelay> {
    prop_oneof![
        (any::<u16>(), any::<u64>(), amount()).prop_map(|(version, epoch, heartbeat_s)| {
            ToRelay::Welcome { version, epoch, heartbeat_s }
        }),
        (any::<u64>(), vec(any::<u8>(), 0..300))
            .prop_map(|(session, bytes)| ToRelay::Say { session, bytes }),
        any::<u64>().prop_map(ToRelay::Close),
        Just(ToRelay::Refused(Refusal::Full)),
        Just(ToRelay::Alive),
    ]
}

fn header() -> impl Strategy<Value = FlowHeader> {
    let direction = prop_oneof![Just(Direction::Pushed), Just(Direction::Pulled)];
    let bytes = prop_oneof![Just(None), any::<u64>().prop_map(Some)];
    let form = (any::<bool>(), any::<bool>());
    (key(), direction, bytes, form, vec(any::<u8>(), 0..256)).prop_map(
        |(key, direction, bytes, (chunked, with_notes), label)| {
            let chunked = chunked || with_notes || bytes.is_none();
            FlowHeader { key, direction, bytes, chunked, with_notes, label }
        },
    )
}

/// Sends messages as bytes in pieces, and returns what comes out.
fn sent<M: Message>(messages: &[M], piece: usize) -> Vec<M> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| encode(message, &mut bytes));
    let mut decoder = Decoder::default();
    let mut found = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while let Some(message) = decoder.take().expect("what was encoded") {
            found.push(message);
        }
    }
    found
}

/// Decodes all there is; the number of messages, and what ended it.
fn decode_all<M: Message>(bytes: &[u8]) -> (usize, Option<ProtoError>) {
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    let mut count = 0;
    loop {
        match decoder.take::<M>() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, None),
            Err(error) => return (count, Some(error)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_come_as_they_were_sent(
        up in vec(from_agent(), 0..8), down in vec(to_agent(), 0..8), piece in 1..100_usize,
    ) {
        prop_assert_eq!(sent(&up, piece), up);
        prop_assert_eq!(sent(&down, piece), down);
    }

    #[test]
    fn local_messages_come_as_they_were_sent(
        up in vec(from_app(), 0..8), down in vec(to_app(), 0..8), piece in 1..100_usize,
    ) {
        prop_assert_eq!(sent(&up, piece), up);
        prop_assert_eq!(sent(&down, piece), down);
    }

    #[test]
    fn a_header_comes_as_it_was_sent(header in header(), proof in proptest::option::of(proof())) {
        let mut bytes = Vec::new();
        header.encode_with(proof.as_ref(), &mut bytes);
        let (fixed, mut label) = bytes.split_first_chunk::<HEADER>().expect("the fixed part");
        let (mut found, rest) = FlowHeader::decode(fixed).expect("what was encoded");
        prop_assert_eq!(rest.is_proven, proof.is_some());
        if rest.is_proven {
            let (bytes, rest) = label.split_first_chunk::<PROOF>().expect("a proof");
            prop_assert_eq!(FlowHeader::decode_proof(bytes).expect("what was encoded"), proof);
            label = rest;
        }
        prop_assert_eq!(rest.label, label.len());
        found.label = label.to_vec();
        prop_assert_eq!(found, header);
    }

    #[test]
    fn a_header_of_garbage_is_an_error_or_one_that_encodes_to_the_same(
        mut bytes in proptest::array::uniform28(any::<u8>()), named in any::<bool>(),
    ) {
        if named {
            bytes[..7].copy_from_slice(b"CVF2\x01\x01\x01");
        }
        if let Ok((header, rest)) = FlowHeader::decode(&bytes) {
            let mut again = Vec::new();
            header.encode(&mut again);
            bytes[7] = 0;
            prop_assert_eq!(&again, &bytes);
            prop_assert!(rest.label < 256);
        }
        prop_assert_eq!(named, FlowHeader::decode(&bytes).is_ok());
    }

    #[test]
    fn a_proof_of_garbage_is_an_error_or_encodes_to_the_same(
        token in any::<[u8; 32]>(), is_short in any::<bool>(), kind in 0..4_u8,
    ) {
        let mut bytes = [0; PROOF];
        bytes[0] = kind;
        bytes[1..].copy_from_slice(&token);
        if is_short {
            bytes[17..].fill(0);
        }
        match FlowHeader::decode_proof(&bytes) {
            Ok(Some(proof)) => {
                let key = FlowKey { coflow: 1, flow: 2 };
                let (direction, label) = (Direction::Pushed, Vec::new());
                let header = FlowHeader {
                    key, direction, bytes: None, chunked: true, with_notes: false, label,
                };
                let mut again = Vec::new();
                header.encode_with(Some(&proof), &mut again);
                prop_assert_eq!(&again[HEADER..], &bytes);
            }
            Ok(None) => prop_assert_eq!(bytes, [0; PROOF]),
            Err(_) => prop_assert!(kind != 2 && (kind != 1 || !is_short)),
        }
    }

    #[test]
    fn a_refusal_is_no_number_of_bytes_and_no_header(refusal in proof_refusal(), bytes in 0..u64::MAX >> 1) {
        let said = refusal_to(refusal);
        prop_assert_eq!(refusal_of(&said), Some(refusal));
        prop_assert_eq!(refusal_of(&bytes.to_le_bytes()), None);
        prop_assert_eq!(refusal_of(b"CVF3\x01\x01\x01\x02"), None);
    }

    #[test]
    fn a_chunk_s_header_is_an_error_or_encodes_to_the_same(
        codec in 0..6_u8, raw in 0..2_000_000_u32, coded in 0..2_000_000_u32, checksum in 0..2_u32,
        same in any::<bool>(),
    ) {
        let mut bytes = [0; CHUNK_HEADER];
        bytes[0] = codec;
        bytes[4..8].copy_from_slice(&raw.to_le_bytes());
        bytes[8..12].copy_from_slice(&if same { raw } else { coded }.to_le_bytes());
        bytes[12..].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(chunk) = ChunkHeader::decode(&bytes) {
            prop_assert_eq!(chunk.encode(), bytes);
            prop_assert!(chunk.raw <= 1 << 20 && chunk.coded <= chunk.raw);
        } else {
            let compressed = (1..=4).contains(&codec) && !same && 0 < coded && coded < raw;
            let plain = codec == 0 && (same || coded == raw) && checksum == 0;
            prop_assert!(raw > 1 << 20 || !(compressed || plain));
        }
    }

    #[test]
    fn messages_of_relays_survive_in_pieces(
        from in vec(from_relay(), 0..8), to in vec(to_relay(), 0..8), piece in 1..100_usize,
    ) {
        prop_assert_eq!(sent(&from, piece), from);
        prop_assert_eq!(sent(&to, piece), to);
    }

    #[test]
    fn the_first_message_is_of_an_agent_or_a_relay(
        agent in from_agent(), relay in relay_hello(), piece in 1..100_usize,
    ) {
        let first = [Opening::Agent(agent), Opening::Relay(relay)];
        prop_assert_eq!(sent(&first, piece), first);
    }

    /// What an agent and the coordinator say passes a relay as it is, whatever it is cut into.
    #[test]
    fn what_is_relayed_comes_out_as_it_went_in(messages in vec(from_agent(), 0..8), piece in 1..100_usize) {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| encode(message, &mut bytes));
        let (mut outer, mut inner, mut found) = (Decoder::default(), Decoder::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            let mut said = Vec::new();
            encode(&FromRelay::Said { session: 3, bytes: piece.to_vec() }, &mut said);
            outer.push(&said);
            while let Some(FromRelay::Said { bytes, .. }) = outer.take().expect("what was encoded") {
                inner.push(&bytes);
                found.extend(std::iter::from_fn(|| inner.take::<FromAgent>().expect("a message")));
            }
        }
        prop_assert_eq!(found, messages);
        prop_assert!(inner.into_rest().is_empty());
    }

    #[test]
    fn garbage_is_an_error_or_waits_for_more(bytes in vec(any::<u8>(), 0..2000)) {
        decode_all::<FromAgent>(&bytes);
        decode_all::<ToAgent>(&bytes);
        decode_all::<FromApp>(&bytes);
        decode_all::<ToApp>(&bytes);
        decode_all::<FromRelay>(&bytes);
        decode_all::<ToRelay>(&bytes);
        decode_all::<Opening>(&bytes);
    }

    #[test]
    fn a_message_that_was_damaged_is_an_error_or_another(
        message in to_agent(), at in any::<prop::sample::Index>(), by in 1..=255_u8,
    ) {
        let mut bytes = Vec::new();
        encode(&message, &mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = bytes[at].wrapping_add(by);
        let (count, error) = decode_all::<ToAgent>(&bytes);
        prop_assert!(count <= 1 || error.is_some());
    }

    #[test]
    fn a_message_that_was_cut_short_is_waited_for(message in to_agent(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        encode(&message, &mut bytes);
        bytes.truncate(cut.index(bytes.len()));
        prop_assert_eq!(decode_all::<ToAgent>(&bytes), (0, None));
    }
}

#[test]
fn the_layout_is_that_of_the_page() {
    let schedule = Schedule {
        epoch: 3,
        version: 7,
        base: 6,
        set: vec![Entry {
            key: FlowKey { coflow: 1, flow: 2 }.into(),
            service: Service { layer: 5, rate: 1.0, codec: Some(CodecName::Zstd) },
        }],
        removed: vec![FlowKey { coflow: 9, flow: 8 }.into()],
    };
    let mut bytes = Vec::new();
    encode(&ToAgent::Schedule(schedule), &mut bytes);
    let expected: &[&[u8]] = &[
        &[1 + 24 + 8 + 25 + 12, 0, 0, 0, 2],
        &[3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0, 1, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 3],
        &[9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0],
    ];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn the_layout_of_a_relay_s_messages_is_that_of_the_page() {
    let bytes = |message: &FromRelay| {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        bytes
    };
    let hello = RelayHello { version: 1, token: b"ab".to_vec() };
    assert_eq!(bytes(&FromRelay::Hello(hello)), [6, 0, 0, 0, 64, 1, 0, 2, 97, 98]);
    let session = 0x0102;
    let said = FromRelay::Said { session, bytes: vec![9, 8] };
    assert_eq!(bytes(&said), [11, 0, 0, 0, 65, 2, 1, 0, 0, 0, 0, 0, 0, 9, 8]);
    let left = FromRelay::Left(vec![session]);
    assert_eq!(bytes(&left), [13, 0, 0, 0, 66, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    // A piece may have so many bytes, and no more.
    for (count, fits) in [(MAX_PIECE, true), (MAX_PIECE + 1, false)] {
        let said = bytes(&FromRelay::Said { session, bytes: vec![0; count] });
        assert_eq!(decode_all::<FromRelay>(&said).1.is_none(), fits);
    }
}

#[test]
fn what_a_frame_claims_takes_no_memory() {
    // A schedule of 4 billion flows in a frame of 41 bytes; a frame longer than is allowed.
    let mut bytes = vec![33, 0, 0, 0, 2];
    bytes.extend([0; 24]);
    bytes.extend([0xff; 8]);
    let body = ProtoError::Body { kind: 2, length: 33 };
    assert_eq!(decode_all::<ToAgent>(&bytes), (0, Some(body)));
    let length = ProtoError::Length { found: 1 << 21, max: covey_proto::MAX_FROM_AGENT };
    assert_eq!(decode_all::<FromAgent>(&(1_u32 << 21).to_le_bytes()), (0, Some(length)));
    assert!(decode_all::<FromAgent>(&[0, 0, 0, 0]).1.is_some());
}

#[test]
fn no_number_below_zero_and_no_nan_gets_in() {
    for bytes in [-1.0, f64::NAN, f64::INFINITY] {
        let mut frame = Vec::new();
        let key = FlowKey { coflow: 0, flow: 0 }.into();
        encode(&FromAgent::Ended(vec![Ended { key, bytes, wire: 0.0 }]), &mut frame);
        assert!(decode_all::<FromAgent>(&frame).1.is_some(), "{bytes}");
    }
}

/// The layout of docs/protocol.md, byte by byte.
#[test]
fn a_flow_s_header_is_laid_out_as_documented() {
    let header = FlowHeader {
        key: FlowKey { coflow: 0x0102, flow: 3 },
        direction: Direction::Pushed,
        bytes: Some(5),
        chunked: true,
        with_notes: false,
        label: b"ab".to_vec(),
    };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    assert_eq!(bytes, b"CVF2\x01\x01\x01\x02\x02\x01\0\0\0\0\0\0\x03\0\0\0\x05\0\0\0\0\0\0\0ab");
    bytes.clear();
    let token = Token(*b"0123456789abcdef");
    let seal = Token(*b"ABCDEFGHIJKLMNOP");
    header.encode_with(Some(&Proof::Agent { token, seal }), &mut bytes);
    let proven = b"CVF3\x01\x01\x01\x02\x02\x01\0\0\0\0\0\0\x03\0\0\0\x05\0\0\0\0\0\0\0";
    assert_eq!(bytes, [&proven[..], b"\x020123456789abcdefABCDEFGHIJKLMNOP", b"ab"].concat());
    bytes.clear();
    FlowHeader { with_notes: true, ..header }.encode(&mut bytes);
    assert_eq!(bytes[6], 2);
    assert_eq!(ChunkHeader::OF_NOTE.encode(), *b"\0\0\0\0\0\0\0\0\x18\0\0\0\0\0\0\0");
    let note = Note { is_complete: true, coflow: 0x0102, receiver: 0x0304, bytes: 5 };
    assert_eq!(note.encode(), *b"\x02\0\0\0\x04\x03\0\0\x02\x01\0\0\0\0\0\0\x05\0\0\0\0\0\0\0");
    let reply = Reply::Decided { priority: 3, receiver: 0x0304, bytes: 5, at_ns: 6 };
    assert_eq!(reply.encode(), *b"\x01\x03\0\0\x04\x03\0\0\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0");
    let chunk =
        ChunkHeader { codec: Some(CodecName::Lz4), raw: 0x0201, coded: 0x0103, checksum: 0x07 };
    assert_eq!(chunk.encode(), *b"\x01\0\0\0\x01\x02\0\0\x03\x01\0\0\x07\0\0\0");
}
