//! TLS between the hosts of flows: both sides show certificates of the same CA.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use covey_api::{CredentialError, read_certificates, read_key, read_revocation_lists};
use tokio::net::TcpStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::connection::Connection;

/// The certificate that this host shows on the connections of flows, and who has to have signed
/// that of the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, with those of its signers if there are any between it and the CA.
    pub certificate: PathBuf,
    /// Its key, which nobody else may read.
    pub key: PathBuf,
    /// The certificates of the CA.
    pub ca: PathBuf,
    /// Lists of revoked certificates, if there is this file.
    pub crl: PathBuf,
}

impl TlsFiles {
    /// The files of an agent's folder, as `covey serve --init` and `covey certs` make them.
    pub fn of_agent(folder: &Path) -> TlsFiles {
        let path = |name| folder.join(name);
        TlsFiles {
            certificate: path("agent.pem"),
            key: path("agent.key"),
            ca: path("ca.pem"),
            crl: path("crl.pem"),
        }
    }
}

/// What both sides of connections are made from.
#[derive(Clone)]
struct Configs {
    connector: TlsConnector,
    acceptor: TlsAcceptor,
}

/// TLS of an application. Files are read again now and then, so that renewed ones need no restart.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Mutex<(Configs, Instant)>,
}

/// Time between two readings.
const READ_EVERY: Duration = Duration::from_secs(10);
/// Maximum time of a handshake.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(30);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn start(files: TlsFiles) -> Result<Tls, CredentialError> {
        let current = Mutex::new((read(&files)?, Instant::now()));
        Ok(Tls { files, current })
    }

    fn configs(&self) -> Configs {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.1.elapsed() >= READ_EVERY {
            current.1 = Instant::now();
            match read(&self.files) {
                Ok(configs) => current.0 = configs,
                // Somebody may be replacing the files at this moment.
                Err(error) => tracing::warn!(%error, "certificates are not read again"),
            }
        }
        current.0.clone()
    }

    /// The handshake of the side that has opened the connection.
    pub async fn connect(&self, socket: TcpStream) -> io::Result<Connection> {
        let peer = socket.peer_addr()?;
        // No name is asked for: every certificate of the CA counts.
        let name = ServerName::IpAddress(peer.ip().into());
        let handshake = self.configs().connector.connect(name, socket);
        let (socket, tls) = within(handshake, peer).await?.into_inner();
        Ok(Connection::encrypted(socket, peer, tls.into()))
    }

    /// The handshake of the side that listens.
    pub async fn accept(&self, socket: TcpStream) -> io::Result<Connection> {
        let peer = socket.peer_addr()?;
        let (socket, tls) =
            within(self.configs().acceptor.accept(socket), peer).await?.into_inner();
        Ok(Connection::encrypted(socket, peer, tls.into()))
    }
}

async fn within<T>(
    handshake: impl Future<Output = io::Result<T>>,
    peer: std::net::SocketAddr,
) -> io::Result<T> {
    let done = tokio::time::timeout(HANDSHAKE_WITHIN, handshake).await;
    done.map_err(io::Error::from).flatten().map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                " (the other side has closed the connection: it may have no TLS, or refuse this certificate)"
            }
            _ => "",
        };
        io::Error::new(error.kind(), format!("TLS with {peer}: {error}{hint}"))
    })
}

fn read(files: &TlsFiles) -> Result<Configs, CredentialError> {
    let unusable = |error: &dyn fmt::Display| CredentialError::Use(error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(&files.ca)? {
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    // Our own: the application may have none for the process, or another one.
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .with_crls(read_revocation_lists(&files.crl)?)
        .allow_unknown_revocation_status()
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| unusable(&error))?;
    let key = read_key(&files.key)?;
    let shown = read_certificates(&files.certificate)?;
    let wrong = |error: rustls::Error| CredentialError::Content {
        path: files.certificate.clone(),
        what: format!("with its key: {error}"),
    };
    let versions = &[&rustls::version::TLS13];
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(|error| unusable(&error))?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(shown.clone(), key.clone_key())
        .map_err(wrong)?;
    // Each connection shows its certificates: none goes on with what an earlier one has shown.
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OtherHost(verifier)))
        .with_client_auth_cert(shown, key)
        .map_err(wrong)?;
    client.resumption = Resumption::disabled();
    client.enable_sni = false;
    Ok(Configs { connector: Arc::new(client).into(), acceptor: Arc::new(server).into() })
}

/// Verifies the certificate of a listener as that of a client: an agent has a single certificate
/// for both.
#[derive(Debug)]
struct OtherHost(Arc<dyn ClientCertVerifier>);

impl ServerCertVerifier for OtherHost {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        signers: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.0.verify_client_cert(certificate, signers, now);
        verified.map(|_| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
