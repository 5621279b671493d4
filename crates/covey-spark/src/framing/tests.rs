use super::*;

const TEXT: &[u8] = b"a line\nanother line, another line, another line\n";

fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    unframed(Cursor::new(bytes))?.read_to_end(&mut plain)?;
    Ok(plain)
}

/// Zstd in two frames.
fn zstd() -> Vec<u8> {
    let (a, b) = TEXT.split_at(10);
    let frame = |bytes| zstd::bulk::compress(bytes, 1).expect("a frame");
    [frame(a), frame(b)].concat()
}

fn gzip() -> Vec<u8> {
    let mut encoder = flate2::read::GzEncoder::new(TEXT, flate2::Compression::fast());
    let mut bytes = Vec::new();
    encoder.read_to_end(&mut bytes).expect("memory");
    bytes
}

fn lz4_block(method: u8, block: &[u8], uncompressed: usize) -> Vec<u8> {
    let mut bytes = lz4_block::MAGIC.to_vec();
    bytes.push(method | 6);
    bytes.extend((block.len() as u32).to_le_bytes());
    bytes.extend((uncompressed as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(block);
    bytes
}

/// A compressed and a raw block, then the end of the stream; twice.
fn lz4() -> Vec<u8> {
    let (a, b) = TEXT.split_at(10);
    let blocks = [
        lz4_block(0x20, &lz4_flex::block::compress(b), b.len()),
        lz4_block(0x10, b"", 0),
        lz4_block(0x10, b"", 0),
    ];
    [lz4_block(0x10, a, a.len()), blocks.concat()].concat()
}

/// Two streams, one after the other.
fn snappy() -> Vec<u8> {
    let stream = |bytes: &[u8]| {
        let block = snap::raw::Encoder::new().compress_vec(bytes).expect("a block");
        let mut stream = snappy::MAGIC.to_vec();
        stream.extend([0, 0, 0, 1, 0, 0, 0, 1]);
        stream.extend((block.len() as u32).to_be_bytes());
        stream.extend(block);
        stream
    };
    let (a, b) = TEXT.split_at(10);
    [stream(a), stream(b)].concat()
}

fn lzf() -> Vec<u8> {
    let (a, b) = TEXT.split_at(7);
    let block = ::lzf::compress(b).expect("a block");
    let mut bytes = b"ZV\0".to_vec();
    bytes.extend((a.len() as u16).to_be_bytes());
    bytes.extend(a);
    bytes.extend(b"ZV\x01");
    bytes.extend((block.len() as u16).to_be_bytes());
    bytes.extend((b.len() as u16).to_be_bytes());
    bytes.extend(block);
    bytes
}

fn all() -> [(&'static str, Vec<u8>); 6] {
    [
        ("plain", TEXT.to_vec()),
        ("zstd", zstd()),
        ("gzip", gzip()),
        ("LZ4Block", lz4()),
        ("Snappy", snappy()),
        ("LZF", lzf()),
    ]
}

#[test]
fn every_framing_gives_the_plain_bytes() {
    for (name, bytes) in all() {
        assert_eq!(read(bytes).expect(name), TEXT, "{name}");
    }
}

#[test]
fn cut_off_data_says_so_or_gives_less() {
    for (name, bytes) in all() {
        for length in 1..bytes.len() {
            match read(bytes[..length].to_vec()) {
                Ok(plain) => {
                    assert!(TEXT.starts_with(&plain) || plain == bytes[..length], "{name} {length}")
                }
                Err(error) => assert_eq!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof,
                    "{name} {length}: {error}"
                ),
            }
        }
    }
}

#[test]
fn broken_data_is_an_error_and_never_a_panic() {
    for (name, bytes) in all().into_iter().skip(1) {
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0x5a;
            let _ = read(broken).map_err(|error| assert!(!error.to_string().is_empty(), "{name}"));
        }
    }
}

#[test]
fn a_bomb_is_refused() {
    let zeros = io::repeat(0).take(2 << 30);
    let bomb = zstd::stream::encode_all(zeros, 1).expect("memory");
    assert!(bomb.len() < 1 << 20);
    let mut plain = unframed(Cursor::new(bomb)).expect("a frame");
    let error = io::copy(&mut plain, &mut io::sink()).expect_err("a bomb");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains("4000 times"), "{error}");
}
