//! Network namespaces: switches, and hosts behind shaped links. All names begin alike. The system's
//! `ip` and `tc` make them, in batches.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use covey_client::mark_of_queue;

use crate::error::TestbedError;
use crate::links::{Links, PREFIX, Switch};

/// The programs of the system that are needed.
pub const TOOLS: [&str; 2] = ["ip", "tc"];

/// Share of a link's speed that is scheduled. A full packet of 1,514 bytes has 1,448 bytes of a
/// flow, or 0.956; the rest lets queues drain, since a link that is always full keeps its queue.
pub const PAYLOAD: f64 = 0.92;

/// Length of the switches' queues in bytes: 21 ms at 100 Mbit/s. A length in packets would not do:
/// a packet before segmentation counts as one.
const QUEUE: u32 = 262_144;

/// Length of a host's own queue in bytes. It is more than the sockets fill, since each is held back
/// while a few of its packets wait. If a host dropped its own packets, its sockets would try again
/// half a second later, and a flow of one packet might find the queue full for half a minute.
const OWN_QUEUE: u32 = 64 << 20;

/// Maximum bytes that a sender hands to its link at a time. Larger units cost the machine less,
/// since its cost is per unit and not per byte; these keep a link busy for at most 3 ms.
const BURST: u32 = 32_768;

/// Rows of a host's own table of connections. Whoever lists the connections of a host goes through
/// all rows, and the table that namespaces share otherwise has some for all memory of the machine,
/// which takes milliseconds.
const TABLE: u32 = 4096;

/// The coordinator's port for clients.
pub const CLIENTS: u16 = 7420;
/// The coordinator's port for agents.
pub const AGENTS: u16 = 7421;
/// The port where hosts listen for flows.
pub const FLOWS: u16 = 7430;
/// The port to which background traffic goes.
pub const BACKGROUND: u16 = 7431;

/// The name of a host's namespace.
pub fn host_name(host: u32) -> String {
    format!("{PREFIX}h{host}")
}

/// The address of a host.
pub fn host_address(host: u32) -> IpAddr {
    Ipv4Addr::new(10, 77, host as u8, 2).into()
}

/// The address of the coordinator. It runs on the first switch.
pub fn coordinator_address() -> IpAddr {
    Ipv4Addr::new(10, 77, 255, 1).into()
}

/// Runs a program with text on its standard input. Returns its output.
fn run(program: &[&str], input: &str) -> Result<String, TestbedError> {
    let error = |what: String| TestbedError::Tool { program: program.join(" "), what };
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| error(source.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|source| error(source.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|source| error(source.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(error(said.lines().next().unwrap_or("failed and did not say why").to_owned()))
}

/// Makes the namespaces of hosts and switches, and the links between them.
pub fn build(links: &Links) -> Result<(), TestbedError> {
    let (switches, hosts) = (links.switches(), 0..links.hosts);
    let all: String =
        switches.iter().map(|switch| format!("netns add {}\n", switch.name())).collect();
    run(&["ip", "-batch", "-"], &all)?;
    // The settings of the namespace in which a namespace is made decide the size of its table.
    let parent = links.first_switch().name();
    settings(&parent, &[&format!("tcp_child_ehash_entries={TABLE}")])?;
    let all: String =
        hosts.clone().map(|host| format!("netns add {}\n", host_name(host))).collect();
    run(&["nsenter", &format!("--net=/run/netns/{parent}"), "ip", "-batch", "-"], &all)?;
    let mut all = String::new();
    for host in hosts.clone() {
        let (name, switch) = (host_name(host), links.switch_of(host).name());
        all += &format!("link add h{host} netns {switch} type veth peer name eth0 netns {name}\n");
    }
    for (leaf, spine) in links.uplinks() {
        let (below, above) = (Switch::Leaf(leaf).name(), Switch::Spine(spine).name());
        all +=
            &format!("link add s{spine} netns {below} type veth peer name l{leaf} netns {above}\n");
    }
    run(&["ip", "-batch", "-"], &all)?;
    for (number, switch) in switches.iter().enumerate() {
        let name = switch.name();
        run(&["ip", "-n", &name, "-batch", "-"], &addresses_and_routes(*switch, links))?;
        let shaping = (links.devices(*switch).iter())
            .map(|(device, bps)| shape(device, *bps, QUEUE, links.queues))
            .collect::<String>();
        run(&["tc", "-n", &name, "-batch", "-"], &shaping)?;
        // Each switch chooses among paths by addresses and ports, with a hash of its own.
        let seed = format!("fib_multipath_hash_seed={}", number + 1);
        settings(&name, &["ip_forward=1", "fib_multipath_hash_policy=1", &seed])?;
    }
    for host in hosts {
        let name = host_name(host);
        let address = host_address(host);
        let lines = format!(
            "link set lo up\naddr add {address}/24 dev eth0\n\
             link set eth0 gso_max_size {BURST}\nlink set eth0 up\n\
             route add default via 10.77.{host}.1\n"
        );
        run(&["ip", "-n", &name, "-batch", "-"], &lines)?;
        let own =
            shape("eth0", links.link_bps, OWN_QUEUE, links.queues) + &background_first("eth0");
        run(&["tc", "-n", &name, "-batch", "-"], &own)?;
        // Many processes share this machine's processors, and each is late now and then. So buffers
        // must hold the bytes that arrive meanwhile, and a flow that has waited must continue with
        // its old window.
        let buffers = ["tcp_rmem=4096 1048576 6291456", "tcp_wmem=4096 1048576 4194304"];
        settings(&name, &["tcp_slow_start_after_idle=0"])?;
        settings(&name, &buffers)?;
        if links.ecn.is_some() {
            settings(&name, &["tcp_ecn=1"])?;
        }
        // Not every system lets namespaces choose cubic. On links as short as these, reno behaves
        // like it.
        settings(&name, &["tcp_congestion_control=cubic"])
            .or_else(|_| settings(&name, &["tcp_congestion_control=reno"]))?;
    }
    Ok(())
}

/// What `ip` does in a switch's namespace. The link between leaf and spine has the addresses
/// 10.78.LEAF.2*SPINE and the next one.
fn addresses_and_routes(switch: Switch, links: &Links) -> String {
    let coordinator = coordinator_address();
    let mut lines = "link set lo up\n".to_owned();
    if switch == links.first_switch() {
        lines += &format!("addr add {coordinator}/32 dev lo\n");
    }
    for host in links.hosts_of(switch) {
        lines += &format!("addr add 10.77.{host}.1/24 dev h{host}\nlink set h{host} up\n");
    }
    let ends =
        |leaf: u32, spine: u32| [2 * spine, 2 * spine + 1].map(|end| format!("10.78.{leaf}.{end}"));
    let (mut routes, mut up) = (String::new(), String::new());
    for (leaf, spine) in links.uplinks() {
        let [below, above] = ends(leaf, spine);
        match switch {
            Switch::Leaf(this) if this == leaf => {
                lines += &format!("addr add {below}/31 dev s{spine}\nlink set s{spine} up\n");
                up += &format!(" nexthop via {above} dev s{spine}");
                if spine == 0 {
                    routes += &format!("route add {coordinator}/32 via {above} dev s0\n");
                }
            }
            Switch::Spine(this) if this == spine => {
                lines += &format!("addr add {above}/31 dev l{leaf}\nlink set l{leaf} up\n");
                for host in links.hosts_of(Switch::Leaf(leaf)) {
                    routes += &format!("route add 10.77.{host}.0/24 via {below} dev l{leaf}\n");
                }
            }
            _ => {}
        }
    }
    if !up.is_empty() {
        routes += &format!("route add default{up}\n");
    }
    lines + &routes
}

/// Connects or cuts a host's link. To cut it, both ends send to an address that no interface has.
/// As with a cable that is cut behind a switch, neither end notices; if an interface were down, the
/// switch or the host would answer that the destination is unreachable.
pub fn set_link(links: &Links, host: u32, up: bool) -> Result<(), TestbedError> {
    let ends = [
        (links.switch_of(host).name(), format!("10.77.{host}.2 dev h{host}")),
        (host_name(host), format!("10.77.{host}.1 dev eth0")),
    ];
    ends.iter().try_for_each(|(name, end)| {
        let line = match up {
            true => format!("neigh del {end}\n"),
            false => format!("neigh replace {end} lladdr 02:00:00:00:00:01 nud permanent\n"),
        };
        run(&["ip", "-n", name, "-batch", "-"], &line).map(|_| ())
    })
}

/// Sets parameters of TCP and IP in a namespace. Skips parameters that the kernel does not have.
fn settings(name: &str, settings: &[&str]) -> Result<(), TestbedError> {
    let lines = settings.iter().map(|setting| {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let file = format!("/proc/sys/net/ipv4/{key}");
        format!("[ ! -e {file} ] || echo '{value}' > {file}\n")
    });
    run(&["ip", "netns", "exec", name, "sh", "-e"], &lines.collect::<String>()).map(|_| ())
}

/// The queues at a link's end. First come messages to the coordinator and acknowledgements without
/// data, which would otherwise wait behind data; then the DSCP classes, the highest first. Each
/// class is guaranteed a hundredth of the link, so none starves. With `queues`, there are that many
/// classes for data, one for each mark that senders choose among. Plain traffic is in the highest
/// of them, so that no marked packet delays it.
fn shape(device: &str, link_bps: f64, queue: u32, queues: Option<u32>) -> String {
    let rate = |part: f64| format!("{}bit", (link_bps * part).max(8.0) as u64);
    let (all, little) = (rate(1.0), rate(0.01));
    let default = queues.map_or(27, |_| 20);
    let mut lines = format!(
        "qdisc add dev {device} root handle 1: htb default {default}\n\
         class add dev {device} parent 1: classid 1:1 htb rate {all} ceil {all} quantum 60000\n"
    );
    let mut class = |id: u32, prio: u32, rate: &str| {
        lines += &format!(
            "class add dev {device} parent 1:1 classid 1:{id} htb rate {rate} ceil {all} \
             prio {prio} quantum 60000\n\
             qdisc add dev {device} parent 1:{id} handle {id}: bfifo limit {queue}\n"
        );
    };
    class(10, 0, &rate(0.05));
    for index in 0..queues.unwrap_or(8) {
        class(20 + index, (index + u32::from(queues.is_none_or(|all| all < 8))).min(7), &little);
    }
    let mut filter = |prio: u32, matches: &str, id: u32| {
        lines += &format!(
            "filter add dev {device} parent 1: protocol ip prio {prio} u32 {matches} flowid 1:{id}\n"
        );
    };
    for port in [CLIENTS, AGENTS] {
        filter(1, &format!("match ip dport {port} 0xffff"), 10);
        filter(1, &format!("match ip sport {port} 0xffff"), 10);
    }
    filter(2, "match ip protocol 6 0xff match u16 0x0000 0xff80 at 2", 10);
    match queues {
        None => (0..7).for_each(|index| {
            filter(3, &format!("match ip tos {:#x} 0xe0", (7 - index) << 5), 20 + index);
        }),
        Some(queues) => (0..queues).for_each(|index| {
            filter(3, &format!("match ip tos {:#x} 0xfc", mark_of_queue(index)), 20 + index);
        }),
    }
    lines
}

/// Has background traffic leave its host first. Otherwise it would wait in the host's own long
/// queue, and take less of the link than it should.
fn background_first(device: &str) -> String {
    format!(
        "filter add dev {device} parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff \
         match ip dport {BACKGROUND} 0xffff flowid 1:10\n"
    )
}

/// Ends all processes in the testbed's namespaces, and removes the namespaces.
pub fn tear_down() -> Result<(), TestbedError> {
    let list = run(&["ip", "netns", "list"], "")?;
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| name.starts_with(PREFIX)).collect();
    for name in &names {
        for pid in run(&["ip", "netns", "pids", name], "")?.split_whitespace() {
            let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                // The process may have ended by itself.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
    let lines: String = names.iter().map(|name| format!("netns del {name}\n")).collect();
    run(&["ip", "-batch", "-"], &lines).map(|_| ())
}
