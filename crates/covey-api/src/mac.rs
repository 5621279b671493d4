//! The MAC of flow tokens.

use ring::hmac::{HMAC_SHA256, Key, sign};

/// HMAC-SHA256 of a message with a key.
pub fn hmac_sha256(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut mac = [0; 32];
    mac.copy_from_slice(sign(&Key::new(HMAC_SHA256, key), message).as_ref());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_message_has_its_known_mac() {
        // RFC 4231, case 1: its key has 20 bytes, to which HMAC adds zeros.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        let hex: String =
            hmac_sha256(&key, b"Hi There").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
