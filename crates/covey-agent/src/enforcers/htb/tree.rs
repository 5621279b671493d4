//! The tree of queues on a device: a class for the link, and in it a class for each flow and one
//! for all other traffic (CODA §5.2: leaves enforce the rates of flows, the root finds a packet's
//! leaf).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use covey_proto::{FlowName, Service};

use super::netlink::{Attributes, Batch, Netlink, ROOT, Request, TcObject};
use crate::progress::Ends;

/// The handle of the tree. A tree that an agent left behind is recognised by it.
const TREE: u32 = 0xc07e_0000;
/// The class of the link, and in it the class of all other traffic.
const LINK: u32 = TREE | 1;
const OTHERS: u32 = TREE | 2;
/// Minor numbers of flows' classes: first, and one past the last.
const FIRST_FLOW: u16 = 16;
const END_FLOW: u16 = 0xfff0;

/// Share of the link that is guaranteed to other traffic. TCP acknowledgements and the connection
/// to the coordinator are in it, so other traffic also has the highest priority for spare capacity.
const OTHERS_SHARE: f64 = 0.05;
/// The queue of other traffic: how long its packets may wait in seconds, and its minimum length in
/// bytes.
const QUEUE_S: f64 = 0.02;
const MIN_QUEUE: f64 = 262_144.0;

/// Bytes that the link carries for a byte of a flow: a full packet of 1,514 bytes holds 1,448 bytes
/// of the flow.
pub const HEADERS: f64 = 1514.0 / 1448.0;

/// Tables of filters for IPv4 and IPv6: protocol, and number of the table.
const TABLES: [(u16, u32); 2] = [(0x0800, 1), (0x86dd, 2)];

/// Maximum number of filters in a bucket.
const MAX_NODE: u32 = 0xffe;

/// The class of a flow.
#[derive(Debug)]
struct Leaf {
    /// Minor number of the class.
    minor: u16,
    ends: Ends,
    service: Service,
    /// Handle of the filter that leads the flow's packets to the class.
    filter: u32,
}

/// The tree. Dropping it removes it from the device.
#[derive(Debug)]
pub struct Tree {
    netlink: Netlink,
    /// Index of the device.
    device: i32,
    leaves: BTreeMap<FlowName, Leaf>,
    /// Minor numbers that no class has.
    free: BTreeSet<u16>,
    /// Handles of the filters in use.
    filters: BTreeSet<u32>,
    /// Requests that the kernel has not been sent.
    batch: Batch,
}

impl Tree {
    /// Makes the tree on a device whose link carries `link` bytes per second. Replaces a tree that
    /// an agent has left behind.
    ///
    /// # Errors
    /// When there is no such device, another program's queueing discipline is on it, or the user
    /// may not do this.
    pub fn make(device: &str, link: f64) -> io::Result<Tree> {
        let mut netlink = Netlink::open()?;
        let number = netlink.device(device)?;
        match netlink.root(number)? {
            Some((_, TREE)) => remove(&mut netlink, number)?,
            Some((kind, handle)) => {
                let what = format!(
                    "{device} has a queueing discipline ({kind} {:x}:) that an agent has not made; \
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
            free: (FIRST_FLOW..END_FLOW).collect(),
            filters: BTreeSet::new(),
            batch: Batch::default(),
        };
        tree.begin(link);
        tree.commit()?;
        Ok(tree)
    }

    fn begin(&mut self, link: f64) {
        let root = TcObject { handle: TREE, parent: ROOT, info: 0 };
        self.add(Request::NewQdisc, root, "htb", |it| it.htb(OTHERS & 0xffff));
        let class = |handle, parent| TcObject { handle, parent, info: 0 };
        self.add(Request::NewClass, class(LINK, TREE), "htb", |it| it.htb_class(link, link, 0));
        let others = link * OTHERS_SHARE;
        self.add(Request::NewClass, class(OTHERS, LINK), "htb", |it| it.htb_class(others, link, 0));
        let limit = (link * QUEUE_S).clamp(MIN_QUEUE, f64::from(u32::MAX)) as u32;
        self.add(Request::NewQdisc, class(0, OTHERS), "bfifo", |it| it.fifo(limit));
        for (protocol, number) in TABLES {
            let table = table(number);
            let place = |handle| TcObject { handle, parent: TREE, info: info(protocol, number) };
            self.add(Request::NewFilter, place(table), "u32", |it| it.table());
            self.add(Request::NewFilter, place(0), "u32", |it| it.look_up(table, number == 2));
        }
    }

    fn add(
        &mut self,
        request: Request,
        object: TcObject,
        kind: &str,
        options: impl FnOnce(&mut Attributes<'_>),
    ) {
        self.batch.add(request, self.device, object, kind, options);
    }

    /// Has the packets of a flow, between these ends, leave at its rate. Takes effect at
    /// [`Tree::commit`]. Returns whether there is room for the flow.
    pub fn set(&mut self, key: FlowName, ends: Ends, service: Service) -> bool {
        match self.leaves.get(&key) {
            Some(leaf) if leaf.ends == ends => {
                if leaf.service != service {
                    let minor = leaf.minor;
                    self.class(minor, service);
                    if let Some(leaf) = self.leaves.get_mut(&key) {
                        leaf.service = service;
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
        self.class(minor, service);
        let place = TcObject { handle: filter, parent: TREE, info: info_of(filter) };
        let class = TREE | u32::from(minor);
        let bucket = filter & !0xfff;
        self.add(Request::NewFilter, place, "u32", |it| it.connection(class, bucket, &ends));
        self.leaves.insert(key, Leaf { minor, ends, service, filter });
        true
    }

    /// Removes a flow's class: its packets leave with other traffic.
    pub fn remove(&mut self, key: FlowName) {
        let Some(leaf) = self.leaves.remove(&key) else { return };
        let filter = TcObject { handle: leaf.filter, parent: TREE, info: info_of(leaf.filter) };
        self.add(Request::DeleteFilter, filter, "u32", |_| {});
        let class = TcObject { handle: TREE | u32::from(leaf.minor), parent: LINK, info: 0 };
        self.add(Request::DeleteClass, class, "", |_| {});
        self.filters.remove(&leaf.filter);
        self.free.insert(leaf.minor);
    }

    /// The flows that have classes.
    pub fn flows(&self) -> impl Iterator<Item = FlowName> {
        self.leaves.keys().copied()
    }

    /// Has the kernel carry out all changes since the last call.
    ///
    /// # Errors
    /// When the kernel refuses one of them. It carries out the others.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.batch.is_empty() { Ok(()) } else { self.netlink.send(&mut self.batch) }
    }

    fn class(&mut self, minor: u16, service: Service) {
        let place = TcObject { handle: TREE | u32::from(minor), parent: LINK, info: 0 };
        let rate = service.rate * HEADERS;
        let prio = service.layer.min(6) + 1;
        self.add(Request::NewClass, place, "htb", |it| it.htb_class(rate, rate, prio));
    }

    fn free_filter(&self, ends: &Ends) -> Option<u32> {
        let number = if ends.is_v6() { 2 } else { 1 };
        let bucket = table(number) | u32::from(ends.from.port() & 0xff) << 12;
        (1..=MAX_NODE).map(|node| bucket | node).find(|handle| !self.filters.contains(handle))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The device may be gone already.
        let _ = remove(&mut self.netlink, self.device);
    }
}

fn remove(netlink: &mut Netlink, device: i32) -> io::Result<()> {
    let mut batch = Batch::default();
    let root = TcObject { handle: TREE, parent: ROOT, info: 0 };
    batch.add(Request::DeleteQdisc, device, root, "", |_| {});
    netlink.send(&mut batch)
}

/// Handle of a table.
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

    use covey_proto::FlowKey;

    use super::*;

    /// Environment variable of the process that runs in a network namespace of its own.
    const INSIDE: &str = "COVEY_INSIDE_A_NAMESPACE";

    fn run(program: &str, words: &str) -> String {
        let output = Command::new(program).args(words.split_whitespace()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {words}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn key(flow: u32) -> FlowName {
        FlowName::Key(FlowKey { coflow: 1, flow })
    }

    fn ends(from: &str, to: &str) -> Ends {
        Ends { from: from.parse().expect("an address"), to: to.parse().expect("an address") }
    }

    fn service(layer: u32, mbps: f64) -> Service {
        // Divided by what headers add, so that the class gets `mbps`.
        Service { layer, rate: mbps * 1e6 / 8.0 / HEADERS, codec: None }
    }

    /// Checks the tree with `tc`. Runs in a network namespace, which takes root.
    #[test]
    fn tc_shows_the_tree_as_it_was_made() {
        if std::env::var_os(INSIDE).is_some() {
            return inside();
        }
        let tools = ["unshare -n true", "tc -V", "ip -V"].map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            Command::new(words[0]).args(&words[1..]).output().is_ok_and(|it| it.status.success())
        });
        if tools != [true; 3] {
            assert!(
                std::env::var_os("SKIP_NOTHING").is_none(),
                "root, unshare, ip or tc is missing"
            );
            // Not `eprintln!`: the output of a passing test is not shown.
            let what = "skipped: HTB is not tested: this takes root, unshare, ip and tc";
            writeln!(std::io::stderr(), "{what}").expect("somewhere to say so");
            return;
        }
        let name = "enforcers::htb::tree::tests::tc_shows_the_tree_as_it_was_made";
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
        assert!(tree.set(key(0), ends("10.0.0.1:5001", "10.0.0.2:9000"), service(0, 100.0)));
        assert!(tree.set(key(1), ends("10.0.0.1:5002", "10.0.0.2:9000"), service(9, 12.0)));
        assert!(tree.set(key(2), ends("[fd00::1]:5001", "[fd00::2]:9000"), service(2, 50e3)));
        tree.commit().expect("all of it");

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

        // A change and a removal.
        assert!(tree.set(key(0), ends("10.0.0.1:5001", "10.0.0.2:9000"), service(1, 7.0)));
        tree.remove(key(1));
        tree.commit().expect("all of it");
        let classes = run("tc", "-d class show dev v0");
        assert!(classes.contains("prio 2 quantum 65536 rate 7Mbit ceil 7Mbit"), "{classes}");
        assert!(!classes.contains("c07e:11"), "{classes}");
        let many = 300;
        for flow in 0..many {
            let from = format!("10.0.0.1:{}", 10_000 + flow);
            assert!(tree.set(key(100 + flow), ends(&from, "10.0.0.2:9000"), service(0, 1.0)));
        }
        tree.commit().expect("all of it");
        assert_eq!(run("tc", "class show dev v0").lines().count(), 4 + many as usize);
        assert_eq!(tree.flows().count(), 2 + many as usize);

        // A tree that was left behind is replaced; dropping removes it; other programs' trees stay.
        std::mem::forget(tree);
        let tree = Tree::make("v0", link).expect("root may");
        assert_eq!(run("tc", "class show dev v0").lines().count(), 2);
        drop(tree);
        assert!(!run("tc", "qdisc show dev v0").contains("htb"));
        run("tc", "qdisc add dev v0 root handle 1: htb");
        let error = Tree::make("v0", link).expect_err("another program has made it");
        assert!(error.to_string().contains("v0 has a queueing discipline (htb 1:)"), "{error}");
        assert!(Tree::make("v7", link).is_err());
    }
}
