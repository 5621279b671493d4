//! A journal that is damaged while the coordinator is down: no loss is silent, and no number is
//! given twice.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use covey_api::Client;

use crate::common::TestFolder;
use crate::harness::{Coordinator, block_on, coflow, scatter};

/// The number of kills; more with `make slow WHAT=damage`.
fn kills() -> u64 {
    std::env::var("COVEY_DAMAGES").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

/// Flips from 1 to 4 bits, or cuts the end off. Returns whether anything was done.
fn harm(folder: &TestFolder, kill: u64) -> bool {
    let path = folder.path("data/journal");
    let mut bytes = fs::read(&path).expect("a journal");
    match scatter(7 * kill) % 5 {
        0 => return false,
        1 => bytes.truncate(bytes.len() - scatter(kill) as usize % (bytes.len() / 4)),
        flips => (0..flips).for_each(|k| {
            let n = scatter(1000 * kill + k);
            let at = n as usize % bytes.len();
            bytes[at] ^= 1 << (scatter(n) % 8);
        }),
    }
    fs::write(&path, bytes).expect("a disk");
    true
}

async fn register_some(client: &mut Client, count: u64) -> Vec<u64> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let body = coflow(&[(0, 1), (2, 3)]);
        let answer = client.ask("POST", "/v1/coflows", &[], body).await.expect("an answer");
        assert_eq!(answer.status, 201);
        ids.push(answer.json()["id"].as_u64().expect("an id"));
    }
    ids
}

async fn present(client: &mut Client) -> BTreeSet<u64> {
    let page = client.get("/v1/coflows?limit=1000").await.expect("an answer").json();
    page["items"].as_array().expect("a list").iter().map(|it| it["id"].as_u64().unwrap()).collect()
}

/// The error with which the coordinator refuses to start, if it does.
fn refusal(folder: &TestFolder) -> Option<String> {
    let verified = folder.covey(&["journal", "verify", "--data", "data"]);
    if verified.status == Some(0) {
        return None;
    }
    let mut command = Coordinator::command(folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    let ran = command.stdin(Stdio::null()).output().expect("covey serve");
    assert_eq!(ran.status.code(), Some(2), "it starts with what verify refuses");
    Some(String::from_utf8(ran.stderr).expect("text"))
}

#[test]
fn a_damaged_journal_is_never_a_silent_loss_and_no_number_is_given_twice() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let (mut given, mut known) = (BTreeSet::new(), BTreeSet::new());
    let (mut refused, mut cut, mut untouched, mut unheard) = (0, 0, 0, 0);
    block_on(async {
        for kill in 0..kills() {
            let mut client = coordinator.client(&folder).await;
            for id in register_some(&mut client, 1 + scatter(kill) % 8).await {
                assert!(given.insert(id), "kill {kill}: number {id} was given twice");
                known.insert(id);
            }
            coordinator.process.kill().expect("a process");
            coordinator.process.wait().expect("a process");
            let harmed = harm(&folder, kill);
            let why = refusal(&folder);
            if let Some(why) = &why {
                assert!(harmed, "kill {kill}: an intact journal is refused: {why}");
                assert!(why.contains("journal") && why.lines().count() == 1, "{why}");
                let before = folder.covey(&["journal", "repair", "--data", "data"]);
                assert_eq!(before.status, Some(0), "{}", before.err);
                assert!(refusal(&folder).is_some(), "it was repaired before --yes");
                let repaired = folder.covey(&["journal", "repair", "--data", "data", "--yes"]);
                assert_eq!(repaired.status, Some(0), "{}", repaired.err);
            }
            let length = fs::metadata(folder.path("data/journal")).expect("a journal").len();
            coordinator = Coordinator::logged(&folder, &[]);
            let there = present(&mut coordinator.client(&folder).await).await;
            let lost = known.difference(&there).count();
            if !harmed {
                assert_eq!(lost, 0, "kill {kill}: lost from an intact journal of {length} bytes");
            }
            // A cut at the end looks like the torn end of a crash; a cut within a record is logged.
            let is_cut = scatter(7 * kill) % 5 == 1;
            let told = why.is_some() || folder.read("log").contains("not whole");
            // A cut exactly between two records looks like an undamaged journal (docs/operate.md).
            assert!(lost == 0 || told || is_cut, "kill {kill}: {lost} lost without a word");
            unheard += u64::from(lost > 0 && !told);
            match (why, harmed) {
                (Some(_), _) => refused += 1,
                (None, true) => cut += 1,
                (None, false) => untouched += 1,
            }
            known = there;
        }
    });
    let total = given.len();
    eprint!("{} kills: {refused} refused, {cut} cut, {untouched} untouched; ", kills());
    eprintln!("{total} numbers; {unheard} cuts lost something without a word");
}

#[test]
fn a_restored_backup_has_its_coflows_and_gives_no_number_twice() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let stop = |coordinator: &mut Coordinator| {
        coordinator.process.kill().expect("a process");
        coordinator.process.wait().expect("a process");
    };
    let client = |coordinator: &Coordinator, count| {
        block_on(async {
            let mut client = coordinator.client(&folder).await;
            let ids = register_some(&mut client, count).await;
            (ids, present(&mut client).await)
        })
    };
    let (before, _) = client(&coordinator, 3);
    stop(&mut coordinator);
    fs::copy(folder.path("data/journal"), folder.path("backup")).expect("a disk");
    coordinator = Coordinator::new(&folder, &[]);
    let (after, _) = client(&coordinator, 3);
    stop(&mut coordinator);
    // The copy of the journal with the present file of numbers, as docs/operate.md says.
    fs::copy(folder.path("backup"), folder.path("data/journal")).expect("a disk");
    if refusal(&folder).is_some() {
        let repaired = folder.covey(&["journal", "repair", "--data", "data", "--yes"]);
        assert_eq!(repaired.status, Some(0), "{}", repaired.err);
    }
    coordinator = Coordinator::new(&folder, &[]);
    let (new, there) = client(&coordinator, 1);
    assert!(before.iter().all(|id| there.contains(id)), "{before:?} are not in {there:?}");
    assert!(after.iter().all(|id| !there.contains(id) && *id < new[0]), "{after:?}, {new:?}");
}

#[test]
fn unfinished_bodies_stay_within_the_documented_memory() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    let token = String::from_utf8(crate::harness::token(&folder)).expect("text");
    let begin = || {
        let mut stream = TcpStream::connect(coordinator.clients).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
        let length = 60 << 20;
        write!(
            stream,
            "POST /v1/coflows HTTP/1.1\r\nHost: covey\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {length}\r\n\r\n"
        )
        .expect("a connection");
        let mut answer = [0; 12];
        let refused = stream.read_exact(&mut answer).is_ok();
        assert!(!refused || answer == *b"HTTP/1.1 429", "{answer:?}");
        (stream, refused)
    };
    let begun: Vec<(TcpStream, bool)> = (0..8).map(|_| begin()).collect();
    // Four times 60 MiB are below 256 MiB.
    let refused: Vec<bool> = begun.iter().map(|(_, refused)| *refused).collect();
    assert_eq!(refused, [false, false, false, false, true, true, true, true]);
    drop(begun);
    block_on(async {
        register_some(&mut coordinator.client(&folder).await, 1).await;
    });
}
