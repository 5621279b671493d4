//! Secrets and hashes of 32 bytes in files, as hexadecimal digits.

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (k, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * k..2 * k + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_and_nothing_else() {
        assert_eq!(unhex(&hex(&[0xa7; 32])), Some([0xa7; 32]));
        for wrong in ["", "a7", &"+7".repeat(32), &"g7".repeat(32), &"é".repeat(32)] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
