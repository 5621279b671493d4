//! Marks of congestion (ECN): packets that have waited too long at a link's end are marked there.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use aya::programs::{SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::TestbedError;
use crate::links::Links;
use crate::network::host_name;

/// Built from marks.bpf.c.
static OBJECT: &[u8] = include_bytes_aligned!("../bpf/marks.bpf.o");

/// The programs that mark packets. They go with this value, and with this process.
pub struct Marks {
    _programs: Ebpf,
}

fn refused(error: impl std::fmt::Display) -> TestbedError {
    TestbedError::Marks(error.to_string())
}

impl Marks {
    /// Has switches mark packets that have waited for longer than `may_wait`. What leaves hosts is
    /// not marked there: a socket is held back while its packets wait.
    ///
    /// # Errors
    /// The kernel refuses the programs.
    pub fn start(links: &Links, may_wait: Duration) -> Result<Marks, TestbedError> {
        let may_wait = may_wait.as_nanos() as u64;
        let mut programs = EbpfLoader::new()
            .override_global("may_wait", &may_wait, true)
            .load(OBJECT)
            .map_err(refused)?;
        for name in ["stamp", "mark"] {
            program(&mut programs, name)?.load().map_err(refused)?;
        }
        for switch in links.switches() {
            let (name, all) = (switch.name(), links.devices(switch));
            let all = all.iter().map(|(device, _)| device.as_str());
            attach(&mut programs, "stamp", TcAttachType::Egress, &name, all)?;
            // Packets of hosts have times of departure that TCP has set.
            let inner = links.inner_devices(switch);
            let inner = inner.iter().map(String::as_str);
            attach(&mut programs, "mark", TcAttachType::Ingress, &name, inner)?;
        }
        for host in 0..links.hosts {
            let (name, device) = (host_name(host), ["eth0"]);
            attach(&mut programs, "mark", TcAttachType::Ingress, &name, device.into_iter())?;
        }
        Ok(Marks { _programs: programs })
    }
}

fn program<'a>(
    programs: &'a mut Ebpf,
    name: &str,
) -> Result<&'a mut SchedClassifier, TestbedError> {
    let program = programs.program_mut(name).ok_or_else(|| refused("the object lacks a part"))?;
    program.try_into().map_err(refused)
}

/// Attaches a program to devices of a namespace.
fn attach<'a>(
    programs: &mut Ebpf,
    name: &str,
    direction: TcAttachType,
    namespace: &str,
    devices: impl Iterator<Item = &'a str> + Send,
) -> Result<(), TestbedError> {
    let program = program(programs, name)?;
    // A new thread enters the namespace. The end of the thread leaves it.
    std::thread::scope(|scope| {
        let attached = scope.spawn(move || {
            let path = format!("/run/netns/{namespace}");
            let file = File::open(&path)
                .map_err(|source| TestbedError::File { path: path.into(), source })?;
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(io::Error::from)?;
            for device in devices {
                program.attach(device, direction).map_err(refused)?;
            }
            Ok(())
        });
        attached.join().unwrap_or_else(|_| Err(refused("a thread has ended")))
    })
}
