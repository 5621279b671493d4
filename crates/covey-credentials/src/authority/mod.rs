//! A private CA in a folder: the certificates that it has made for a coordinator, agents and
//! relays.
//!
//! The folder has the files of the coordinator and of whoever may speak for any port, `agents/PORT`
//! and `relays/NAME` have those of others. `issued` keeps a copy of each certificate, so that it
//! can be listed and revoked when the file has gone. `crl.pem` lists the revoked ones; it is the
//! only record of that.

mod agent_certificates;
mod certificate;
mod files;
mod issue;
mod live;
mod names;
mod owner;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use covey_api::{CredentialError, Credentials, check_mode, read_token};
use rcgen::{Issuer, KeyPair};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

pub use agent_certificates::AgentCertificates;
pub use certificate::{Certificate, Serial};
pub(crate) use files::{create_folder, write_secret};
pub use issue::VALIDITY;
pub use live::{LiveTls, Tls};
pub use names::speaks_for;
pub use owner::{Owner, OwnerError, is_name};
pub use tls::{Listener, ServerTls};

use files::{io_error, read};
use issue::make;
use owner::Kept;

use crate::hex::{hex, unhex};

/// The file of the secret that flow tokens are signed with.
pub(crate) const FLOW_SECRET: &str = "flow-secret";

/// Makes the credentials in a coordinator's folder, and signs for its agents and relays.
#[derive(Debug, Clone)]
pub struct Authority {
    credentials: Credentials,
    ca_key: PathBuf,
    valid: Duration,
}

/// A certificate that the CA has made.
#[derive(Debug, Clone)]
pub struct Issued {
    /// Whose it is.
    pub owner: Owner,
    /// What it says.
    pub certificate: Certificate,
    /// Whether the owner's folder has it, rather than a later one.
    pub is_current: bool,
    /// Whether it is revoked.
    pub is_revoked: bool,
}

impl Authority {
    /// The authority whose folder this is.
    pub fn of(folder: &Path) -> Authority {
        let credentials = Credentials::of(folder);
        Authority { ca_key: credentials.path("ca.key"), credentials, valid: VALIDITY }
    }

    /// Keeps the key of the CA in this file, rather than in the folder.
    #[must_use]
    pub fn with_ca_key(mut self, path: PathBuf) -> Authority {
        self.ca_key = path;
        self
    }

    /// Makes certificates that are valid for so long, but no longer than that of the CA.
    #[must_use]
    pub fn valid_for(mut self, time: Duration) -> Authority {
        self.valid = time;
        self
    }

    /// The credentials in its folder.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn path(&self, name: &str) -> PathBuf {
        self.credentials.path(name)
    }

    /// The folder of an owner.
    fn folder(&self, owner: &Owner) -> PathBuf {
        match owner.folder() {
            None => self.credentials.folder().to_owned(),
            Some(name) => self.path(&name),
        }
    }

    /// The token, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be read or written, or others may read it.
    pub fn token(&self) -> Result<Vec<u8>, CredentialError> {
        let path = self.credentials.token_path();
        if !path.exists() {
            create_folder(self.credentials.folder())?;
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|e| CredentialError::Use(e.to_string()))?;
            write_secret(&path, format!("{}\n", hex(&random)).as_bytes())?;
        }
        read_token(&path)
    }

    /// The secret that flow tokens are signed with, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be read or written, or others may read it.
    pub fn flow_secret(&self) -> Result<[u8; 32], CredentialError> {
        let path = self.path(FLOW_SECRET);
        if !path.exists() {
            create_folder(self.credentials.folder())?;
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|e| CredentialError::Use(e.to_string()))?;
            write_secret(&path, format!("{}\n", hex(&random)).as_bytes())?;
        }
        let text = read_token(&path)?;
        let secret = std::str::from_utf8(&text).ok().and_then(unhex);
        let what = "expected 64 hexadecimal digits".to_owned();
        secret.ok_or(CredentialError::Content { path, what })
    }

    /// Makes a private CA, a certificate for the coordinator under `names`, and one for agents of
    /// any port, each with its key. Returns whether it did: if there is a CA, files stay as they
    /// are.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn init(&self, names: &[String]) -> Result<bool, CredentialError> {
        create_folder(self.credentials.folder())?;
        self.token()?;
        self.flow_secret()?;
        if self.credentials.has_certificates() {
            return Ok(false);
        }
        let key = match self.ca_key.exists() {
            // It was made for this, or is left from an attempt that did not end.
            true => self.read_ca_key()?,
            false => {
                let key = KeyPair::generate().map_err(make)?;
                write_secret(&self.ca_key, key.serialize_pem().as_bytes())?;
                key
            }
        };
        let ca = issue::authority(None)?;
        let certificate = ca.self_signed(&key).map_err(make)?.pem();
        let issuer = Issuer::new(ca, key);
        for owner in [Owner::Coordinator, Owner::AnyAgent] {
            let more = if owner == Owner::Coordinator { names } else { &[] };
            for kept in owner.kept() {
                let names = merged(&kept.names, more);
                self.issue(&issuer, &owner, &kept, &names, true)?;
            }
        }
        // A folder that has it is whole.
        write_secret(&self.path("ca.pem"), certificate.as_bytes())?;
        Ok(true)
    }

    /// Makes the folder of an agent or a relay, with credentials of its own; after
    /// [`Authority::init`]. With a relay's, it can speak for agents of any port, and cannot be
    /// taken for the coordinator. Returns whether it did: a folder with certificates stays as it
    /// is.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn admit(&self, owner: &Owner) -> Result<bool, CredentialError> {
        let folder = self.folder(owner);
        if Credentials::of(&folder).has_certificates() {
            return Ok(false);
        }
        create_folder(&folder)?;
        let issuer = self.issuer()?;
        for kept in owner.kept() {
            self.issue(&issuer, owner, &kept, &kept.names, true)?;
        }
        self.copy_crl(&folder)?;
        self.copy_ca(&folder)?;
        Ok(true)
    }

    /// Those that have certificates in the folder.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn owners(&self) -> Result<Vec<Owner>, CredentialError> {
        let mut owners = vec![Owner::Coordinator, Owner::AnyAgent];
        for kind in ["agents", "relays"] {
            let names = names_in(&self.path(kind))?;
            let mut found: Vec<Owner> =
                names.iter().filter_map(|name| format!("{kind}/{name}").parse().ok()).collect();
            found.sort();
            owners.append(&mut found);
        }
        owners.retain(|owner| self.folder(owner).join(owner.kept()[0].file()).exists());
        Ok(owners)
    }

    /// Makes an owner's certificates again, with the same names and `more`. The keys stay, unless
    /// `new_keys`.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn renew(
        &self,
        owner: &Owner,
        more: &[String],
        new_keys: bool,
    ) -> Result<(), CredentialError> {
        let (folder, issuer) = (self.folder(owner), self.issuer()?);
        let credentials = Credentials::of(&folder);
        for kept in owner.kept() {
            let present = credentials.certificates(kept.stem)?;
            let present = present.first().map(|der| Certificate::read(der)).transpose()?;
            let names = present.map_or(kept.names.clone(), |certificate| certificate.names);
            let more = if kept.is_listener() { more } else { &[] };
            self.issue(&issuer, owner, &kept, &merged(&names, more), new_keys)?;
        }
        if owner.folder().is_some() {
            self.copy_crl(&folder)?;
            self.copy_ca(&folder)?;
        }
        Ok(())
    }

    /// Makes the certificate of the CA again, with the same key: what it has signed stays valid.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn renew_ca(&self) -> Result<(), CredentialError> {
        let certificate =
            issue::authority(None)?.self_signed(&self.read_ca_key()?).map_err(make)?;
        write_secret(&self.path("ca.pem"), certificate.pem().as_bytes())
    }

    /// All certificates that the CA has made and that are known here, by owner and then by the time
    /// of expiry.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn issued(&self) -> Result<Vec<Issued>, CredentialError> {
        let revoked = tls::revoked(&self.credentials.revocation_lists()?)?;
        let mut all: BTreeMap<Serial, Issued> = BTreeMap::new();
        let mut add = |owner: &Owner, certificate: Certificate, is_current| {
            let is_revoked = revoked.serials.contains_key(&certificate.serial);
            let serial = certificate.serial.clone();
            let issued = Issued { owner: owner.clone(), certificate, is_current, is_revoked };
            all.entry(serial).or_insert(issued);
        };
        // Earlier versions kept no copies.
        for owner in self.owners()? {
            let credentials = Credentials::of(&self.folder(&owner));
            for kept in owner.kept() {
                for der in credentials.certificates(kept.stem)? {
                    add(&owner, Certificate::read(&der)?, true);
                }
            }
        }
        for (owner, folder) in self.copies()? {
            for name in names_in(&folder)?.iter().filter(|name| name.ends_with(".pem")) {
                add(&owner, read_certificate(&folder.join(name))?, false);
            }
        }
        let mut all: Vec<Issued> = all.into_values().collect();
        all.sort_by(|a, b| {
            let key = |it: &Issued| (it.owner.clone(), it.certificate.expires);
            key(a).cmp(&key(b))
        });
        Ok(all)
    }

    /// The folders with copies of certificates, by owner.
    fn copies(&self) -> Result<Vec<(Owner, PathBuf)>, CredentialError> {
        let all = self.path("issued");
        let mut names: Vec<String> = ["coordinator", "agent"].map(str::to_owned).into();
        for kind in ["agents", "relays"] {
            let found = names_in(&all.join(kind))?;
            names.extend(found.iter().map(|name| format!("{kind}/{name}")));
        }
        let owner = |name: String| name.parse().ok().map(|owner| (owner, all.join(name)));
        Ok(names.into_iter().filter_map(owner).collect())
    }

    /// Revokes certificates. The coordinator and relays that have the new `crl.pem` accept them no
    /// more.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn revoke(&self, serials: impl IntoIterator<Item = Serial>) -> Result<(), CredentialError> {
        let issuer = self.issuer()?;
        let mut revoked = tls::revoked(&self.credentials.revocation_lists()?)?;
        for serial in serials {
            revoked.serials.entry(serial).or_insert_with(issue::now_s);
        }
        revoked.number += 1;
        let list = issue::revocation_list(&issuer, &revoked)?;
        write_secret(&self.path("crl.pem"), list.as_bytes())?;
        for owner in self.owners()?.iter().filter(|owner| matches!(owner, Owner::Relay(_))) {
            self.copy_crl(&self.folder(owner))?;
        }
        Ok(())
    }

    fn read_ca_key(&self) -> Result<KeyPair, CredentialError> {
        check_mode(&self.ca_key)?;
        KeyPair::from_pem(&read(&self.ca_key)?).map_err(make)
    }

    /// The CA with its key.
    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, CredentialError> {
        let key = self.read_ca_key()?;
        let certificate = read(&self.path("ca.pem"))?;
        Issuer::from_ca_cert_pem(&certificate, key).map_err(make)
    }

    /// Gives others the certificate of the CA. A folder that has it is whole.
    fn copy_ca(&self, folder: &Path) -> Result<(), CredentialError> {
        write_secret(&folder.join("ca.pem"), read(&self.path("ca.pem"))?.as_bytes())
    }

    /// Gives others the list of revoked certificates, if there is one.
    fn copy_crl(&self, folder: &Path) -> Result<(), CredentialError> {
        let list = self.path("crl.pem");
        if !list.exists() {
            return Ok(());
        }
        write_secret(&folder.join("crl.pem"), read(&list)?.as_bytes())
    }

    /// Makes a certificate, and its key unless that exists and is to stay.
    fn issue(
        &self,
        issuer: &Issuer<'_, KeyPair>,
        owner: &Owner,
        kept: &Kept,
        names: &[String],
        new_key: bool,
    ) -> Result<(), CredentialError> {
        let folder = self.folder(owner);
        let key_path = folder.join(format!("{}.key", kept.stem));
        let key = match new_key || !key_path.exists() {
            true => KeyPair::generate().map_err(make)?,
            false => {
                check_mode(&key_path)?;
                KeyPair::from_pem(&read(&key_path)?).map_err(make)?
            }
        };
        let pem = issue::signed(issuer, kept, names, &key, self.validity()?)?;
        let copies = self.path("issued").join(owner.to_string());
        create_folder(&copies)?;
        let serial = Certificate::read(&der_of(&pem)?)?.serial;
        write_secret(&copies.join(format!("{serial}.pem")), pem.as_bytes())?;
        write_secret(&key_path, key.serialize_pem().as_bytes())?;
        write_secret(&folder.join(kept.file()), pem.as_bytes())
    }

    /// For how long a new certificate is valid: not longer than that of the CA, if there is one
    /// yet.
    fn validity(&self) -> Result<Duration, CredentialError> {
        if !self.credentials.has_certificates() {
            return Ok(self.valid);
        }
        let ca = read_certificate(&self.path("ca.pem"))?;
        let left_s = ca.expires_in_s(std::time::SystemTime::now());
        if left_s < 1.0 {
            let what = "the CA has expired: expected one that is valid (covey certs renew --ca)";
            return Err(CredentialError::Use(what.to_owned()));
        }
        Ok(self.valid.min(Duration::from_secs_f64(left_s)))
    }
}

impl Kept {
    fn file(&self) -> String {
        format!("{}.pem", self.stem)
    }

    /// Whether the certificate is for a listener, whose names are free.
    fn is_listener(&self) -> bool {
        self.usage == rcgen::ExtendedKeyUsagePurpose::ServerAuth
    }
}

/// Names, and those of `more` that are not among them.
fn merged(names: &[String], more: &[String]) -> Vec<String> {
    let mut all = names.to_vec();
    for name in more {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

fn der_of(pem: &str) -> Result<CertificateDer<'static>, CredentialError> {
    CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| CredentialError::Use(error.to_string()))
}

fn read_certificate(path: &Path) -> Result<Certificate, CredentialError> {
    let bad = |what: String| CredentialError::Content { path: path.to_owned(), what };
    let der = der_of(&read(path)?).map_err(|error| bad(error.to_string()))?;
    Certificate::read(&der).map_err(|error| bad(error.to_string()))
}

/// The names of the files in a folder, sorted; none if there is no folder.
fn names_in(folder: &Path) -> Result<Vec<String>, CredentialError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let error = |source| io_error(folder, source);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        // A name that is no text is none of ours.
        names.extend(entry.map_err(error)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
