//! The "LZ4Block" framing of lz4-java, which is not the frame format of LZ4.
//!
//! A block is the magic word, a byte for the method, the lengths of the compressed and the plain
//! bytes and a checksum (each a little-endian number of four bytes), then the compressed bytes. The
//! checksum is 28 bits of the xxHash of the plain bytes, with Java's seed. A block of no bytes ends
//! a stream; another stream may follow.

use std::io::{self, BufRead};

use twox_hash::XxHash32;

use super::chunks::{array, at_end, broken, bytes, check};

pub(super) const MAGIC: &[u8] = b"LZ4Block";
/// The methods, in the upper half of their byte.
const RAW: u8 = 0x10;
const LZ4: u8 = 0x20;
/// The seed of lz4-java's checksum, and the bits of the hash that it has.
const SEED: u32 = 0x9747_b28c;
const CHECKED: u32 = 0x0fff_ffff;

pub(super) fn next(source: &mut impl BufRead, plain: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        if at_end(source)? {
            return Ok(false);
        }
        if array::<8>(source)? != *MAGIC {
            return Err(broken("a block does not begin with LZ4Block"));
        }
        let [method] = array(source)?;
        let mut length = || array(source).map(|four| u32::from_le_bytes(four) as usize);
        let (compressed, uncompressed, checksum) = (length()?, length()?, length()?);
        check(uncompressed)?;
        let block = bytes(source, compressed)?;
        match method & 0xf0 {
            _ if uncompressed == 0 => continue,
            RAW => *plain = block,
            LZ4 => {
                *plain = lz4_flex::block::decompress(&block, uncompressed)
                    .map_err(|error| broken(&format!("a block is no LZ4: {error}")))?;
            }
            _ => return Err(broken("a block has an unknown method")),
        }
        if plain.len() != uncompressed {
            return Err(broken("a block has another length than its header says"));
        }
        if checksum_of(plain) as usize != checksum {
            return Err(broken("a block has another checksum than its header says"));
        }
        return Ok(true);
    }
}

/// The checksum of a block's plain bytes.
pub(super) fn checksum_of(plain: &[u8]) -> u32 {
    XxHash32::oneshot(SEED, plain) & CHECKED
}
