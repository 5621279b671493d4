//! The file of tokens: a line for each, with its name, the hash of its secret, its rights, and when
//! it expires.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use covey_api::{CredentialError, Limits, check_mode};
use ring::digest::{SHA256, digest};

use super::rights::Rights;
use crate::authority::{create_folder, write_secret};
use crate::hex::{hex, unhex};

/// The hash of a secret. Secrets are random and long, so that nobody can guess one from its hash.
pub(super) type Hash = [u8; 32];

/// What a file says of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    hash: Hash,
    /// What its holder may do.
    pub rights: Rights,
    /// When it expires, if it does.
    pub expires: Option<SystemTime>,
    /// The tenant whose coflows it registers. Without one, its own name is that of the tenant.
    pub tenant: Option<String>,
    /// What it may have at most.
    pub limits: Limits,
}

/// What a new token is to be.
#[derive(Debug, Clone, Default)]
pub struct NewToken {
    /// What its holder may do.
    pub rights: Rights,
    /// For how long it counts; for ever if `None`.
    pub valid: Option<Duration>,
    /// The tenant whose coflows it registers; one of its own name if `None`.
    pub tenant: Option<String>,
    /// What it may have at most.
    pub limits: Limits,
}

/// The tokens in the file of a coordinator's folder, by name.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
    entries: BTreeMap<String, TokenEntry>,
}

/// The first line of the file.
const HEAD: &str = "# name sha256 rights expires (seconds since 1970, or never) [tenant=NAME] [limits]: covey token --help";

/// The name of the one token of the file `token`.
pub(super) const SINGLE: &str = "token";

impl TokenFile {
    /// The path of the file in a folder.
    pub(super) fn path_in(folder: &Path) -> PathBuf {
        folder.join("tokens")
    }

    /// Reads the file of a folder, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, others may read it, or a line is wrong.
    pub fn read(folder: &Path) -> Result<TokenFile, CredentialError> {
        let path = TokenFile::path_in(folder);
        let mut entries = BTreeMap::new();
        if path.exists() {
            check_mode(&path)?;
            let io = |source| CredentialError::Io { path: path.clone(), source };
            let text = fs::read_to_string(&path).map_err(io)?;
            for (k, line) in text.lines().enumerate() {
                let is_empty = line.trim().is_empty() || line.starts_with('#');
                if is_empty {
                    continue;
                }
                let bad = |what: &str| {
                    let what = format!("line {}: {what}", k + 1);
                    CredentialError::Content { path: path.clone(), what }
                };
                let (name, entry) = entry(line).map_err(|what| bad(&what))?;
                if entries.insert(name.clone(), entry).is_some() {
                    return Err(bad(&format!("the name {name} is there twice")));
                }
            }
        }
        Ok(TokenFile { path, entries })
    }

    /// The tokens, by name.
    pub fn entries(&self) -> &BTreeMap<String, TokenEntry> {
        &self.entries
    }

    /// Makes a token, and writes the file. Returns the secret, which is kept nowhere.
    ///
    /// # Errors
    /// When there is a token of this name, or the file cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        NewToken { rights, valid, tenant, limits }: NewToken,
    ) -> Result<String, CredentialError> {
        if !is_token_name(name) || self.entries.contains_key(name) {
            let what =
                format!("expected a new name of letters, digits and -_. only, found '{name}'");
            return Err(CredentialError::Content { path: self.path.clone(), what });
        }
        self.check_tenant(tenant.as_deref())?;
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|e| CredentialError::Use(e.to_string()))?;
        let secret = format!("covey_{}", hex(&random));
        let expires = valid.map(|valid| SystemTime::now() + valid);
        let entry = TokenEntry { hash: hash(secret.as_bytes()), rights, expires, tenant, limits };
        self.entries.insert(name.to_owned(), entry);
        self.write()?;
        Ok(secret)
    }

    /// Removes a token, and writes the file. Returns whether there was one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, name: &str) -> Result<bool, CredentialError> {
        let is_found = self.entries.remove(name).is_some();
        if is_found {
            self.write()?;
        }
        Ok(is_found)
    }

    fn check_tenant(&self, tenant: Option<&str>) -> Result<(), CredentialError> {
        match tenant.filter(|tenant| !is_tenant_name(tenant)) {
            None => Ok(()),
            Some(found) => {
                let what = format!("expected a tenant of {LETTERS} only, found '{found}'");
                Err(CredentialError::Content { path: self.path.clone(), what })
            }
        }
    }

    /// Gives a token another tenant and other limits, and writes the file. Returns whether there is
    /// such a token.
    ///
    /// # Errors
    /// When the tenant's name is not one, or the file cannot be written.
    pub fn change(
        &mut self,
        name: &str,
        tenant: Option<String>,
        limits: Limits,
    ) -> Result<bool, CredentialError> {
        self.check_tenant(tenant.as_deref())?;
        let Some(entry) = self.entries.get_mut(name) else { return Ok(false) };
        entry.tenant = tenant;
        entry.limits = limits;
        self.write()?;
        Ok(true)
    }

    fn write(&self) -> Result<(), CredentialError> {
        if let Some(folder) = self.path.parent() {
            create_folder(folder)?;
        }
        let mut text = format!("{HEAD}\n");
        for (name, TokenEntry { hash, rights, expires, tenant, limits }) in &self.entries {
            let expires = expires.map_or("never".to_owned(), |expires| {
                expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().to_string()
            });
            let tenant = tenant.as_ref().map(|name| format!(" tenant={name}")).unwrap_or_default();
            let line = format!("{name} {} {rights} {expires}{tenant} {limits}", hex(hash));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        write_secret(&self.path, text.as_bytes())
    }
}

impl TokenEntry {
    pub(super) fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Whether it counts at a time.
    pub fn is_valid(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// Whether a text can be the name of a token in the file.
pub fn is_token_name(name: &str) -> bool {
    is_tenant_name(name) && name != SINGLE
}

/// Whether a text can be the name of a tenant: 1 to 64 letters, digits and `-_.` only.
pub fn is_tenant_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_fit)
}

/// Of what names are made.
const LETTERS: &str = "letters, digits and -_.";

/// Reads a line.
fn entry(line: &str) -> Result<(String, TokenEntry), String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, hash, rights, expires, ref others @ ..] = fields[..] else {
        return Err(format!("expected 4 fields or more, found {}", fields.len()));
    };
    if !is_token_name(name) {
        return Err(format!("expected a name of letters, digits and -_. only, found '{name}'"));
    }
    let hash = unhex(hash).ok_or("expected a hash of 64 hexadecimal digits")?;
    let rights = rights.parse().map_err(|error: super::RightsError| error.to_string())?;
    let expires = match expires {
        "never" => None,
        seconds => {
            let seconds: Option<u64> = seconds.parse().ok();
            let time = seconds.and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s)));
            Some(time.ok_or("expected a time in seconds since 1970, or never")?)
        }
    };
    let (mut tenant, mut limits) = (None, Limits::default());
    for other in others {
        let (key, value) = other.split_once('=').unwrap_or((other, ""));
        match key {
            "tenant" if tenant.is_some() => return Err("tenant is there twice".to_owned()),
            "tenant" if is_tenant_name(value) => tenant = Some(value.to_owned()),
            "tenant" => {
                return Err(format!("expected a tenant of {LETTERS} only, found '{value}'"));
            }
            _ => limits.set(other).map_err(|error| format!("tenant=NAME or a limit: {error}"))?,
        }
    }
    Ok((name.to_owned(), TokenEntry { hash, rights, expires, tenant, limits }))
}

/// The hash of a secret.
pub(super) fn hash(secret: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_was_written_and_nothing_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = TokenFile::read(folder.path()).expect("no file is no token");
        let rights: Rights = "read,register".parse().expect("rights");
        let mut limits = Limits::default();
        limits.set("ports=0-3").expect("a limit");
        let plain = || NewToken { rights: rights.clone(), ..NewToken::default() };
        let lab = NewToken { tenant: Some("lab".to_owned()), limits, ..plain() };
        let secret = file.add("ci", lab).expect("a token");
        let hour = Duration::from_secs(3600);
        file.add("probe", NewToken { valid: Some(hour), ..plain() }).expect("a token");
        assert!(file.add("ci", plain()).is_err(), "the name is taken");
        assert!(file.add("a b", plain()).is_err() && !is_token_name("token"));
        assert!(file.add("x", NewToken { tenant: Some("a b".to_owned()), ..plain() }).is_err());
        let text = fs::read_to_string(folder.path().join("tokens")).expect("a file");
        assert!(!text.contains(&secret));
        let again = TokenFile::read(folder.path()).expect("a file");
        let ci = &again.entries()["ci"];
        assert_eq!((ci, ci.tenant.as_deref()), (&file.entries()["ci"], Some("lab")));
        assert_eq!(ci.hash(), &hash(secret.as_bytes()));
        let probe = &again.entries()["probe"];
        let now = SystemTime::now();
        assert!(probe.is_valid(now) && !probe.is_valid(now + 2 * hour));
        let ports = |file: &TokenFile| file.entries()["ci"].limits.to_string();
        assert_eq!(ports(&again), "ports=0-3");
        assert!(file.change("ci", None, Limits::default()).expect("a file"));
        assert!(!file.change("cj", None, Limits::default()).expect("a file"));
        let again = TokenFile::read(folder.path()).expect("a file");
        assert_eq!((ports(&again), &again.entries()["ci"].tenant), (String::new(), &None));
        assert!(file.remove("ci").expect("a file") && !file.remove("ci").expect("a file"));
        assert_eq!(TokenFile::read(folder.path()).expect("a file").entries().len(), 1);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let hash = "0".repeat(64);
        for (line, problem) in [
            ("ci".to_owned(), "line 2: expected 4 fields or more, found 1"),
            (format!("ci {} read never", &hash[1..]), "line 2: expected a hash"),
            (format!("ci {hash} reed never"), "line 2: expected one or more of read"),
            (format!("ci {hash} read soon"), "line 2: expected a time"),
            (format!("c/i {hash} read never"), "line 2: expected a name"),
            (
                format!("ci {hash} read never tenent=a"),
                "line 2: tenant=NAME or a limit: expected one of",
            ),
            (format!("ci {hash} read never tenant="), "line 2: expected a tenant of letters"),
            (format!("ci {hash} read never tenant=a tenant=b"), "line 2: tenant is there twice"),
            (
                format!("a {hash} read never\na {hash} read never"),
                "line 3: the name a is there twice",
            ),
        ] {
            let path = folder.path().join("tokens");
            write_secret(&path, format!("# tokens\n{line}\n").as_bytes()).expect("a file");
            let error = TokenFile::read(folder.path()).expect_err(&line).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
