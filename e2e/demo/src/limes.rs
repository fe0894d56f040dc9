//! Limes, played by `berth_limes`, and the checks of `berth e2e-commitments`, both against the operator.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use berth_crds::{CommittedResource, names};
use berth_limes::plan::Projects;
use berth_limes::{Session, Settings};
use berth_testkit::limes::commitment;
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::demo::Stage;
use crate::error::Error;
use crate::operator::Operator;
use crate::processes::Processes;
use crate::program::Program;
use crate::{probe, steady, table};

const PROJECT: &str = "project-of-limes";
/// The commitment whose call was missed, and its memory.
const MISSED: &str = "5d2c8a44-8f0b-4f9e-9a37-0c1e6b7d2f10";
const MISSED_GIB: u64 = 64;
/// Far more than a run of the syncer takes, because compilers may run at the same time.
const SYNCED_WITHIN: Duration = Duration::from_secs(60);
/// A zone with capacity for commitments of all groups.
const ZONE: &str = "eu-demo-1c";
/// More than all checks take, even while compilers run at the same time.
const CHECKED_WITHIN: Duration = Duration::from_secs(180);
/// How long commitments may take to be gone after the last answer.
const GONE_WITHIN: Duration = Duration::from_secs(60);
const PUBLISHED_WITHIN: Duration = Duration::from_secs(30);
const INFO: &str = "/commitments/v1/info";

/// Starts a Limes that lists a commitment whose call the operator has missed, because it was away.
pub async fn list_missed(processes: &mut Processes) -> Result<(), Error> {
    processes.start_limes(PROJECT, "domain-of-limes").await?;
    processes.list_commitments(PROJECT, vec![commitment(MISSED, "gp_v5", ZONE, MISSED_GIB)]);
    Ok(())
}

/// Waits until the syncer has repaired the missed call, and then removes the commitment on both sides.
pub async fn show_missed_call(stage: &mut Stage<'_>, client: &Client) -> Result<(), Error> {
    let (begin, name) = (Instant::now(), names::commitment(MISSED));
    while let Some(why) = steady::unsettled(stage.snapshot().commitment(&name)) {
        stage.wait(begin, SYNCED_WITHIN, &name, &why).await?;
    }
    let snapshot = stage.snapshot();
    let slots = snapshot.commitment(&name).map(|commitment| table::slots(commitment, &snapshot)).unwrap_or_default();
    stage.screen.done(&format!("the syncer has created {name} from the list of Limes: {slots} slots"), begin);
    stage.processes.list_commitments(PROJECT, Vec::new());
    let commitments: Api<CommittedResource> = Api::all(client.clone());
    let deleted = commitments.delete(&name, &DeleteParams::default()).await;
    deleted.map_err(Error::api(format!("delete the commitment {name}")))?;
    all_gone(stage).await
}

/// Lets Limes sell, split, convert, transfer and delete, while the table shows it.
pub async fn play(stage: &mut Stage<'_>) -> Result<(), Error> {
    let begin = Instant::now();
    let Some(url) = stage.processes.operator().map(Operator::api_url) else { return Ok(()) };
    let projects = Projects { first: PROJECT.to_owned(), second: "another-project".to_owned() };
    let settings = Settings { base_url: format!("{url}/commitments/"), zone: ZONE.to_owned(), projects };
    let lines = RefCell::new(Vec::new());
    let session = Session::new(settings, |line| lines.borrow_mut().push(line))?;
    let mut playing = pin!(session.play());
    let outcome = loop {
        let ended = tokio::select! {
            outcome = &mut playing => Some(outcome),
            shown = stage.watch() => shown.map(|()| None)?,
        };
        for line in lines.take() {
            stage.screen.print(&format!("  Limes: {line}"));
        }
        if let Some(outcome) = ended {
            break outcome;
        }
    };
    outcome?;
    all_gone(stage).await?;
    stage.screen.done("Limes has got the answers that it expects", begin);
    Ok(())
}

/// Runs `berth e2e-commitments` in a zone of the operator. Its log is printed on request, and when a check fails.
pub async fn check(stage: &mut Stage<'_>, shows_log: bool) -> Result<(), Error> {
    let begin = Instant::now();
    let Some((program, url, api)) = stage
        .processes
        .operator()
        .map(|operator| (operator.program().clone(), operator.api_url(), operator.scheduler()))
    else {
        return Ok(());
    };
    let token = stage.processes.token();
    until_published(api, token).await?;
    let credentials = token.and_then(|_| stage.processes.configuration().map(Path::to_owned));
    let log = run(&program, &url, credentials.as_deref()).await?;
    if shows_log {
        stage.screen.print(log.trim_end());
    }
    all_gone(stage).await?;
    stage.screen.done("berth e2e-commitments: all checks passed", begin);
    Ok(())
}

/// With the credentials of the operator if callers authenticate.
async fn run(program: &Program, url: &str, credentials: Option<&Path>) -> Result<String, Error> {
    let keys = json!({ "baseURL": url, "azs": [ZONE] }).to_string();
    let mut arguments = vec!["e2e-commitments".to_owned(), "--log-format=human".to_owned(), keys];
    arguments.extend(credentials.map(|path| format!("--config={}", path.display())));
    let files: Vec<_> = credentials.into_iter().collect();
    let output = timeout(CHECKED_WITHIN, program.command(&files, arguments).output()).await;
    let output = output.map_err(|_| Error::ChecksTooSlow { seconds: CHECKED_WITHIN.as_secs() })?;
    let output = output.map_err(|source| Error::System { action: "start berth e2e-commitments", source })?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(log) } else { Err(Error::Checks { status: output.status, log }) }
}

/// The first info is published a moment after the operator is ready.
async fn until_published(api: SocketAddr, token: Option<&str>) -> Result<(), Error> {
    let begin = Instant::now();
    while let Err(answer) = probe::ask_with(api, INFO, token).await {
        if begin.elapsed() > PUBLISHED_WITHIN {
            return Err(Error::NoInfo { answer });
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Waits until only the samples are left.
async fn all_gone(stage: &mut Stage<'_>) -> Result<(), Error> {
    let begin = Instant::now();
    while let Some(name) = stage.unlabelled() {
        stage.wait(begin, GONE_WITHIN, &name, "to be gone").await?;
    }
    Ok(())
}
