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

fn lz4_block(method: u8, block: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut bytes = lz4_block::MAGIC.to_vec();
    bytes.push(method | 6);
    bytes.extend((block.len() as u32).to_le_bytes());
    bytes.extend((plain.len() as u32).to_le_bytes());
    let checksum = if plain.is_empty() { 0 } else { lz4_block::checksum_of(plain) };
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(block);
    bytes
}

/// A compressed and a raw block, then the end of the stream; twice.
fn lz4() -> Vec<u8> {
    let (a, b) = TEXT.split_at(10);
    let blocks = [
        lz4_block(0x20, &lz4_flex::block::compress(b), b),
        lz4_block(0x10, b"", b""),
        lz4_block(0x10, b"", b""),
    ];
    [lz4_block(0x10, a, a), blocks.concat()].concat()
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

/// What lz4-java's `LZ4BlockOutputStream` wrote in blocks of 64 bytes: a compressed and a raw one,
/// and the end.
const OF_JAVA: &str = "\
    4c5a34426c6f636b202a000000400000005806840ae161206c696e650a616e6f746865720d002f2c\
    200e0007f0020a746865207365636f6e6420626c6f636b4c5a34426c6f636b102800000028000000\
    36803b0320697320686572652c20616e6420746865206c617374206c696e6520656e647320697420\
    616c6c0a4c5a34426c6f636b10000000000000000000000000";

#[test]
fn blocks_and_checksums_of_java_are_read() {
    let byte = |place| u8::from_str_radix(&OF_JAVA[place..place + 2], 16).expect("a byte");
    let bytes: Vec<u8> = (0..OF_JAVA.len()).step_by(2).map(byte).collect();
    let text = "the second block is here, and the last line ends it all\n";
    assert_eq!(read(bytes).expect("text"), [TEXT, text.as_bytes()].concat());
}

#[test]
fn a_block_with_a_wrong_checksum_is_refused() {
    for plain in [&b"some bytes"[..], b"a"] {
        let mut bytes = lz4_block(0x10, plain, plain);
        *bytes.last_mut().expect("a byte") ^= 1;
        let error = read(bytes).expect_err("another text");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("another checksum"), "{error}");
    }
}
