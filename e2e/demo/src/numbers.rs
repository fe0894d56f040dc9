//! One number in all reports: Limes pushes quota and reads capacity, and `berth explain zone` shows the same.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use berth_crds::labels::ZONE;
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::demo::Stage;
use crate::error::Error;
use crate::operator::Operator;
use crate::probe;
use crate::program::Program;
use crate::sites::Sites;

/// Far more than a cycle of the capacity controller takes, because compilers may run at the same time.
const AGREED_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The flavor groups of the sample cloud.
const GROUPS: usize = 2;
/// In units of the flavor group.
const QUOTA: i64 = 6;

/// Where the numbers are asked for.
struct Asked {
    program: Program,
    api: SocketAddr,
    kubeconfig: PathBuf,
    configuration: PathBuf,
    /// All that the commands read.
    files: Vec<PathBuf>,
}

/// The numbers of RAM of a flavor group in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ram {
    capacity: i64,
    running: i64,
}

/// Waits until the operator has counted the capacity in each cluster: commitments of cores wait for it.
pub async fn await_capacities(sites: &Sites) -> Result<(), Error> {
    let begin = Instant::now();
    for client in sites.clients() {
        let hosts: Api<Hypervisor> = Api::all(client.clone());
        let hosts = hosts.list(&ListParams::default()).await.map_err(Error::api("list the hosts".to_owned()))?;
        let zones: BTreeSet<_> = hosts.items.iter().filter_map(|host| host.labels().get(ZONE)).collect();
        let capacities: Api<FlavorGroupCapacity> = Api::all(client);
        loop {
            let found = capacities.list(&ListParams::default()).await;
            let found = found.map_err(Error::api("list the capacities".to_owned()))?.items;
            let is_counted =
                |one: &FlavorGroupCapacity| one.status.as_ref().is_some_and(|status| !status.total_capacity.is_empty());
            if found.iter().filter(|one| is_counted(one)).count() == zones.len() * GROUPS {
                break;
            }
            if begin.elapsed() > AGREED_WITHIN {
                return Err(Error::Numbers { answer: "the operator has not counted them".to_owned() });
            }
            sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

/// Pushes the quota of the project of a commitment, waits until all reports have the VM that runs, and shows what there is.
pub async fn show(stage: &mut Stage<'_>, commitment: &CommittedResource) -> Result<(), Error> {
    let Some(asked) = asked(stage) else { return Ok(()) };
    let begin = Instant::now();
    push_quota(&asked, commitment).await?;
    let spec = &commitment.spec;
    let ram = loop {
        let why = match agreed(&asked, commitment).await {
            Ok(ram) => break ram,
            Err(why) => why,
        };
        stage.wait(begin, AGREED_WITHIN, "the capacity", &why).await?;
    };
    let Ram { capacity, running } = ram;
    let (group, zone) = (&spec.flavor_group_name, &spec.availability_zone);
    let numbers =
        format!("RAM of {group} in {zone}, in units of 480 GiB: capacity {capacity}, usage {running}, quota {QUOTA}");
    let reports = "the same in report-capacity, report-usage and berth explain zone";
    stage.screen.done(&format!("{numbers}; {reports}"), begin);
    let shown = explain(&asked, zone, "text").await?;
    let lines: Vec<String> = shown.lines().map(|line| format!("  {line}")).collect();
    stage.screen.print(&lines.join("\n"));
    Ok(())
}

fn asked(stage: &Stage<'_>) -> Option<Asked> {
    let operator = stage.processes.operator()?;
    let kubeconfig = stage.processes.kubeconfig()?;
    Some(Asked {
        program: operator.program().clone(),
        api: Operator::scheduler(operator),
        kubeconfig: kubeconfig.to_owned(),
        configuration: stage.processes.configuration()?.to_owned(),
        files: stage.processes.files(kubeconfig).into_iter().map(Path::to_owned).collect(),
    })
}

async fn push_quota(asked: &Asked, commitment: &CommittedResource) -> Result<(), Error> {
    let spec = &commitment.spec;
    let quota = json!({ "quota": QUOTA, "perAZ": { &spec.availability_zone: { "quota": QUOTA } } });
    let body = json!({ "resources": { ram_of(commitment): quota } }).to_string();
    let path = format!("/commitments/v1/projects/{}/quota", spec.project_id);
    let pushed = probe::send_json(asked.api, "PUT", &path, &body, ANSWER_WITHIN).await;
    pushed.map(drop).map_err(|answer| Error::Numbers { answer })
}

fn ram_of(commitment: &CommittedResource) -> String {
    format!("hw_version_{}_ram", commitment.spec.flavor_group_name)
}

/// The numbers, if something runs and all reports have the same.
async fn agreed(asked: &Asked, commitment: &CommittedResource) -> Result<Ram, String> {
    let (spec, resource) = (&commitment.spec, ram_of(commitment));
    let zones = json!({ "allAZs": [spec.availability_zone] }).to_string();
    let ask = async |path: &str| {
        let answer = probe::send_json(asked.api, "POST", path, &zones, ANSWER_WITHIN).await?;
        serde_json::from_str::<Value>(&answer).map_err(|error| error.to_string())
    };
    let number = |of: &Value, name: &str| of[name].as_i64().unwrap_or(-1);
    let capacity = ask("/commitments/v1/report-capacity").await?;
    let capacity = &capacity["resources"][&resource]["perAZ"][&spec.availability_zone];
    let usage = ask(&format!("/commitments/v1/projects/{}/report-usage", spec.project_id)).await?;
    let usage = &usage["resources"][&resource]["perAZ"][&spec.availability_zone];
    let shown = explain(asked, &spec.availability_zone, "json").await.map_err(|error| error.to_string())?;
    let shown: Value = serde_json::from_str(&shown).map_err(|error| error.to_string())?;
    let groups = shown["groups"].as_array().into_iter().flatten();
    let group = groups.filter(|group| group["group"] == spec.flavor_group_name.as_str());
    let mut rows = group.flat_map(|group| group["resources"].as_array().into_iter().flatten());
    let ram = rows.find(|row| row["resource"] == resource.as_str());
    let ram = ram.ok_or_else(|| format!("berth explain zone has no {resource}"))?;
    let reports = [
        (number(capacity, "capacity"), number(capacity, "usage"), QUOTA),
        (number(ram, "capacity"), number(ram, "running"), number(ram, "quota")),
        (number(capacity, "capacity"), number(usage, "usage"), number(usage, "quota")),
    ];
    let (capacity, running, _) = reports[0];
    let agree = running > 0 && reports.iter().all(|report| *report == reports[0]);
    if agree { Ok(Ram { capacity, running }) } else { Err(format!("the reports have {reports:?}")) }
}

async fn explain(asked: &Asked, zone: &str, output: &str) -> Result<String, Error> {
    let mut arguments: Vec<String> = ["explain", "zone", zone].into_iter().map(str::to_owned).collect();
    arguments.push(format!("--output={output}"));
    arguments.push(format!("--kubeconfig={}", asked.kubeconfig.display()));
    arguments.push(format!("--config={}", asked.configuration.display()));
    let files: Vec<_> = asked.files.iter().map(PathBuf::as_path).collect();
    let ended = asked.program.command(&files, arguments).output().await;
    let ended = ended.map_err(|source| Error::System { action: "start berth explain zone", source })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    Err(Error::Numbers { answer: String::from_utf8_lossy(&ended.stderr).into_owned() })
}
