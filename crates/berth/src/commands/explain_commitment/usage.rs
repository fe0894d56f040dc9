//! The VMs that use a commitment, and those of its project that are in none, each with the reason.

use berth_cluster::chain;
use berth_core::{ProjectId, VmId};
use berth_crds::CommittedResource;
use berth_usage::{Standing, UsageController};
use berth_vm_source::VmSource;
use serde::Serialize;

use crate::commands::amounts::Amounts;
use crate::commands::table::{row, table};

/// More are in the JSON form only.
const SHOWN: usize = 20;

/// What uses the commitment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplainedUsage {
    /// Why the VMs are not known; then the list is that of the object.
    pub(super) unknown: Option<String>,
    pub(super) vms: Vec<UsingVm>,
    pub(super) without_commitment: Vec<PaygVm>,
}

/// A VM that counts in the commitment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsingVm {
    pub(super) vm: String,
    pub(super) flavor: Option<String>,
    pub(super) size: Amounts,
}

/// A VM of the project that counts in no commitment of memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PaygVm {
    pub(super) vm: String,
    pub(super) why: String,
}

impl ExplainedUsage {
    /// An assignment from the objects and VMs that were read, or what the object says.
    pub(super) fn of(object: &CommittedResource, controller: &UsageController, vms: &VmSource) -> Self {
        let project = ProjectId::from(object.spec.project_id.as_str());
        match controller.dry_run(&project) {
            Err(error) => {
                let unknown = Some(chain(&error));
                Self { unknown, vms: listed(object, vms), without_commitment: Vec::new() }
            }
            Ok((commitments, plan)) => {
                let at = commitments.iter().position(|one| one.object.metadata.uid == object.metadata.uid);
                let is_kept = at.is_some_and(|at| plan.standings[at] == Standing::Kept);
                let own = plan.usages().find(|(usable, _)| usable.uuid.as_str() == object.spec.commitment_uuid);
                let computed = own.map(|(_, usage)| usage.vms.iter().map(|vm| using(vm, vms)).collect());
                let payg = plan.assignment.payg.iter();
                Self {
                    unknown: None,
                    vms: if is_kept { listed(object, vms) } else { computed.unwrap_or_default() },
                    without_commitment: payg
                        .map(|(vm, why)| PaygVm { vm: vm.to_string(), why: why.to_string() })
                        .collect(),
                }
            }
        }
    }

    /// Nothing if there is nothing to say.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.vms.is_empty() {
            let source = self.unknown.as_ref().map(|why| format!(", as the object says ({why})")).unwrap_or_default();
            let vms = self.vms.iter().map(|one| {
                vec![one.vm.clone(), one.flavor.clone().unwrap_or_else(|| "-".to_owned()), one.size.format()]
            });
            text +=
                &["\nVMs that use it", &source, "\n", &shown(row(["VM", "FLAVOR", "SIZE"]), vms.collect())].concat();
        }
        if !self.without_commitment.is_empty() {
            let vms = self.without_commitment.iter().map(|one| vec![one.vm.clone(), one.why.clone()]);
            text +=
                &["\nVMs of its project without a commitment\n", &shown(row(["VM", "WHY"]), vms.collect())].concat();
        }
        text
    }
}

fn listed(object: &CommittedResource, vms: &VmSource) -> Vec<UsingVm> {
    let assigned = object.status.iter().flat_map(|status| &status.assigned_instances);
    assigned.map(|vm| using(&vm.as_str().into(), vms)).collect()
}

/// Its size as far as it is known, however old the data is.
fn using(id: &VmId, vms: &VmSource) -> UsingVm {
    let snapshot = vms.last_snapshot();
    let flavor = snapshot.as_ref().and_then(|snapshot| snapshot.vm(id)).map(|vm| &vm.flavor);
    UsingVm {
        vm: id.to_string(),
        flavor: flavor.map(|flavor| flavor.name.to_string()),
        size: flavor.map(|flavor| flavor.size().into()).unwrap_or_default(),
    }
}

fn shown(head: Vec<String>, mut rows: Vec<Vec<String>>) -> String {
    let more = rows.len().saturating_sub(SHOWN);
    rows.truncate(SHOWN);
    let rest = if more == 0 { String::new() } else { format!("  ... and {more} more (-o json has all)\n") };
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    table(&rows, &[]) + &rest
}
