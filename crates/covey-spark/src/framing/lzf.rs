//! The framing of compress-lzf: chunks of `ZV`, a type, a big-endian length of two bytes, in a
//! compressed chunk the length of the plain bytes, and the bytes.

use std::io::{self, BufRead};

use super::chunks::{array, at_end, broken, bytes};

pub(super) const MAGIC: &[u8] = b"ZV";

pub(super) fn next(source: &mut impl BufRead, plain: &mut Vec<u8>) -> io::Result<bool> {
    if at_end(source)? {
        return Ok(false);
    }
    let [z, v, kind] = array(source)?;
    if [z, v] != *MAGIC {
        return Err(broken("a chunk does not begin with ZV"));
    }
    let length = usize::from(u16::from_be_bytes(array(source)?));
    match kind {
        0 => *plain = bytes(source, length)?,
        1 => {
            let uncompressed = usize::from(u16::from_be_bytes(array(source)?));
            let chunk = bytes(source, length)?;
            *plain = lzf::decompress(&chunk, uncompressed)
                .map_err(|error| broken(&format!("a chunk is no LZF: {error:?}")))?;
        }
        _ => return Err(broken("a chunk has an unknown type")),
    }
    Ok(true)
}
