//! The credentials in a folder: a token, and certificates with their keys.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio_rustls::rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SignatureScheme};

use crate::acl;

/// Why credentials cannot be made or used.
#[derive(Debug, Error)]
pub enum CredentialError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file can be read by others than its owner.
    #[error("{}: expected mode 0600, found {mode:04o}", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Keys or certificates cannot be made.
    #[error("cannot make certificates: {0}")]
    Make(String),
    /// A certificate or key cannot be used.
    #[error("cannot use certificates: {0}")]
    Use(String),
}

/// The credentials in a folder: those of a coordinator, an agent or a client.
#[derive(Debug, Clone)]
pub struct Credentials {
    folder: PathBuf,
}

impl Credentials {
    /// The credentials in this folder.
    pub fn of(folder: &Path) -> Credentials {
        Credentials { folder: folder.to_owned() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The file with the clients' token.
    pub fn token_path(&self) -> PathBuf {
        self.path("token")
    }

    /// Whether there are certificates.
    pub fn has_certificates(&self) -> bool {
        self.path("ca.pem").exists()
    }

    /// The certificates of the authority that has signed all others.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn roots(&self) -> Result<RootCertStore, CredentialError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates("ca")? {
            roots.add(certificate).map_err(|error| CredentialError::Use(error.to_string()))?;
        }
        Ok(roots)
    }

    /// The certificates in the file of that name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn certificates(
        &self,
        name: &str,
    ) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
        let path = self.path(&format!("{name}.pem"));
        let content = |error: &dyn std::fmt::Display| CredentialError::Content {
            path: path.clone(),
            what: error.to_string(),
        };
        let certificates = CertificateDer::pem_file_iter(&path).map_err(|e| content(&e))?;
        certificates.collect::<Result<_, _>>().map_err(|e| content(&e))
    }

    /// The key in the file of that name, which only its owner may read.
    ///
    /// # Errors
    /// When it cannot be read, or others may read it.
    pub fn key(&self, name: &str) -> Result<PrivateKeyDer<'static>, CredentialError> {
        let path = self.path(&format!("{name}.key"));
        check_mode(&path)?;
        PrivateKeyDer::from_pem_file(&path)
            .map_err(|error| CredentialError::Content { path, what: error.to_string() })
    }

    /// The lists of revoked certificates, if there is the file `crl.pem`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn revocation_lists(
        &self,
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, CredentialError> {
        let path = self.path("crl.pem");
        if !path.exists() {
            return Ok(Vec::new());
        }
        let content = |error: &dyn std::fmt::Display| CredentialError::Content {
            path: path.clone(),
            what: error.to_string(),
        };
        let lists = CertificateRevocationListDer::pem_file_iter(&path).map_err(|e| content(&e))?;
        lists.collect::<Result<_, _>>().map_err(|e| content(&e))
    }

    /// For an agent that joins. Each connection shows the certificate that the folder has then, so that a renewed one
    /// needs no restart.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn agent(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        let shown = Arc::new(ShownCertificate::of(self.clone())?);
        let config = ClientConfig::builder().with_webpki_verifier(self.verifier()?);
        Ok(Arc::new(config.with_client_cert_resolver(shown)))
    }

    /// For a client that asks.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn client(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        let config = ClientConfig::builder().with_webpki_verifier(self.verifier()?);
        Ok(Arc::new(config.with_no_client_auth()))
    }

    /// Verifies that the other side has a certificate of the CA that is not revoked.
    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, CredentialError> {
        let verifier = WebPkiServerVerifier::builder(Arc::new(self.roots()?))
            .with_crls(self.revocation_lists()?)
            .allow_unknown_revocation_status()
            .only_check_end_entity_revocation();
        verifier.build().map_err(|error| CredentialError::Use(error.to_string()))
    }
}

/// The certificate of an agent, as its folder has it.
#[derive(Debug)]
struct ShownCertificate {
    credentials: Credentials,
    /// What was last read, in case that the files are being replaced.
    last: Mutex<Arc<CertifiedKey>>,
}

impl ShownCertificate {
    fn of(credentials: Credentials) -> Result<ShownCertificate, CredentialError> {
        let last = Mutex::new(read_certified(&credentials)?);
        Ok(ShownCertificate { credentials, last })
    }
}

impl ResolvesClientCert for ShownCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(found) = read_certified(&self.credentials) {
            *last = found;
        }
        Some(last.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The certificate and key of the agent.
fn read_certified(credentials: &Credentials) -> Result<Arc<CertifiedKey>, CredentialError> {
    let (certificates, key) = (credentials.certificates("agent")?, credentials.key("agent")?);
    CertifiedKey::from_der(certificates, key, &ring::default_provider())
        .map(Arc::new)
        .map_err(|error| CredentialError::Use(format!("agent.pem with agent.key: {error}")))
}

/// Checks that only its owner may read a file, or that an access control list lets nobody else read it but this
/// process's user and root. systemd hands credentials over as such files.
///
/// # Errors
/// When others may, or the file cannot be found.
pub fn check_mode(path: &Path) -> Result<(), CredentialError> {
    let metadata = fs::metadata(path)
        .map_err(|source| CredentialError::Io { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o777;
    // Of a file with a list, the bits of the group are the most that the list gives to anybody.
    if mode & 0o077 == 0 || (mode & 0o037 == 0 && acl::is_for_us_alone(path)) {
        return Ok(());
    }
    Err(CredentialError::Mode { path: path.to_owned(), mode })
}

/// The token in a file, which only its owner may read.
///
/// # Errors
/// When it cannot be read, others may read it, or it is empty.
pub fn read_token(path: &Path) -> Result<Vec<u8>, CredentialError> {
    check_mode(path)?;
    let text = fs::read_to_string(path)
        .map_err(|source| CredentialError::Io { path: path.to_owned(), source })?;
    let token = text.trim();
    if token.is_empty() || token.len() > 255 || !token.is_ascii() {
        let what = "expected a token of 1 to 255 ASCII characters".to_owned();
        return Err(CredentialError::Content { path: path.to_owned(), what });
    }
    Ok(token.as_bytes().to_vec())
}
