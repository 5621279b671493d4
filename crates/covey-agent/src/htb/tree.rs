//! The tree of queues on a device: one class for the link, and in it one for each flow and one for all
//! else (CODA §5.2: leaves enforce the rates of flows, the root finds a packet's leaf).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use covey_proto::FlowKey;

use super::netlink::{Batch, Ends, Kind, Netlink, Place, ROOT};
use crate::agent::Share;

/// The handle of the tree, by which one that an agent left behind is known again.
const TREE: u32 = 0xc07e_0000;
/// Classes in it.
const LINK: u32 = TREE | 1;
const OTHERS: u32 = TREE | 2;
const FIRST_FLOW: u16 = 16;
const LAST_FLOW: u16 = 0xfff0;

/// Part of the link that packets of no flow have for sure. Acknowledgements are among them, and what is
/// said to the coordinator; so they also come first where there is something left.
const OTHERS_PART: f64 = 0.05;
/// For how long packets of no flow may wait, and the least that their queue holds.
const QUEUE_S: f64 = 0.02;
const LEAST_QUEUE: f64 = 262_144.0;

/// What the link carries for the bytes of a flow: of a full packet of 1,514 bytes 1,448 are the flow's.
pub const HEADERS: f64 = 1514.0 / 1448.0;

/// Tables of filters for IPv4 and IPv6: protocol, and which it is.
const TABLES: [(u16, u32); 2] = [(0x0800, 1), (0x86dd, 2)];

/// Filters in a bucket, at most.
const LAST_NODE: u32 = 0xffe;

/// A flow that has a class.
#[derive(Debug)]
struct Leaf {
    minor: u16,
    ends: Ends,
    share: Share,
    /// The handle of its filter.
    filter: u32,
}

/// The tree. It is removed when it is dropped.
#[derive(Debug)]
pub struct Tree {
    netlink: Netlink,
    device: i32,
    leaves: BTreeMap<FlowKey, Leaf>,
    free: BTreeSet<u16>,
    /// Handles of filters that are in use.
    filters: BTreeSet<u32>,
    batch: Batch,
}

impl Tree {
    /// Makes the tree on a device whose link has so many bytes per second. One that an agent has left
    /// behind is replaced.
    ///
    /// # Errors
    /// When there is no such device, or somebody else's tree is on it, or that is not permitted.
    pub fn make(device: &str, link: f64) -> io::Result<Tree> {
        let mut netlink = Netlink::open()?;
        let number = netlink.device(device)?;
        match netlink.root(number)? {
            Some((_, TREE)) => remove(&mut netlink, number)?,
            Some((kind, handle)) => {
                let what = format!(
                    "{device} has a queueing discipline ({kind} {:x}:) that is not an agent's; \
                     `tc qdisc del dev {device} root` removes it",
                    handle >> 16
                );
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
            None => {}
        }
        let mut tree = Tree {
            netlink,
            device: number,
            leaves: BTreeMap::new(),
            free: (FIRST_FLOW..LAST_FLOW).collect(),
            filters: BTreeSet::new(),
            batch: Batch::default(),
        };
        tree.begin(link);
        tree.carry_out()?;
        Ok(tree)
    }

    fn begin(&mut self, link: f64) {
        let root = Place { handle: TREE, parent: ROOT, info: 0 };
        self.add(Kind::NewQdisc, root, "htb", |it| it.htb(OTHERS & 0xffff));
        let class = |handle, parent| Place { handle, parent, info: 0 };
        self.add(Kind::NewClass, class(LINK, TREE), "htb", |it| it.htb_class(link, link, 0));
        let others = link * OTHERS_PART;
        self.add(Kind::NewClass, class(OTHERS, LINK), "htb", |it| it.htb_class(others, link, 0));
        let limit = (link * QUEUE_S).clamp(LEAST_QUEUE, f64::from(u32::MAX)) as u32;
        self.add(Kind::NewQdisc, class(0, OTHERS), "bfifo", |it| it.fifo(limit));
        for (protocol, number) in TABLES {
            let table = table(number);
            let place = |handle| Place { handle, parent: TREE, info: info(protocol, number) };
            self.add(Kind::NewFilter, place(table), "u32", |it| it.table());
            self.add(Kind::NewFilter, place(0), "u32", |it| it.look_up(table, number == 2));
        }
    }

    fn add(
        &mut self,
        what: Kind,
        place: Place,
        kind: &str,
        options: impl FnOnce(&mut super::netlink::Options<'_>),
    ) {
        self.batch.add(what, self.device, place, kind, options);
    }

    /// Has the packets of a flow, between these ends, leave at the rate of its share. Nothing happens
    /// before [`Tree::carry_out`]. Returns whether there is room for it.
    pub fn set(&mut self, key: FlowKey, ends: Ends, share: Share) -> bool {
        match self.leaves.get(&key) {
            Some(leaf) if leaf.ends == ends => {
                if leaf.share != share {
                    let minor = leaf.minor;
                    self.class(minor, share);
                    if let Some(leaf) = self.leaves.get_mut(&key) {
                        leaf.share = share;
                    }
                }
                return true;
            }
            Some(_) => self.remove(key),
            None => {}
        }
        let Some(filter) = self.free_filter(&ends) else { return false };
        let Some(minor) = self.free.pop_first() else { return false };
        self.filters.insert(filter);
        self.class(minor, share);
        let place = Place { handle: filter, parent: TREE, info: info_of(filter) };
        let class = TREE | u32::from(minor);
        let bucket = filter & !0xfff;
        self.add(Kind::NewFilter, place, "u32", |it| it.connection(class, bucket, &ends));
        self.leaves.insert(key, Leaf { minor, ends, share, filter });
        true
    }

    /// Has the packets of a flow leave with all else's.
    pub fn remove(&mut self, key: FlowKey) {
        let Some(leaf) = self.leaves.remove(&key) else { return };
        let filter = Place { handle: leaf.filter, parent: TREE, info: info_of(leaf.filter) };
        self.add(Kind::DeleteFilter, filter, "u32", |_| {});
        let class = Place { handle: TREE | u32::from(leaf.minor), parent: LINK, info: 0 };
        self.add(Kind::DeleteClass, class, "", |_| {});
        self.filters.remove(&leaf.filter);
        self.free.insert(leaf.minor);
    }

    /// The flows that have classes.
    pub fn flows(&self) -> impl Iterator<Item = FlowKey> {
        self.leaves.keys().copied()
    }

    /// Has the kernel do what has been said since the last time.
    ///
    /// # Errors
    /// When it does not do all of it.
    pub fn carry_out(&mut self) -> io::Result<()> {
        if self.batch.is_empty() { Ok(()) } else { self.netlink.carry_out(&mut self.batch) }
    }

    fn class(&mut self, minor: u16, share: Share) {
        let place = Place { handle: TREE | u32::from(minor), parent: LINK, info: 0 };
        let rate = share.rate * HEADERS;
        let prio = share.layer.min(6) + 1;
        self.add(Kind::NewClass, place, "htb", |it| it.htb_class(rate, rate, prio));
    }

    fn free_filter(&self, ends: &Ends) -> Option<u32> {
        let number = if ends.is_v6() { 2 } else { 1 };
        let bucket = table(number) | u32::from(ends.from.port() & 0xff) << 12;
        (1..=LAST_NODE).map(|node| bucket | node).find(|handle| !self.filters.contains(handle))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // If it has gone already, so much the better.
        let _ = remove(&mut self.netlink, self.device);
    }
}

fn remove(netlink: &mut Netlink, device: i32) -> io::Result<()> {
    let mut batch = Batch::default();
    let root = Place { handle: TREE, parent: ROOT, info: 0 };
    batch.add(Kind::DeleteQdisc, device, root, "", |_| {});
    netlink.carry_out(&mut batch)
}

/// The handle of a table.
fn table(number: u32) -> u32 {
    number << 20
}

/// Protocol and priority of filters.
fn info(protocol: u16, prio: u32) -> u32 {
    prio << 16 | u32::from(protocol.to_be())
}

fn info_of(filter: u32) -> u32 {
    let (protocol, number) = TABLES[(filter >> 20) as usize - 1];
    info(protocol, number)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    /// Set in the process that is in a network namespace of its own.
    const INSIDE: &str = "COVEY_INSIDE_A_NAMESPACE";

    fn run(program: &str, words: &str) -> String {
        let output = Command::new(program).args(words.split_whitespace()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {words}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn key(flow: u32) -> FlowKey {
        FlowKey { coflow: 1, flow }
    }

    fn ends(from: &str, to: &str) -> Ends {
        Ends { from: from.parse().expect("an address"), to: to.parse().expect("an address") }
    }

    fn share(layer: u32, mbps: f64) -> Share {
        // What the link carries is what is said here.
        Share { layer, rate: mbps * 1e6 / 8.0 / HEADERS, codec: None }
    }

    /// What `tc` says of the tree is what was meant. In a network namespace, which takes root.
    #[test]
    fn tc_reads_the_tree_as_it_was_meant() {
        if std::env::var_os(INSIDE).is_some() {
            return inside();
        }
        let tools = ["unshare -n true", "tc -V", "ip -V"].map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            Command::new(words[0]).args(&words[1..]).output().is_ok_and(|it| it.status.success())
        });
        if tools != [true; 3] {
            // Not by a macro, of which tests that pass show nothing.
            let what = "skipped: HTB is not tested: this takes root, unshare, ip and tc";
            writeln!(std::io::stderr(), "{what}").expect("somewhere to say so");
            return;
        }
        let name = "htb::tree::tests::tc_reads_the_tree_as_it_was_meant";
        let program = std::env::current_exe().expect("this program");
        let output = Command::new("unshare")
            .arg("-n")
            .arg(program)
            .args(["--exact", name, "--nocapture"])
            .env(INSIDE, "yes")
            .output()
            .expect("unshare was there a moment ago");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    }

    fn inside() {
        run("ip", "link add v0 type veth peer name v1");
        let link = 1e9 / 8.0;
        let mut tree = Tree::make("v0", link).expect("root may");
        assert!(tree.set(key(0), ends("10.0.0.1:5001", "10.0.0.2:9000"), share(0, 100.0)));
        assert!(tree.set(key(1), ends("10.0.0.1:5002", "10.0.0.2:9000"), share(9, 12.0)));
        assert!(tree.set(key(2), ends("[fd00::1]:5001", "[fd00::2]:9000"), share(2, 50e3)));
        tree.carry_out().expect("all of it");

        let classes = run("tc", "-d class show dev v0");
        let class = |minor: &str| {
            let begin = format!("class htb c07e:{minor} ");
            let mut lines = classes.lines().filter(|line| line.starts_with(&begin));
            let line = lines.next().unwrap_or_else(|| panic!("no {minor} in {classes}"));
            line.to_owned()
        };
        assert!(class("1").contains("root rate 1Gbit ceil 1Gbit"), "{classes}");
        assert!(class("2").contains("prio 0 quantum 65536 rate 50Mbit ceil 1Gbit"), "{classes}");
        assert!(
            class("10").contains("prio 1 quantum 65536 rate 100Mbit ceil 100Mbit"),
            "{classes}"
        );
        assert!(class("11").contains("prio 7 quantum 65536 rate 12Mbit ceil 12Mbit"), "{classes}");
        assert!(class("12").contains("prio 3 quantum 65536 rate 50Gbit ceil 50Gbit"), "{classes}");
        // Twenty milliseconds and a packet.
        assert!(class("10").contains("burst 251600b"), "{classes}");
        let qdiscs = run("tc", "qdisc show dev v0");
        assert!(qdiscs.contains("qdisc htb c07e: root"), "{qdiscs}");
        assert!(qdiscs.contains("parent c07e:2 limit 2500000b"), "{qdiscs}");

        // Newer versions of tc mark what leads to a class.
        let filters = run("tc", "filter show dev v0").replace('*', "");
        for line in [
            "fh 1:89:1 order 1 key ht 1 bkt 89 flowid c07e:10",
            "fh 1:8a:1 order 1 key ht 1 bkt 8a flowid c07e:11",
            "fh 2:89:1 order 1 key ht 2 bkt 89 flowid c07e:12",
            "match 0a000001/ffffffff at 12",
            "match 0a000002/ffffffff at 16",
            "match 13892328/ffffffff at 20",
            "match fd000000/ffffffff at 8",
            "match 00000002/ffffffff at 36",
            "match 13892328/ffffffff at 40",
            "match 45000000/ff000000 at 0",
            "match 00060000/00ff0000 at 8",
            "match 00000600/0000ff00 at 4",
        ] {
            assert!(filters.contains(line), "no '{line}' in {filters}");
        }

        // What changes, and what goes.
        assert!(tree.set(key(0), ends("10.0.0.1:5001", "10.0.0.2:9000"), share(1, 7.0)));
        tree.remove(key(1));
        tree.carry_out().expect("all of it");
        let classes = run("tc", "-d class show dev v0");
        assert!(classes.contains("prio 2 quantum 65536 rate 7Mbit ceil 7Mbit"), "{classes}");
        assert!(!classes.contains("c07e:11"), "{classes}");
        let many = 300;
        for flow in 0..many {
            let from = format!("10.0.0.1:{}", 10_000 + flow);
            assert!(tree.set(key(100 + flow), ends(&from, "10.0.0.2:9000"), share(0, 1.0)));
        }
        tree.carry_out().expect("all of it");
        assert_eq!(run("tc", "class show dev v0").lines().count(), 4 + many as usize);
        assert_eq!(tree.flows().count(), 2 + many as usize);

        // One that was left behind is replaced; it goes when it is dropped; others' trees stay.
        std::mem::forget(tree);
        let tree = Tree::make("v0", link).expect("root may");
        assert_eq!(run("tc", "class show dev v0").lines().count(), 2);
        drop(tree);
        assert!(!run("tc", "qdisc show dev v0").contains("htb"));
        run("tc", "qdisc add dev v0 root handle 1: htb");
        let error = Tree::make("v0", link).expect_err("it is not an agent's");
        assert!(error.to_string().contains("v0 has a queueing discipline (htb 1:)"), "{error}");
        assert!(Tree::make("v7", link).is_err());
    }
}
