//! Certificates that are accepted and refused.

use std::os::unix::fs::PermissionsExt;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::names::speaks_for;
use super::*;

/// Whether an agent with the certificate in `agents` gets through to the coordinator of `ours`.
fn joins(ours: &Authority, agents: &Credentials) -> bool {
    let tls = Listener::Coordinator.for_agents(&ours.credentials).expect("credentials");
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
            std::io::Result::Ok(stream)
        };
        let coordinator = async {
            let mut stream = tls.acceptor.accept(here).await?;
            stream.read_u8().await
        };
        let (_, heard) = tokio::join!(agent, coordinator);
        heard.is_ok()
    })
}

fn authorities<const N: usize>() -> ([tempfile::TempDir; N], [Authority; N]) {
    let folders = [(); N].map(|()| tempfile::tempdir().expect("a folder"));
    let authorities = std::array::from_fn(|k| Authority::of(folders[k].path()));
    (folders, authorities)
}

#[test]
fn a_certificate_that_has_expired_or_is_of_another_ca_does_not_count() {
    let (_folders, [ours, expired, others]) = authorities();
    assert!(ours.init(&[]).expect("credentials"));
    assert!(others.init(&[]).expect("credentials"));
    expired.init(&[]).expect("credentials");
    // An agent's certificate of the same CA that ends at once.
    let short = expired.clone().valid_for(Duration::ZERO);
    short.renew(&Owner::AnyAgent, &[], false).expect("credentials");
    std::thread::sleep(Duration::from_millis(1100));
    assert!(joins(&ours, ours.credentials()));
    assert!(!joins(&ours, others.credentials()));
    assert!(!joins(&expired, expired.credentials()));
    expired.renew(&Owner::AnyAgent, &[], false).expect("credentials");
    assert!(joins(&expired, expired.credentials()));
}

#[test]
fn a_certificate_is_for_one_port_or_for_any() {
    let (_folder, [ours]) = authorities();
    ours.init(&[]).expect("credentials");
    let made = [0, 1].map(|_| ours.admit(&Owner::Agent(3)).expect("credentials"));
    assert_eq!(made, [true, false]);
    let own = Credentials::of(&ours.path("agents/3"));
    assert!(joins(&ours, &own));
    let first = |of: &Credentials| of.certificates("agent").expect("a certificate").remove(0);
    let ports = |certificate| [0, 3, 33].map(|port| speaks_for(&certificate, port));
    assert_eq!(ports(first(&own)), [false, true, false]);
    assert_eq!(ports(first(ours.credentials())), [true; 3]);
}

#[test]
fn a_renewed_certificate_has_its_names_and_key_and_the_old_one_still_counts() {
    let (_folder, [ours]) = authorities();
    ours.init(&["a.example".to_owned(), "10.0.0.1".to_owned()]).expect("credentials");
    let read = |name: &str| fs::read(ours.path(name)).expect("a file");
    let before = ["coordinator.pem", "coordinator.key", "ca.pem", "ca.key", "agent.key"].map(read);
    ours.renew(&Owner::Coordinator, &["b.example".to_owned()], false).expect("credentials");
    ours.renew(&Owner::AnyAgent, &[], true).expect("credentials");
    let after = ["coordinator.pem", "coordinator.key", "ca.pem", "ca.key", "agent.key"].map(read);
    let same: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a == b).collect();
    assert_eq!(same, [false, true, true, true, false]);
    let issued = ours.issued().expect("certificates");
    let coordinator: Vec<_> = issued.iter().filter(|it| it.owner == Owner::Coordinator).collect();
    let current: Vec<_> = coordinator.iter().filter(|it| it.is_current).collect();
    assert_eq!((coordinator.len(), current.len()), (2, 1));
    let names = ["localhost", "127.0.0.1", "::1", "a.example", "10.0.0.1", "b.example"];
    assert_eq!(current[0].certificate.names, names);
    assert!(joins(&ours, ours.credentials()));
    // The CA's own certificate may be renewed, too.
    ours.renew_ca().expect("credentials");
    assert!(joins(&ours, ours.credentials()));
}

#[test]
fn a_revoked_certificate_does_not_count_and_a_new_one_does() {
    let (_folder, [ours]) = authorities();
    ours.init(&[]).expect("credentials");
    for owner in [Owner::Agent(1), Owner::Agent(2), Owner::Relay("127.0.0.1".to_owned())] {
        ours.admit(&owner).expect("credentials");
    }
    let agents = [1, 2].map(|port| Credentials::of(&ours.path(&format!("agents/{port}"))));
    let join = || [joins(&ours, &agents[0]), joins(&ours, &agents[1])];
    assert_eq!(join(), [true, true]);
    let revoke = |port| {
        let issued = ours.issued().expect("certificates");
        let own = issued.into_iter().filter(|it| it.owner == Owner::Agent(port));
        ours.revoke(own.map(|it| it.certificate.serial)).expect("a list");
    };
    revoke(1);
    assert_eq!(join(), [false, true]);
    revoke(2);
    assert_eq!(join(), [false, false], "the first stays revoked");
    assert!(ours.path("relays/127.0.0.1/crl.pem").exists());
    ours.renew(&Owner::Agent(1), &[], true).expect("credentials");
    assert_eq!(join(), [true, false]);
    let revoked = ours.issued().expect("certificates");
    assert_eq!(revoked.iter().filter(|it| it.is_revoked).count(), 2);
    // A file that was cut off revokes nobody, and must not count.
    fs::write(ours.path("crl.pem"), "").expect("a file");
    let error = Listener::Coordinator.for_agents(&ours.credentials).err().expect("no list");
    let what = "crl.pem: expected a list of revoked certificates, found none";
    assert!(error.to_string().ends_with(what), "{error}");
}

#[test]
fn the_key_of_the_ca_may_be_kept_elsewhere() {
    let (_folders, [ours, safe]) = authorities();
    let key = safe.path("safe.key");
    let ours = ours.with_ca_key(key.clone());
    ours.init(&[]).expect("credentials");
    assert!(key.exists() && !ours.path("ca.key").exists());
    ours.admit(&Owner::Agent(0)).expect("the key is there");
    fs::remove_file(&key).expect("a file");
    assert!(ours.admit(&Owner::Agent(1)).is_err());
}

#[test]
fn secrets_are_for_their_owner_alone_and_stay() {
    let (folder, [credentials]) = authorities();
    credentials.init(&["10.0.0.1".to_owned()]).expect("credentials");
    let token = credentials.token().expect("a token");
    assert_eq!(token.len(), 64);
    assert!(!credentials.init(&[]).expect("credentials"));
    assert_eq!(credentials.token().expect("a token"), token);
    for entry in fs::read_dir(folder[0].path()).expect("a folder") {
        let entry = entry.expect("a file").metadata().expect("a file");
        let expected = if entry.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(entry.permissions().mode() & 0o777, expected);
    }
}
