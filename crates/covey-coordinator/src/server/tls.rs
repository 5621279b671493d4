//! Credentials: a private CA with certificates for the coordinator and its agents, and tokens.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use thiserror::Error;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

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
    Make(#[from] rcgen::Error),
    /// A certificate or key cannot be used.
    #[error("cannot use certificates: {0}")]
    Use(String),
}

/// Where a folder's credentials are.
#[derive(Debug, Clone)]
pub struct Credentials {
    folder: PathBuf,
}

/// Years for which certificates are good.
const YEARS: i32 = 5;

/// The domain of the names in agents' certificates.
const AGENTS: &str = "agents.covey.internal";

/// What the certificate of a port's agent is for.
fn name_of(port: u32) -> String {
    format!("port-{port}.{AGENTS}")
}

/// Whether somebody with this certificate, which a CA of ours has signed, may speak for a port.
pub(super) fn speaks_for(certificate: &CertificateDer<'_>, port: u32) -> bool {
    let parsed = ParsedCertificate::try_from(certificate);
    let name = ServerName::try_from(name_of(port));
    parsed
        .ok()
        .zip(name.ok())
        .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
}

impl Credentials {
    /// Those in a coordinator's folder.
    pub fn of(folder: &Path) -> Credentials {
        Credentials { folder: folder.to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
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

    /// The token, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be read or written, or others may read it.
    pub fn token(&self) -> Result<Vec<u8>, CredentialError> {
        let path = self.token_path();
        if !path.exists() {
            fs::create_dir_all(&self.folder).map_err(|source| io_error(&self.folder, source))?;
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|e| CredentialError::Use(e.to_string()))?;
            let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            write_secret(&path, format!("{hex}\n").as_bytes())?;
        }
        read_token(&path)
    }

    /// Makes a private CA, a certificate for the coordinator under `names`, and one for agents of any
    /// port, each with its key; what is there stays.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn init(&self, names: &[String]) -> Result<(), CredentialError> {
        self.make(names, YEARS)
    }

    /// See [`Credentials::init`]; the agents' certificate is good for so many years.
    fn make(&self, names: &[String], agent_years: i32) -> Result<(), CredentialError> {
        fs::create_dir_all(&self.folder).map_err(|source| io_error(&self.folder, source))?;
        self.token()?;
        if self.has_certificates() {
            return Ok(());
        }
        let ca = authority()?;
        let ca_key = KeyPair::generate()?;
        let ca_certificate = ca.self_signed(&ca_key)?;
        let issuer = Issuer::new(ca, ca_key);
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        all.extend(names.iter().cloned());
        let server = params("Covey coordinator", &all, YEARS)?;
        self.issue(&issuer, "coordinator", server, ExtendedKeyUsagePurpose::ServerAuth)?;
        let any = params("Covey agent", &[format!("*.{AGENTS}")], agent_years)?;
        self.issue(&issuer, "agent", any, ExtendedKeyUsagePurpose::ClientAuth)?;
        write_secret(&self.path("ca.key"), issuer.key().serialize_pem().as_bytes())?;
        write_secret(&self.path("ca.pem"), ca_certificate.pem().as_bytes())
    }

    /// Makes a folder `agents/PORT` with the credentials of the agent of that port alone, unless there
    /// is one; after [`Credentials::init`].
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn admit(&self, port: u32) -> Result<(), CredentialError> {
        let own = Credentials::of(&self.path("agents").join(port.to_string()));
        if own.has_certificates() {
            return Ok(());
        }
        fs::create_dir_all(&own.folder).map_err(|source| io_error(&own.folder, source))?;
        let path = self.path("ca.key");
        check_mode(&path)?;
        let key = fs::read_to_string(&path).map_err(|source| io_error(&path, source))?;
        let issuer = Issuer::new(authority()?, KeyPair::from_pem(&key)?);
        let agent = params("Covey agent", &[name_of(port)], YEARS)?;
        own.issue(&issuer, "agent", agent, ExtendedKeyUsagePurpose::ClientAuth)?;
        let ca = self.path("ca.pem");
        let ca = fs::read(&ca).map_err(|source| io_error(&ca, source))?;
        write_secret(&own.path("ca.pem"), &ca)
    }

    fn issue(
        &self,
        issuer: &Issuer<'_, KeyPair>,
        name: &str,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<(), CredentialError> {
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, issuer)?;
        write_secret(&self.path(&format!("{name}.key")), key.serialize_pem().as_bytes())?;
        write_secret(&self.path(&format!("{name}.pem")), certificate.pem().as_bytes())
    }

    fn ca(&self) -> Result<RootCertStore, CredentialError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates("ca")? {
            roots.add(certificate).map_err(|error| CredentialError::Use(error.to_string()))?;
        }
        Ok(roots)
    }

    fn certificates(&self, name: &str) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
        let path = self.path(&format!("{name}.pem"));
        let content = |error: &dyn std::fmt::Display| CredentialError::Content {
            path: path.clone(),
            what: error.to_string(),
        };
        let certificates = CertificateDer::pem_file_iter(&path).map_err(|e| content(&e))?;
        certificates.collect::<Result<_, _>>().map_err(|e| content(&e))
    }

    fn key(&self, name: &str) -> Result<PrivateKeyDer<'static>, CredentialError> {
        let path = self.path(&format!("{name}.key"));
        check_mode(&path)?;
        PrivateKeyDer::from_pem_file(&path)
            .map_err(|error| CredentialError::Content { path, what: error.to_string() })
    }

    /// For the port of agents: both sides show certificates of the CA.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_agents(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        let verifier = WebPkiClientVerifier::builder(Arc::new(self.ca()?)).build();
        let verifier = verifier.map_err(|error| CredentialError::Use(error.to_string()))?;
        let config = ServerConfig::builder().with_client_cert_verifier(verifier);
        config
            .with_single_cert(self.certificates("coordinator")?, self.key("coordinator")?)
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(error.to_string()))
    }

    /// For the port of clients, who show tokens.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_clients(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(self.certificates("coordinator")?, self.key("coordinator")?)
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(error.to_string()))
    }

    /// For an agent that joins.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn agent(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        ClientConfig::builder()
            .with_root_certificates(self.ca()?)
            .with_client_auth_cert(self.certificates("agent")?, self.key("agent")?)
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(error.to_string()))
    }

    /// For a client that asks.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn client(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        let config = ClientConfig::builder().with_root_certificates(self.ca()?);
        Ok(Arc::new(config.with_no_client_auth()))
    }
}

/// What certificates of agents and coordinator are signed as.
fn authority() -> Result<CertificateParams, rcgen::Error> {
    let mut ca = params("Covey private CA", &[], YEARS)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(ca)
}

fn params(name: &str, names: &[String], years: i32) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let year = 1970 + (since.as_secs() / (1461 * 86400 / 4)) as i32;
    // From the beginning of the year before, for clocks that are behind.
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + years, 1, 1);
    Ok(params)
}

fn io_error(path: &Path, source: io::Error) -> CredentialError {
    CredentialError::Io { path: path.to_owned(), source }
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, content: &[u8]) -> Result<(), CredentialError> {
    // Whatever goes wrong, there is no part of it under its name.
    let new = path.with_added_extension("new");
    let write = || {
        if new.exists() {
            fs::remove_file(&new)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&new, path)
    };
    write().map_err(|source| io_error(path, source))
}

fn check_mode(path: &Path) -> Result<(), CredentialError> {
    let metadata = fs::metadata(path).map_err(|source| io_error(path, source))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
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
    let text = fs::read_to_string(path).map_err(|source| io_error(path, source))?;
    let token = text.trim();
    if token.is_empty() || token.len() > 255 || !token.is_ascii() {
        let what = "expected a token of 1 to 255 ASCII characters".to_owned();
        return Err(CredentialError::Content { path: path.to_owned(), what });
    }
    Ok(token.as_bytes().to_vec())
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
pub(super) fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// Whether an agent with the certificate in `agents` gets through to the coordinator of `ours`.
    fn joins(ours: &Credentials, agents: &Credentials) -> bool {
        let acceptor = TlsAcceptor::from(ours.for_agents().expect("credentials"));
        let connector = TlsConnector::from(agents.agent().expect("credentials"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (here, there) = duplex(1 << 16);
            let name = ServerName::try_from("localhost").expect("a name");
            let agent = async {
                let mut stream = connector.connect(name, there).await?;
                stream.write_all(b"!").await?;
                stream.flush().await?;
                // Open until it has been heard.
                io::Result::Ok(stream)
            };
            let coordinator = async {
                let mut stream = acceptor.accept(here).await?;
                stream.read_u8().await
            };
            let (_, heard) = tokio::join!(agent, coordinator);
            heard.is_ok()
        })
    }

    #[test]
    fn a_certificate_that_has_expired_or_is_of_another_ca_does_not_count() {
        let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let [ours, expired, others] = [0, 1, 2].map(|k: usize| Credentials::of(folders[k].path()));
        ours.init(&[]).expect("credentials");
        others.init(&[]).expect("credentials");
        expired.make(&[], 0).expect("credentials");
        assert!(joins(&ours, &ours));
        assert!(!joins(&ours, &others));
        // With the CA that made it, so that nothing else is wrong with it.
        assert!(!joins(&expired, &expired));
    }

    #[test]
    fn a_certificate_is_for_one_port_or_for_any() {
        let folder = tempfile::tempdir().expect("a folder");
        let ours = Credentials::of(folder.path());
        ours.init(&[]).expect("credentials");
        for _ in 0..2 {
            ours.admit(3).expect("credentials");
        }
        let own = Credentials::of(&folder.path().join("agents/3"));
        assert!(joins(&ours, &own));
        let first = |of: &Credentials| of.certificates("agent").expect("a certificate").remove(0);
        let ports = |certificate| [0, 3, 33].map(|port| speaks_for(&certificate, port));
        assert_eq!(ports(first(&own)), [false, true, false]);
        assert_eq!(ports(first(&ours)), [true; 3]);
    }

    #[test]
    fn secrets_are_for_their_owner_alone_and_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let credentials = Credentials::of(folder.path());
        credentials.init(&["10.0.0.1".to_owned()]).expect("credentials");
        let token = credentials.token().expect("a token");
        assert_eq!(token.len(), 64);
        credentials.init(&[]).expect("credentials");
        assert_eq!(credentials.token().expect("a token"), token);
        for entry in fs::read_dir(folder.path()).expect("a folder") {
            let mode = entry.and_then(|entry| entry.metadata()).expect("a file").permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        assert!(same_secret(&token, &token) && !same_secret(&token, b"x"));
    }
}
