//! The end state of the whole cloud, without what differs from run to run: times, uids, versions, request ids.

use std::collections::BTreeMap;

use berth_crds::labels::ZONE;
use berth_crds::resources::{CPU, MEMORY};
use berth_crds::{CommittedResource, Condition, Hypervisor, Quantity, Reservation, ResourceType, conditions};
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::quantity::{self, Amounts};
use crate::samples::Labels;

/// Commitments, slots and hosts, each by name.
#[derive(Debug, Serialize)]
pub struct EndState {
    pub commitments: Vec<Commitment>,
    pub slots: Vec<Slot>,
    pub hosts: Vec<Host>,
}

/// A commitment and its outcome.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commitment {
    pub label: String,
    /// The UUID, by which its slots refer to it.
    pub uuid: String,
    pub zone: String,
    pub group: String,
    pub state: String,
    pub resource: String,
    pub amount: String,
    /// The same in bytes, when the commitment should have slots.
    #[serde(skip)]
    pub wanted: i64,
    pub accepted_amount: Option<String>,
    pub ready: Option<ReadyState>,
    pub summary: String,
    pub finalizers: Vec<String>,
}

/// A slot.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub commitment: String,
    pub zone: String,
    pub project: String,
    pub group: String,
    pub flavor: String,
    pub size: Amounts,
    /// The host where it should be.
    pub target_host: Option<String>,
    /// The host where it is ready.
    pub host: Option<String>,
    /// The generation of the commitment that it was written for.
    pub parent_generation: Option<i64>,
    pub observed_parent_generation: Option<i64>,
    pub ready: Option<ReadyState>,
}

/// A host, with sums that are computed here.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    pub name: String,
    pub zone: String,
    pub capacity: Amounts,
    pub used_by_vms: Amounts,
    pub held_by_slots: Amounts,
    pub free: Amounts,
    pub slots: Vec<String>,
}

/// A condition without its times; written in one line.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadyState {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
}

impl Serialize for ReadyState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { status, reason, message } = self;
        serializer.collect_str(&format_args!("{status}, {reason}: {message}"))
    }
}

pub async fn read(client: &Client, labels: &Labels) -> Result<EndState, Error> {
    let (commitments, slots, hosts) =
        tokio::try_join!(list::<CommittedResource>(client), list::<Reservation>(client), list::<Hypervisor>(client))?;
    of(&commitments, &slots, &hosts, labels)
}

async fn list<K>(client: &Client) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let action = format!("list {}", K::plural(&()));
    let list = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    Ok(list.map_err(Error::api(action))?.items)
}

fn of(
    commitments: &[CommittedResource],
    slots: &[Reservation],
    hosts: &[Hypervisor],
    labels: &Labels,
) -> Result<EndState, Error> {
    let slots: Vec<_> = slots.iter().map(slot).collect::<Result<_, _>>()?;
    let mut state = EndState {
        commitments: commitments.iter().map(|one| commitment(one, labels)).collect::<Result<_, _>>()?,
        hosts: hosts.iter().map(|one| host(one, &slots)).collect::<Result<_, _>>()?,
        slots,
    };
    state.commitments.sort_by(|a, b| a.label.cmp(&b.label));
    state.slots.sort_by_cached_key(|slot| numbered(&slot.name));
    state.hosts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(state)
}

fn commitment(object: &CommittedResource, labels: &Labels) -> Result<Commitment, Error> {
    let (name, spec) = (object.name_any(), &object.spec);
    let status = object.status.clone().unwrap_or_default();
    let wanted = amount(&format!("CommittedResource {name}"), "spec.amount", spec.amount.as_str())?;
    Ok(Commitment {
        wanted: if spec.resource_type == ResourceType::Memory { wanted } else { 0 },
        label: labels.get(&name).cloned().unwrap_or(name),
        uuid: spec.commitment_uuid.clone(),
        zone: spec.availability_zone.clone(),
        group: spec.flavor_group_name.clone(),
        state: spec.state.to_string(),
        resource: spec.resource_type.to_string(),
        amount: spec.amount.to_string(),
        accepted_amount: status.accepted_spec.map(|accepted| accepted.amount.to_string()),
        ready: ready_state(&status.conditions),
        summary: timeless(&status.status_summary.unwrap_or_default()),
        finalizers: object.finalizers().to_vec(),
    })
}

/// The summary without the remaining time.
fn timeless(summary: &str) -> String {
    const BETWEEN: &str = " · ";
    let parts: Vec<_> = summary.split(BETWEEN).filter(|part| !part.starts_with("exp in ")).collect();
    parts.join(BETWEEN)
}

fn slot(object: &Reservation) -> Result<Slot, Error> {
    let name = object.name_any();
    let (spec, status) = (&object.spec, object.status.clone().unwrap_or_default());
    let data = spec.committed_resource_reservation.clone().unwrap_or_default();
    let outcome = status.committed_resource_reservation.unwrap_or_default();
    Ok(Slot {
        size: amounts(&format!("Reservation {name}"), "spec.resources", &spec.resources)?,
        name,
        labels: object.labels().clone(),
        commitment: data.commitment_uuid.unwrap_or_default(),
        zone: spec.availability_zone.clone().unwrap_or_default(),
        project: data.project_id.unwrap_or_default(),
        group: data.resource_group.unwrap_or_default(),
        flavor: data.resource_name.unwrap_or_default(),
        target_host: spec.target_host.clone(),
        host: status.host,
        parent_generation: data.parent_generation,
        observed_parent_generation: outcome.observed_parent_generation,
        ready: ready_state(&status.conditions),
    })
}

/// A slot on its way from one host to another is counted on both.
fn host(object: &Hypervisor, slots: &[Slot]) -> Result<Host, Error> {
    let name = object.name_any();
    let status = object.status.clone().unwrap_or_default();
    let id = format!("Hypervisor {name}");
    let capacity = amounts(&id, "status.effectiveCapacity", &status.effective_capacity)?;
    let used_by_vms = amounts(&id, "status.allocation", &status.allocation)?;
    let is_here = |slot: &&Slot| [&slot.target_host, &slot.host].contains(&&Some(name.clone()));
    let held_by_slots = slots.iter().filter(is_here).map(|slot| slot.size).sum();
    let mut here: Vec<_> = slots.iter().filter(is_here).map(|slot| slot.name.clone()).collect();
    here.sort_by_cached_key(|name| numbered(name));
    Ok(Host {
        zone: object.labels().get(ZONE).cloned().unwrap_or_default(),
        name,
        capacity,
        used_by_vms,
        held_by_slots,
        free: capacity - used_by_vms - held_by_slots,
        slots: here,
    })
}

/// A sort key by which slot 9 comes before slot 10.
fn numbered(name: &str) -> (String, Option<u64>) {
    let (commitment, number) = name.rsplit_once('-').unwrap_or((name, ""));
    (commitment.to_owned(), number.parse().ok())
}

fn ready_state(conditions: &[Condition]) -> Option<ReadyState> {
    let Condition { status, reason, message, .. } = conditions::ready(conditions)?.clone();
    Some(ReadyState { status, reason, message })
}

fn amounts(object: &str, field: &'static str, map: &BTreeMap<String, Quantity>) -> Result<Amounts, Error> {
    let read = |name: &str| amount(object, field, map.get(name).map_or("0", |quantity| quantity.as_str()));
    Ok(Amounts { memory: read(MEMORY)?, cpu: read(CPU)? })
}

fn amount(object: &str, field: &'static str, text: &str) -> Result<i64, Error> {
    quantity::parse(text).ok_or_else(|| Error::Amount { object: object.to_owned(), field, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::testing::{self, object};

    fn hypervisor() -> Hypervisor {
        object(&json!({
            "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
            "metadata": { "name": "h1", "labels": { "topology.kubernetes.io/zone": "az-a" } },
            "status": {
                "libVirtVersion": "1", "hypervisorVersion": "1", "numInstances": 1,
                "effectiveCapacity": { "memory": "1Ti", "cpu": "64" }, "allocation": { "memory": "16Gi", "cpu": "8" }
            }
        }))
    }

    #[test]
    fn hosts_are_added_up_from_vms_and_slots() {
        let slots = [testing::slot("u", 1, Some("h1")), testing::slot("u", 0, Some("h1")), testing::slot("u", 2, None)];
        let state = of(&[], &slots, &[hypervisor()], &Labels::new()).unwrap();
        let host = &state.hosts[0];
        assert_eq!(
            (host.held_by_slots.to_string(), host.free.to_string()),
            ("memory 480Gi, cpu 30".to_owned(), "memory 528Gi, cpu 26".to_owned())
        );
        assert_eq!(host.slots, ["commitment-u-0", "commitment-u-1"]);
        assert_eq!(
            state.slots.iter().map(|slot| slot.host.as_deref()).collect::<Vec<_>>(),
            [Some("h1"), Some("h1"), None]
        );
    }

    #[test]
    fn a_commitment_keeps_what_does_not_pass() {
        let mut object = testing::commitment("u", "az-a", "Accepted", "commitment successfully reserved");
        let status = object.status.get_or_insert_default();
        status.status_summary = Some("Accepted · 0 VMs · exp in 12d 3h".to_owned());
        let state = of(&[object], &[], &[], &Labels::new()).unwrap();
        assert_eq!(
            (state.commitments[0].summary.as_str(), state.commitments[0].wanted),
            ("Accepted · 0 VMs", 480 << 30)
        );
    }

    #[test]
    fn an_amount_that_cannot_be_read_is_named() {
        let mut slot = testing::slot("u", 0, None);
        slot.spec.resources.insert("cpu".to_owned(), "many".into());
        let error = of(&[], &[slot], &[], &Labels::new()).unwrap_err().to_string();
        assert!(error.starts_with("Reservation commitment-u-0: spec.resources is \"many\"; expected "), "{error}");
    }
}
