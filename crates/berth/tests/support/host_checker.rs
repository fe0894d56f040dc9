//! Follows all commits to a control plane during a test and checks every state of every host ([`super::host_states`]).
//! When it is dropped, what it has found fails the test, whichever way the test ends.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};

use berth_control_plane::ControlPlane;
use parking_lot::Mutex;

use super::chronicle::{Chronicle, follow};
use super::cloud::Cloud;
use super::host_states::{HYPERVISORS, HostStates, RESERVATIONS};

/// Far more than it takes to read what is committed.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// The number of findings in the text of a failure.
const LINES: usize = 10;

/// The variable with the file to which each test appends the number of states that it has checked.
const COUNTS: &str = "HOST_STATES";

pub struct HostChecker {
    chronicle: Chronicle,
    states: Arc<Mutex<HostStates>>,
    cloud: Cloud,
    /// For how long a host may stay sold twice, and why this cannot be avoided.
    allowed: Option<(Duration, &'static str)>,
}

impl HostChecker {
    pub async fn begin(control_plane: &ControlPlane, cloud: &Cloud) -> Self {
        let states = Arc::new(Mutex::new(HostStates::default()));
        let reported = Arc::clone(&states);
        let read = move |report| reported.lock().read(report, Instant::now());
        let chronicle = follow(&control_plane.etcd_url(), &[HYPERVISORS, RESERVATIONS], read).await;
        Self { chronicle, states, cloud: cloud.clone(), allowed: None }
    }

    /// Lets the test succeed although Berth sells capacity twice, if that is over within this time. The reason says why it
    /// cannot be avoided.
    pub fn allow_repair(&mut self, within: Duration, reason: &'static str) {
        self.allowed = Some((within, reason));
    }

    /// What was found until now; the test does not fail because of it.
    pub fn take_findings(&mut self) -> Vec<String> {
        self.chronicle.catch_up(READ_WITHIN).unwrap();
        self.states.lock().take_findings()
    }

    /// What is wrong, or the number of states that were checked.
    fn result(&self) -> Result<u64, String> {
        self.chronicle.catch_up(READ_WITHIN)?;
        let states = self.states.lock();
        let (may_last, reason) = self.allowed.unwrap_or_default();
        let (wrong, all) = (states.wrong(may_last), states.wrong(Duration::ZERO));
        if !wrong.is_empty() {
            return Err(lines(&wrong));
        }
        if !all.is_empty() {
            println!("Repaired within {may_last:?}, which is allowed: {reason}{}", lines(&all));
        }
        let (checked, created) = (states.checked(), self.cloud.created_hosts());
        if checked < created {
            return Err(format!("{checked} states of hosts were checked, although {created} hosts were created"));
        }
        Ok(checked)
    }
}

impl Drop for HostChecker {
    fn drop(&mut self) {
        match self.result() {
            Ok(checked) => count(checked),
            Err(wrong) if thread::panicking() => eprintln!("The checker of host states: {wrong}"),
            Err(wrong) => panic!("the checker of host states: {wrong}"),
        }
    }
}

/// The first findings, each on a line of its own.
fn lines(findings: &[String]) -> String {
    let first: Vec<_> = findings.iter().take(LINES).map(String::as_str).collect();
    match findings.len().saturating_sub(LINES) {
        0 => format!("\n{}", first.join("\n")),
        more => format!("\n{}\nand {more} more", first.join("\n")),
    }
}

fn count(checked: u64) {
    println!("{checked} states of hosts were checked");
    let Some(path) = env::var_os(COUNTS) else { return };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{checked}\n").as_bytes())).unwrap();
}
