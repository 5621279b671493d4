//! What one end sends the other one reads.

use std::io;

use covey_proto::{CHUNK_HEADER, CodecName};

use super::{FrameDecoder, FrameEncoder, Next, Taken, Written};

/// The bytes on the wire for `data`, written in pieces; `codec` gives the compressor at each
/// position.
fn sent(
    data: &[u8],
    piece: usize,
    bytes: Option<u64>,
    mut codec: impl FnMut(usize) -> Option<CodecName>,
) -> Vec<u8> {
    let mut out = FrameEncoder::new(bytes, true);
    let (mut wire, mut total) = (Vec::new(), Written::default());
    // A socket takes any number of bytes.
    let mut some = 1_usize;
    let mut write = |out: &mut FrameEncoder, data: &[u8]| {
        some = some.wrapping_mul(31).wrapping_add(7) % 5000 + 1;
        let all = [out.ahead(), data].concat();
        let written = some.min(all.len());
        wire.extend_from_slice(&all[..written]);
        let more = out.wrote(written);
        total = Written { bytes: total.bytes + more.bytes, wire: total.wire + more.wire };
    };
    let mut at = 0;
    while at < data.len() {
        let end = data.len().min(at + piece);
        match out.take(&data[at..end], codec(at)) {
            Taken::Copied(count) => at += count,
            Taken::Through(count) => {
                let left = out.chunk_left;
                write(&mut out, &data[at..at + count]);
                at += left - out.chunk_left;
            }
            Taken::NotYet => write(&mut out, &[]),
            Taken::TooMany => panic!("not more than was said"),
        }
    }
    while !out.end(codec(at)).expect("nothing is missing") {
        write(&mut out, &[]);
    }
    assert_eq!(total, Written { bytes: data.len() as u64, wire: wire.len() as u64 });
    wire
}

/// The bytes that `wire` decodes to, read into buffers of `max` bytes.
fn received(wire: &[u8], max: usize, bytes: Option<u64>) -> io::Result<Vec<u8>> {
    let mut incoming = FrameDecoder::new(bytes, true);
    let (mut out, mut wire) = (Vec::new(), wire);
    let mut buffer = vec![0; max];
    loop {
        let room = match incoming.next()? {
            Next::Over => return Ok(out),
            Next::Given => {
                out.extend_from_slice(incoming.give(max));
                continue;
            }
            Next::Plain(left) => left.min(max),
            Next::Inside => 0,
        };
        let mut slices = incoming.slices(&mut buffer[..room]);
        let room = slices[0].len();
        let count = io::Read::read_vectored(&mut wire, &mut slices)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let come = incoming.read(count, room);
        out.extend_from_slice(&buffer[..come]);
    }
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(byte).take(length).collect()
}

#[test]
fn a_flow_arrives_unchanged_with_any_sequence_of_codecs() {
    let mut data = covey_codec::sample(400_001);
    data.extend(noise(300_000));
    data.extend(covey_codec::sample(100_000));
    for bytes in [None, Some(data.len() as u64)] {
        for (piece, max) in [(800_001, 70_000), (1000, 999), (65_536, 65_536), (100_000, 10)] {
            let steady = [None, Some(CodecName::Lz4), Some(CodecName::Lzf)];
            for codec in steady {
                let wire = sent(&data, piece, bytes, |_| codec);
                assert!(received(&wire, max, bytes).expect("no error") == data);
                assert_eq!(wire.len() < data.len(), codec.is_some());
            }
            // The codec changes all the time.
            let told = |at: usize| [None, steady[1], None, steady[2]][at / 30_000 % 4];
            let wire = sent(&data, piece, bytes, told);
            assert!(received(&wire, max, bytes).expect("no error") == data);
        }
    }
}

#[test]
fn a_flow_that_does_not_shrink_is_tried_rarely_and_costs_headers_only() {
    let data = noise(8 << 20);
    let wire = sent(&data, 64 << 10, Some(data.len() as u64), |_| Some(CodecName::Lz4));
    assert!(wire.len() - data.len() <= (data.len() / (64 << 10) + 20) * CHUNK_HEADER);
    let mut out = FrameEncoder::new(None, true);
    let mut trials = 0;
    for chunk in data.chunks(64 << 10) {
        trials += usize::from(out.trial.pause == 0);
        let Taken::Through(count) = out.take(chunk, Some(CodecName::Lz4)) else {
            panic!("it is copied")
        };
        assert_eq!(count, chunk.len());
        out.wrote(CHUNK_HEADER + count);
    }
    // At the beginning and after 1, 3 and 7 MiB.
    assert_eq!(trials, 4);
}

#[test]
fn a_flow_that_shrinks_again_is_compressed_again() {
    let mut data = noise(1 << 20);
    data.extend(covey_codec::sample(4 << 20));
    let wire = sent(&data, 64 << 10, None, |_| Some(CodecName::Zstd));
    assert!(wire.len() < data.len() - (2 << 20));
}

#[test]
fn damage_is_an_error() {
    let data = covey_codec::sample(200_000);
    let wire = sent(&data, 64 << 10, None, |_| Some(CodecName::Lz4));
    for at in [0, 3, 5, 9, 13, 500, 20_000] {
        let mut wire = wire.clone();
        wire[at] ^= 0x41;
        let error = received(&wire, 64 << 10, None).expect_err("it is damaged");
        assert_ne!(error.to_string(), "", "at {at}");
    }
    let cut = received(&wire[..wire.len() - 20], 64 << 10, None).expect_err("it is cut");
    assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    // More or fewer bytes than the flow was opened for.
    let sized = sent(&data, 64 << 10, Some(200_000), |_| None);
    assert!(received(&sized, 64 << 10, Some(199_999)).is_err());
    assert!(received(&sized, 64 << 10, Some(200_001)).is_err());
}
