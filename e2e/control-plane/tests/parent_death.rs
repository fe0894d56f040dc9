//! etcd and kube-apiserver end with the process that started them, even when that is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use berth_control_plane::ControlPlane;

const WITHIN: Duration = Duration::from_secs(30);

/// `berth-control-plane up` in its own process.
struct Up {
    process: Child,
    pids: Vec<u32>,
    folder: PathBuf,
}

impl Up {
    fn start() -> Self {
        let program = env!("CARGO_BIN_EXE_berth-control-plane");
        let mut process = Command::new(program).arg("up").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        let export = lines.find_map(|line| Some(line.trim().strip_prefix("export KUBECONFIG=")?.to_owned())).unwrap();
        assert!(lines.any(|line| line.contains("Ctrl-C")));
        Self { process, pids: pids(&first), folder: Path::new(&export).parent().unwrap().to_owned() }
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }
}

/// The numbers in `kube-apiserver (pid 12) and etcd (pid 13) ...`.
fn pids(line: &str) -> Vec<u32> {
    let ends: Vec<&str> = line.split("(pid ").skip(1).collect();
    ends.iter().map(|end| end.split(')').next().unwrap().parse().unwrap()).collect()
}

fn lives(pid: u32) -> bool {
    // A zombie is dead, even where no parent collects it.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

fn wait_for_the_end_of(pids: &[u32]) {
    let deadline = Instant::now() + WITHIN;
    while pids.iter().any(|pid| lives(*pid)) {
        assert!(Instant::now() < deadline, "{pids:?} outlive their parent");
        sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn a_killed_parent_takes_both_with_it_and_the_next_start_removes_its_data() {
    let mut up = Up::start();
    assert_eq!(up.pids.len(), 2);
    assert!(up.pids.iter().all(|pid| lives(*pid)));

    up.signal("KILL");
    up.process.wait().unwrap();
    wait_for_the_end_of(&up.pids);
    assert!(up.folder.exists(), "a killed process removes nothing");

    ControlPlane::start().await.unwrap().stop().await.unwrap();
    assert!(!up.folder.exists(), "the next start removes it");
}

#[test]
fn a_parent_that_is_asked_to_end_cleans_up_and_succeeds() {
    for signal in ["INT", "TERM"] {
        let mut up = Up::start();
        up.signal(signal);
        assert!(up.process.wait().unwrap().success());
        assert!(up.pids.iter().all(|pid| !lives(*pid)));
        assert!(!up.folder.exists());
    }
}
