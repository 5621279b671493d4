//! The secret of a process that runs, from which the keys of flow tokens are made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use covey_api::CredentialError;
use covey_proto::Key;
use tokio::sync::watch;

use crate::authority::{Authority, FLOW_SECRET};
use crate::reload::Reload;

/// The secret, which is read again when its file changes.
pub struct FlowSecret {
    authority: Authority,
    secret: watch::Sender<Key>,
}

impl FlowSecret {
    /// Reads the secret in a folder, or makes it.
    pub fn start(folder: &Path) -> Result<Arc<FlowSecret>, CredentialError> {
        let authority = Authority::of(folder);
        let secret = watch::channel(Key(authority.flow_secret()?)).0;
        Ok(Arc::new(FlowSecret { authority, secret }))
    }

    /// The secret, and those that follow.
    pub fn follow(&self) -> watch::Receiver<Key> {
        self.secret.subscribe()
    }
}

impl Reload for FlowSecret {
    fn name(&self) -> &'static str {
        "secret of flow tokens"
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.authority.credentials().path(FLOW_SECRET)]
    }

    fn reload(&self) -> Result<(), CredentialError> {
        let secret = Key(self.authority.flow_secret()?);
        // Agents hear of it if it is another one.
        self.secret.send_if_modified(|before| std::mem::replace(before, secret) != secret);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::authority::write_secret;

    #[test]
    fn it_is_made_once_for_its_owner_alone_and_a_wrong_file_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = FlowSecret::start(folder.path()).expect("it is made");
        let path = folder.path().join(FLOW_SECRET);
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut followed = secret.follow();
        let first = *followed.borrow_and_update();
        secret.reload().expect("the same");
        assert!(!followed.has_changed().expect("it is there"));
        write_secret(&path, b"nonsense\n").expect("a file");
        let error = secret.reload().expect_err("it is wrong").to_string();
        assert!(error.ends_with("flow-secret: expected 64 hexadecimal digits"), "{error}");
        assert_eq!(*followed.borrow(), first);
        write_secret(&path, "0f".repeat(32).as_bytes()).expect("a file");
        secret.reload().expect("another one");
        assert_eq!(*followed.borrow(), Key([0x0f; 32]));
    }
}
