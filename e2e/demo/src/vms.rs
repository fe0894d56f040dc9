//! The database with servers and flavors, a SQLite file that the operator reads, and a VM that comes and goes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use berth_crds::{CommittedResource, Hypervisor, Quantity, Reservation};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::demo::Stage;
use crate::error::Error;
use crate::samples::Sample;
use crate::sites::Sites;
use crate::{numbers, quantity};

const VM: &str = "5f0e7c1a-9d2b-4c36-8a47-1b6d3e9f2c58";
const FLAVOR: &str = "mem_v4_c30_m480";
const VCPUS: i64 = 30;
const MEMORY_GIB: i64 = 480;
/// Far more than the operator takes, because compilers may run at the same time.
const USED_WITHIN: Duration = Duration::from_secs(60);

const TABLES: &str = "
CREATE TABLE openstack_servers_v4 (
    id TEXT PRIMARY KEY, name TEXT, status TEXT, tenant_id TEXT, created TEXT, os_ext_az_availability_zone TEXT,
    os_ext_srv_attr_host TEXT, flavor_name TEXT, os_type TEXT
);
CREATE TABLE openstack_flavors_v2 (
    id TEXT PRIMARY KEY, name TEXT, vcpus INTEGER, ram INTEGER, disk INTEGER, extra_specs TEXT
);";

/// The file.
#[derive(Clone, Debug)]
pub struct VmDatabase {
    path: PathBuf,
}

impl VmDatabase {
    /// Creates it next to the kubeconfig of home.
    pub fn create(kubeconfig: &Path) -> Result<Self, Error> {
        let database = Self { path: kubeconfig.with_file_name("vms.sqlite") };
        let created = database.open().and_then(|file| {
            file.execute_batch(TABLES)?;
            file.execute(
                "INSERT INTO openstack_flavors_v2 VALUES ('1', ?1, ?2, ?3, 64, '{}')",
                params![FLAVOR, VCPUS, MEMORY_GIB * 1024],
            )
        });
        created.map_err(|source| database.failed(source))?;
        Ok(database)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn insert(&self, project: &str, zone: &str, host: &str) -> Result<(), Error> {
        let inserted = self.open().and_then(|file| {
            file.execute(
                "INSERT INTO openstack_servers_v4 VALUES (?1, 'db-1', 'ACTIVE', ?2, '2026-02-01T08:00:00Z', ?3, ?4, ?5, '')",
                params![VM, project, zone, host, FLAVOR],
            )
        });
        inserted.map(drop).map_err(|source| self.failed(source))
    }

    fn delete(&self) -> Result<(), Error> {
        let deleted = self.open().and_then(|file| file.execute("DELETE FROM openstack_servers_v4", []));
        deleted.map(drop).map_err(|source| self.failed(source))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        Connection::open(&self.path)
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::VmDatabase { path: self.path.clone(), source }
    }
}

/// Starts a VM of the project of a commitment on the host of its first slot, waits until the commitment shows it, and ends
/// it again.
pub async fn show_usage(stage: &mut Stage<'_>, sites: &Sites, sample: &Sample) -> Result<(), Error> {
    let snapshot = stage.snapshot();
    let Some(commitment) = snapshot.commitment(&sample.name()).cloned() else { return Ok(()) };
    let Some(host) = snapshot.slots_of(&commitment).find_map(host_of) else { return Ok(()) };
    let Some(vms) = stage.processes.vms().cloned() else { return Ok(()) };
    let hosts: Api<Hypervisor> = Api::all(sites.home.client.clone());
    let before = hosts.get(&host).await.map_err(Error::api(format!("read the host {host}")))?;
    let begin = Instant::now();
    vms.insert(&commitment.spec.project_id, &commitment.spec.availability_zone, &host)?;
    write_status(&sites.home.client, &host, &with_vm(&before)).await?;
    await_vms(stage, begin, sample, &[VM]).await?;
    stage.screen.done(&format!("a VM of its project starts on {host}: {} shows its usage", sample.label), begin);
    numbers::show(stage, &commitment).await?;
    let begin = Instant::now();
    vms.delete()?;
    write_status(&sites.home.client, &host, &without_vm(&before)).await?;
    await_vms(stage, begin, sample, &[]).await?;
    stage.screen.done(&format!("the VM ends: {} shows none", sample.label), begin);
    Ok(())
}

fn host_of(slot: &Reservation) -> Option<String> {
    slot.status.as_ref()?.host.clone()
}

async fn await_vms(stage: &mut Stage<'_>, begin: Instant, sample: &Sample, vms: &[&str]) -> Result<(), Error> {
    let shown = |commitment: &CommittedResource| {
        commitment.status.as_ref().map(|status| status.assigned_instances.clone()).unwrap_or_default()
    };
    while stage.snapshot().commitment(&sample.name()).map(shown).unwrap_or_default() != vms {
        stage.wait(begin, USED_WITHIN, &sample.label, &format!("to show {} VMs", vms.len())).await?;
    }
    Ok(())
}

/// The status of the host with one VM more.
fn with_vm(host: &Hypervisor) -> Value {
    let status = host.status.clone().unwrap_or_default();
    let mut instances = json!(status.instances);
    if let Some(list) = instances.as_array_mut() {
        list.push(json!({ "id": VM, "name": "instance-00000099", "active": true }));
    }
    json!({
        "instances": instances, "numInstances": status.instances.len() + 1,
        "allocation": {
            "memory": quantity::binary(amount(status.allocation.get("memory")) + (MEMORY_GIB << 30)),
            "cpu": (amount(status.allocation.get("cpu")) + VCPUS).to_string(),
        },
    })
}

fn without_vm(host: &Hypervisor) -> Value {
    let status = host.status.clone().unwrap_or_default();
    json!({ "instances": status.instances, "numInstances": status.instances.len(), "allocation": status.allocation })
}

fn amount(quantity: Option<&Quantity>) -> i64 {
    quantity.and_then(|quantity| quantity::parse(quantity.as_str())).unwrap_or_default()
}

async fn write_status(client: &Client, host: &str, status: &Value) -> Result<(), Error> {
    let hosts: Api<Hypervisor> = Api::all(client.clone());
    let patch = Patch::Merge(json!({ "status": status }));
    let written = hosts.patch_status(host, &PatchParams::default(), &patch).await;
    written.map(drop).map_err(Error::api(format!("write the VMs of the host {host}")))
}
