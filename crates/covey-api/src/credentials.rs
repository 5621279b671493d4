//! The credentials in a folder: a token, and certificates with their keys.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::{WantsClientCert, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
};
use tokio_rustls::rustls::{ClientConfig, ConfigBuilder, RootCertStore};

use crate::credential_error::CredentialError;
use crate::pem::{read_certificates, read_key, read_revocation_lists};
use crate::secret_file::check_mode;

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
        read_certificates(&self.path(&format!("{name}.pem")))
    }

    /// The key in the file of that name, which only its owner may read.
    ///
    /// # Errors
    /// When it cannot be read, or others may read it.
    pub fn key(&self, name: &str) -> Result<PrivateKeyDer<'static>, CredentialError> {
        read_key(&self.path(&format!("{name}.key")))
    }

    /// The lists of revoked certificates, if there is the file `crl.pem`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn revocation_lists(
        &self,
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, CredentialError> {
        read_revocation_lists(&self.path("crl.pem"))
    }

    /// For an agent that joins.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn agent(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        let config = self.verifying()?;
        let config = config.with_client_auth_cert(self.certificates("agent")?, self.key("agent")?);
        config
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(format!("agent.pem with agent.key: {error}")))
    }

    /// For a client that asks.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn client(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        Ok(Arc::new(self.verifying()?.with_no_client_auth()))
    }

    /// Verifies that the other side has a certificate of the CA that is not revoked. The provider
    /// is our own: the applications of others may have none for the process, or another one.
    fn verifying(&self) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, CredentialError> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |error: &dyn Display| CredentialError::Use(error.to_string());
        let roots = Arc::new(self.roots()?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .with_crls(self.revocation_lists()?)
            .allow_unknown_revocation_status()
            .only_check_end_entity_revocation()
            .build()
            .map_err(|error| unusable(&error))?;
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions();
        Ok(config.map_err(|error| unusable(&error))?.with_webpki_verifier(verifier))
    }
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
