//! Access control lists of files, as POSIX.1e drafts them and Linux keeps them.

use std::path::Path;

/// The attribute with the list.
const ATTRIBUTE: &str = "system.posix_acl_access";
/// The version of its format.
const VERSION: u32 = 2;
/// Bytes of an entry: a tag and permissions of 16 bits, and an id of 32.
const ENTRY: usize = 8;

/// Tags of entries.
const USER_OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const MASK: u16 = 0x10;

/// Whether a file has a list that gives nothing to anybody but the owner, root and this process's
/// user.
pub(crate) fn is_for_us_alone(path: &Path) -> bool {
    let mut buffer = [0; 4096];
    let Ok(length) = rustix::fs::getxattr(path, ATTRIBUTE, &mut buffer) else { return false };
    gives_nothing_to_others(&buffer[..length], rustix::process::geteuid().as_raw())
}

fn gives_nothing_to_others(list: &[u8], own: u32) -> bool {
    let Some((version, entries)) = list.split_first_chunk() else { return false };
    if u32::from_le_bytes(*version) != VERSION || entries.len() % ENTRY != 0 {
        return false;
    }
    entries.chunks_exact(ENTRY).all(|entry| {
        let short = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
        match short(0) {
            USER_OWNER | MASK => true,
            USER => id == own || id == 0 || short(2) == 0,
            // The owner's group, other groups, and everybody else.
            _ => short(2) == 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list with entries of tag, permissions and id.
    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_list_for_this_user_is_accepted_and_one_for_others_is_not() {
        const GROUP_OWNER: u16 = 0x04;
        const OTHER: u16 = 0x20;
        let none = u32::MAX;
        // What systemd gives to the user 990.
        let systemd = [
            (USER_OWNER, 4, none),
            (USER, 4, 990),
            (GROUP_OWNER, 0, none),
            (MASK, 4, none),
            (OTHER, 0, none),
        ];
        assert!(gives_nothing_to_others(&list(&systemd), 990));
        assert!(!gives_nothing_to_others(&list(&systemd), 991));
        for (k, permissions) in [(2, 4), (4, 4)] {
            let mut open = systemd;
            open[k].1 = permissions;
            assert!(!gives_nothing_to_others(&list(&open), 990), "{open:?}");
        }
        assert!(!gives_nothing_to_others(b"", 990));
        assert!(!gives_nothing_to_others(&list(&systemd)[..9], 990));
    }
}
