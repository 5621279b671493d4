//! What a coordinator makes for TLS: a private CA, certificates for itself and its agents, and tokens.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use covey_api::{CredentialError, Credentials, check_mode, read_token};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

use crate::connections::{AGENTS, name_of};

/// Years for which certificates are good.
const YEARS: i32 = 5;

/// Makes the credentials in a coordinator's folder, and signs for its agents.
#[derive(Debug, Clone)]
pub struct Authority {
    credentials: Credentials,
}

impl Authority {
    /// The authority whose folder this is.
    pub fn of(folder: &Path) -> Authority {
        Authority { credentials: Credentials::of(folder) }
    }

    /// The credentials in its folder.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn path(&self, name: &str) -> PathBuf {
        self.credentials.path(name)
    }

    fn create_folder(&self) -> Result<(), CredentialError> {
        let folder = self.credentials.folder();
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))
    }

    /// The token, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be read or written, or others may read it.
    pub fn token(&self) -> Result<Vec<u8>, CredentialError> {
        let path = self.credentials.token_path();
        if !path.exists() {
            self.create_folder()?;
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|e| CredentialError::Use(e.to_string()))?;
            let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            write_secret(&path, format!("{hex}\n").as_bytes())?;
        }
        read_token(&path)
    }

    /// Makes a private CA, a certificate for the coordinator under `names`, and one for agents of any
    /// port, each with its key. Files that exist stay as they are.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn init(&self, names: &[String]) -> Result<(), CredentialError> {
        self.make(names, YEARS)
    }

    /// Makes them; the agents' certificate is good for so many years.
    fn make(&self, names: &[String], agent_years: i32) -> Result<(), CredentialError> {
        self.create_folder()?;
        self.token()?;
        if self.credentials.has_certificates() {
            return Ok(());
        }
        let ca = authority()?;
        let ca_key = KeyPair::generate().map_err(make)?;
        let ca_certificate = ca.self_signed(&ca_key).map_err(make)?;
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
    /// is one; after [`Authority::init`].
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn admit(&self, port: u32) -> Result<(), CredentialError> {
        let own = Authority::of(&self.path("agents").join(port.to_string()));
        if own.credentials.has_certificates() {
            return Ok(());
        }
        own.create_folder()?;
        let issuer = self.issuer()?;
        let agent = params("Covey agent", &[name_of(port)], YEARS)?;
        own.issue(&issuer, "agent", agent, ExtendedKeyUsagePurpose::ClientAuth)?;
        self.copy_ca(&own)
    }

    /// Makes a folder `relays/NAME` with the credentials of a relay that agents reach under this name or address,
    /// unless there is one; after [`Authority::init`]. With them it can speak for agents of any port, and cannot be
    /// taken for the coordinator.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn admit_relay(&self, name: &str) -> Result<(), CredentialError> {
        let own = Authority::of(&self.path("relays").join(name));
        if own.credentials.has_certificates() {
            return Ok(());
        }
        own.create_folder()?;
        let issuer = self.issuer()?;
        let relay = params("Covey relay", &[name.to_owned()], YEARS)?;
        own.issue(&issuer, "relay", relay, ExtendedKeyUsagePurpose::ServerAuth)?;
        let agents = params("Covey agent", &[format!("*.{AGENTS}")], YEARS)?;
        own.issue(&issuer, "agent", agents, ExtendedKeyUsagePurpose::ClientAuth)?;
        self.copy_ca(&own)
    }

    /// The CA with its key.
    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, CredentialError> {
        let path = self.path("ca.key");
        check_mode(&path)?;
        let key = fs::read_to_string(&path).map_err(|source| io_error(&path, source))?;
        Ok(Issuer::new(authority()?, KeyPair::from_pem(&key).map_err(make)?))
    }

    /// Gives others the certificate of the CA. A folder that has it is whole.
    fn copy_ca(&self, to: &Authority) -> Result<(), CredentialError> {
        let ca = self.path("ca.pem");
        let ca = fs::read(&ca).map_err(|source| io_error(&ca, source))?;
        write_secret(&to.path("ca.pem"), &ca)
    }

    fn issue(
        &self,
        issuer: &Issuer<'_, KeyPair>,
        name: &str,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<(), CredentialError> {
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().map_err(make)?;
        let certificate = params.signed_by(&key, issuer).map_err(make)?;
        write_secret(&self.path(&format!("{name}.key")), key.serialize_pem().as_bytes())?;
        write_secret(&self.path(&format!("{name}.pem")), certificate.pem().as_bytes())
    }

    /// For the port of agents: both sides show certificates of the CA.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_agents(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        self.for_agents_of("coordinator")
    }

    /// The same for a relay, whose certificate is in the file `relay.pem`.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_relayed_agents(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        self.for_agents_of("relay")
    }

    fn for_agents_of(&self, name: &str) -> Result<Arc<ServerConfig>, CredentialError> {
        let verifier = WebPkiClientVerifier::builder(Arc::new(self.credentials.roots()?)).build();
        let verifier = verifier.map_err(|error| CredentialError::Use(error.to_string()))?;
        let config = ServerConfig::builder().with_client_cert_verifier(verifier);
        config
            .with_single_cert(self.credentials.certificates(name)?, self.credentials.key(name)?)
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(error.to_string()))
    }

    /// For the port of clients, who show tokens.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_clients(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        self.without_client_certificates("coordinator")
    }

    /// For the port of a relay's probes, who show nothing.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn for_probes(&self) -> Result<Arc<ServerConfig>, CredentialError> {
        self.without_client_certificates("relay")
    }

    fn without_client_certificates(
        &self,
        name: &str,
    ) -> Result<Arc<ServerConfig>, CredentialError> {
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(self.credentials.certificates(name)?, self.credentials.key(name)?)
            .map(Arc::new)
            .map_err(|error| CredentialError::Use(error.to_string()))
    }
}

/// The parameters of the CA that signs the certificates of agents and coordinator.
fn authority() -> Result<CertificateParams, CredentialError> {
    let mut ca = params("Covey private CA", &[], YEARS)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(ca)
}

fn params(name: &str, names: &[String], years: i32) -> Result<CertificateParams, CredentialError> {
    let mut params = CertificateParams::new(names).map_err(make)?;
    params.distinguished_name.push(DnType::CommonName, name);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let year = 1970 + (since.as_secs() / (1461 * 86400 / 4)) as i32;
    // Valid from the year before, for clocks that are behind.
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + years, 1, 1);
    Ok(params)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn make(error: rcgen::Error) -> CredentialError {
    CredentialError::Make(error.to_string())
}

fn io_error(path: &Path, source: io::Error) -> CredentialError {
    CredentialError::Io { path: path.to_owned(), source }
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, content: &[u8]) -> Result<(), CredentialError> {
    // A failure must not leave a part of the file under its name.
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::connections::{same_secret, speaks_for};
    use tokio_rustls::rustls::pki_types::ServerName;

    /// Whether an agent with the certificate in `agents` gets through to the coordinator of `ours`.
    fn joins(ours: &Authority, agents: &Authority) -> bool {
        let acceptor = TlsAcceptor::from(ours.for_agents().expect("credentials"));
        let connector = TlsConnector::from(agents.credentials.agent().expect("credentials"));
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
        let [ours, expired, others] = [0, 1, 2].map(|k: usize| Authority::of(folders[k].path()));
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
        let ours = Authority::of(folder.path());
        ours.init(&[]).expect("credentials");
        for _ in 0..2 {
            ours.admit(3).expect("credentials");
        }
        let own = Authority::of(&folder.path().join("agents/3"));
        assert!(joins(&ours, &own));
        let first =
            |of: &Authority| of.credentials.certificates("agent").expect("a certificate").remove(0);
        let ports = |certificate| [0, 3, 33].map(|port| speaks_for(&certificate, port));
        assert_eq!(ports(first(&own)), [false, true, false]);
        assert_eq!(ports(first(&ours)), [true; 3]);
    }

    #[test]
    fn secrets_are_for_their_owner_alone_and_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let credentials = Authority::of(folder.path());
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
