//! The TCP sockets of processes, as the kernel lists them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io};

use parking_lot::Mutex;

const EVERY: Duration = Duration::from_millis(5);
const LISTENS: &str = "0A";

/// The ports that a process has listened on and connected to.
#[derive(Debug, Default)]
pub struct UsedPorts {
    pub listens: BTreeSet<u16>,
    pub connects: BTreeSet<u16>,
}

/// Looks again and again, because connections come and go.
pub struct SocketRecorder {
    is_stopped: Arc<AtomicBool>,
    seen: Arc<Mutex<SeenPorts>>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct SeenPorts {
    listens: BTreeSet<u16>,
    /// The local port and the remote one.
    pairs: BTreeSet<(u16, u16)>,
}

struct Socket {
    local: u16,
    remote: u16,
    listens: bool,
}

impl SocketRecorder {
    pub fn start(pid: u32) -> Self {
        let (is_stopped, seen) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<SeenPorts>>::default());
        let (stopped, found) = (is_stopped.clone(), seen.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let now = sockets(pid).unwrap_or_default();
                found.lock().add(now);
                thread::sleep(EVERY);
            }
        });
        Self { is_stopped, seen, thread }
    }

    /// So far.
    pub fn used(&self) -> UsedPorts {
        self.seen.lock().used()
    }

    pub fn stop(self) -> UsedPorts {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.seen.lock().used()
    }
}

impl SeenPorts {
    fn add(&mut self, sockets: Vec<Socket>) {
        for Socket { local, remote, listens } in sockets {
            if listens {
                self.listens.insert(local);
            } else {
                self.pairs.insert((local, remote));
            }
        }
    }

    /// What has the port of a listener was opened by a client.
    fn used(&self) -> UsedPorts {
        let own = self.pairs.iter().filter(|(local, _)| !self.listens.contains(local));
        UsedPorts { listens: self.listens.clone(), connects: own.map(|(_, remote)| *remote).collect() }
    }
}

fn sockets(pid: u32) -> io::Result<Vec<Socket>> {
    let mut own = BTreeSet::new();
    for file in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // It may be closed already.
        let Ok(target) = fs::read_link(file?.path()) else { continue };
        let name = target.to_string_lossy().into_owned();
        own.extend(name.strip_prefix("socket:[").and_then(|rest| rest.trim_end_matches(']').parse::<u64>().ok()));
    }
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}"))?;
        found.extend(table.lines().skip(1).filter_map(|line| socket(line, &own)));
    }
    Ok(found)
}

fn socket(line: &str, own: &BTreeSet<u64>) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = |field: &str| u16::from_str_radix(field.rsplit_once(':')?.1, 16).ok();
    let inode = fields.get(9)?.parse().ok()?;
    let (local, remote) = (port(fields[1])?, port(fields[2])?);
    own.contains(&inode).then_some(Socket { local, remote, listens: fields[3] == LISTENS })
}
