//! The tokens of a process that runs: they are read again when their files change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use covey_api::{CredentialError, Credentials, read_token};
use tokio::sync::watch;

use super::file::{Hash, SINGLE, TokenEntry, TokenFile, hash};
use super::rights::{Right, Rights};
use crate::reload::Reload;
use covey_api::Limits;

/// Who shows a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name of the token.
    pub name: Arc<str>,
    /// The tenant to which it belongs.
    pub tenant: Arc<str>,
    /// The most requests a second, if they are limited.
    pub requests: Option<u32>,
    rights: Rights,
    hash: Hash,
}

impl Holder {
    /// Whether its holder may do this.
    pub fn has(&self, right: Right) -> bool {
        self.rights.has(right)
    }
}

/// All tokens, by their hashes: to look one up takes a time that says nothing of any secret.
type Table = BTreeMap<Hash, (Holder, Option<SystemTime>)>;

/// What tokens may have, by name.
pub type TokenLimits = BTreeMap<String, Limits>;

/// How often the wall clock is asked whether a token has expired: it may jump.
const LOOK: Duration = Duration::from_secs(1);

fn read(folder: &Path) -> Result<(Table, TokenLimits), CredentialError> {
    let holder = |name: &str, tenant: &str, requests, rights, hash| Holder {
        name: name.into(),
        tenant: tenant.into(),
        requests,
        rights,
        hash,
    };
    let (mut table, mut all) = (Table::new(), TokenLimits::new());
    let single = Credentials::of(folder).token_path();
    if single.exists() {
        let token = read_token(&single)?;
        let hash = hash(&token);
        table.insert(hash, (holder(SINGLE, SINGLE, None, Rights::all(), hash), None));
        all.insert(SINGLE.to_owned(), Limits::default());
    }
    for (name, entry) in TokenFile::read(folder)?.entries() {
        let TokenEntry { rights, expires, tenant, limits, .. } = entry;
        let hash = *entry.hash();
        let tenant = tenant.as_ref().unwrap_or(name);
        let holder = holder(name, tenant, limits.requests, rights.clone(), hash);
        table.insert(hash, (holder, *expires));
        all.insert(name.clone(), limits.clone());
    }
    Ok((table, all))
}

/// The tokens of a process that runs.
pub struct Tokens {
    folder: PathBuf,
    table: watch::Sender<Table>,
    limits: watch::Sender<TokenLimits>,
}

impl Tokens {
    /// Reads the tokens in a folder.
    pub fn start(folder: &Path) -> Result<Arc<Tokens>, CredentialError> {
        let (table, limits) = read(folder)?;
        let (table, limits) = (watch::channel(table).0, watch::channel(limits).0);
        Ok(Arc::new(Tokens { folder: folder.to_owned(), table, limits }))
    }

    /// What tokens may have, by name: now, and whenever they are read again.
    pub fn limits(&self) -> watch::Receiver<TokenLimits> {
        self.limits.subscribe()
    }

    /// Who shows this secret, if it counts now.
    pub fn holder(&self, secret: &[u8]) -> Option<Holder> {
        let table = self.table.borrow();
        let (holder, expires) = table.get(&hash(secret))?;
        counts(*expires).then(|| holder.clone())
    }

    /// Returns when the token of a holder counts no more, or has lost a right.
    pub async fn withdrawn(&self, holder: &Holder, right: Right) {
        let mut table = self.table.subscribe();
        loop {
            let expires = match table.borrow_and_update().get(&holder.hash) {
                Some((now, expires)) if now.has(right) && counts(*expires) => *expires,
                _ => return,
            };
            let look = async {
                match expires {
                    Some(_) => tokio::time::sleep(LOOK).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // It does not fail: the table is here.
                _ = table.changed() => {}
                () = look => {}
            }
        }
    }
}

/// Whether a token counts now that expires then.
fn counts(expires: Option<SystemTime>) -> bool {
    expires.is_none_or(|expires| SystemTime::now() < expires)
}

impl Reload for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![Credentials::of(&self.folder).token_path(), TokenFile::path_in(&self.folder)]
    }

    fn reload(&self) -> Result<(), CredentialError> {
        let (table, limits) = read(&self.folder)?;
        self.table.send_replace(table);
        self.limits.send_replace(limits);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::file::NewToken;
    use super::*;
    use crate::authority::write_secret;

    #[test]
    fn a_secret_counts_until_it_is_revoked_or_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        write_secret(&folder.path().join("token"), b"old\n").expect("a file");
        let mut file = TokenFile::read(folder.path()).expect("a file");
        let of = |valid| {
            let rights = "read".parse().expect("rights");
            NewToken { rights, valid, ..NewToken::default() }
        };
        let secret = file.add("ci", of(None)).expect("a token");
        let short = file.add("short", of(Some(Duration::ZERO))).expect("a token");
        let tokens = Tokens::start(folder.path()).expect("tokens");
        let name = |secret: &str| tokens.holder(secret.as_bytes()).map(|it| it.name.to_string());
        assert_eq!(name("old").as_deref(), Some("token"));
        assert_eq!(name(&secret).as_deref(), Some("ci"));
        assert_eq!((name(&short), name("x"), name("")), (None, None, None));
        let holder = tokens.holder(secret.as_bytes()).expect("a holder");
        assert_eq!(Right::ALL.map(|right| holder.has(right)), [true, false, false]);
        let old = tokens.holder(b"old").expect("a holder");
        assert!(Right::ALL.into_iter().all(|right| old.has(right)));
        file.remove("ci").expect("a file");
        assert!(name(&secret).is_some(), "it was not read again");
        tokens.reload().expect("tokens");
        assert_eq!(name(&secret), None);
        // Those who wait for that are told, and no others.
        let lost = async |holder: &Holder, right| {
            let patience = Duration::from_millis(20);
            tokio::time::timeout(patience, tokens.withdrawn(holder, right)).await.is_ok()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            assert!(lost(&holder, Right::Read).await);
            assert!(!lost(&old, Right::Operate).await);
            let soon = file.add("soon", of(Some(2 * LOOK)));
            tokens.reload().expect("tokens");
            let soon = tokens.holder(soon.expect("a token").as_bytes()).expect("a holder");
            assert!(lost(&soon, Right::Register).await, "it has no such right");
            assert!(!lost(&soon, Right::Read).await);
            tokens.withdrawn(&soon, Right::Read).await;
            file.remove("soon").expect("a file");
        });
        // A wrong file changes nothing.
        write_secret(&folder.path().join("tokens"), b"nonsense\n").expect("a file");
        assert!(tokens.reload().is_err() && name("old").is_some());
    }
}
