//! Commands that a user may try when the cloud is steady, ready to be copied.

use std::collections::BTreeMap;
use std::path::Path;

use berth_crds::CommittedResource;
use kube::ResourceExt;

use crate::quantity;
use crate::samples::Labels;
use crate::sites::REMOTE_ZONE;
use crate::snapshot::{Snapshot, is_accepted};

/// The kubeconfigs and addresses of the demonstration.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    pub kubeconfig: &'a Path,
    /// The kubeconfig of the other cluster, if there is one.
    pub remote: Option<&'a Path>,
    pub kubectl: &'a Path,
    pub berth: &'a Path,
    pub log: &'a Path,
    pub metrics: &'a str,
    pub scheduler: &'a str,
    /// The base URL of all APIs.
    pub api: &'a str,
}

pub fn text(snapshot: &Snapshot, labels: &Labels, places: Places<'_>) -> String {
    let mut parts = vec![list_commands(places)];
    let waiting = waiting(snapshot);
    let grown = accepted(snapshot).filter(|one| !competes(one, waiting)).min_by_key(|one| label(one, labels));
    parts.extend(grown.and_then(|one| grow(one, labels)));
    parts.extend(deleted(snapshot, waiting, grown).map(|one| delete(one, waiting, labels)));
    parts.extend(busiest_host(snapshot, waiting).map(|host| take_away(&host)));
    format!("\nAll is steady. To try, in another terminal:\n\n{}\n\nCtrl-C ends everything.\n", parts.join("\n\n"))
}

fn list_commands(Places { kubeconfig, remote, kubectl, berth, log, metrics, scheduler, api }: Places<'_>) -> String {
    let other = |path: &Path| {
        let path = path.display();
        format!("\n  kubectl --kubeconfig={path} get committedresources,reservations,hypervisors # {REMOTE_ZONE}")
    };
    let other = remote.map(other).unwrap_or_default();
    format!(
        "  export KUBECONFIG={}\n  export PATH={}:{}:$PATH\n\n  \
         # what there is, and what has happened\n  \
         kubectl get committedresources,reservations,hypervisors{other}\n  \
         kubectl get events\n  \
         curl --silent {metrics}\n  \
         tail --follow {}\n\n  \
         # where would a VM start, and why there? What blocks a host, and what fits on it?\n  \
         curl --silent --data @config/samples/requests/vm-of-the-project.json {scheduler}\n  \
         berth schedule --request config/samples/requests/vm-of-the-project.json\n  \
         berth explain host node101\n\n  \
         # what has Limes asked for? Ask for it once more\n  \
         kubectl get commitmentchanges\n  \
         berth e2e-commitments '{{\"baseURL\":\"{api}\",\"azs\":[\"eu-demo-1c\"]}}'",
        kubeconfig.display(),
        kubectl.display(),
        berth.display(),
        log.display()
    )
}

fn grow(commitment: &CommittedResource, labels: &Labels) -> Option<String> {
    let amount = &commitment.spec.amount;
    let double = quantity::binary(quantity::parse(amount.as_str())?.checked_mul(2)?);
    Some(format!(
        "  # grow {} from {amount} to {double}: it gets more slots\n  \
         kubectl patch committedresource {} --type merge --patch '{{\"spec\":{{\"amount\":\"{double}\"}}}}'",
        label(commitment, labels),
        commitment.name_any()
    ))
}

fn delete(commitment: &CommittedResource, waiting: Option<&CommittedResource>, labels: &Labels) -> String {
    let next = waiting.filter(|_| competes(commitment, waiting)).map(|waiting| label(waiting, labels));
    let next = next.map(|next| format!(", and {next} takes the capacity")).unwrap_or_default();
    format!(
        "  # delete {}: its slots go first{next}\n  kubectl delete committedresource {}",
        label(commitment, labels),
        commitment.name_any()
    )
}

fn take_away(host: &str) -> String {
    format!("  # take a host away: after a minute its slots move to others\n  kubectl delete hypervisor {host}")
}

fn label(commitment: &CommittedResource, labels: &Labels) -> String {
    let name = commitment.name_any();
    labels.get(&name).cloned().unwrap_or(name)
}

fn accepted(snapshot: &Snapshot) -> impl Iterator<Item = &CommittedResource> {
    snapshot.commitments.iter().map(AsRef::as_ref).filter(|commitment| is_accepted(commitment))
}

/// A commitment that holds something and lacks something.
fn waiting(snapshot: &Snapshot) -> Option<&CommittedResource> {
    let mut all = snapshot.commitments.iter().map(AsRef::as_ref);
    all.find(|commitment| !is_accepted(commitment) && snapshot.slots_of(commitment).next().is_some())
}

fn competes(commitment: &CommittedResource, waiting: Option<&CommittedResource>) -> bool {
    let wants = |one: &CommittedResource| (one.spec.availability_zone.clone(), one.spec.flavor_group_name.clone());
    waiting.is_some_and(|waiting| wants(waiting) == wants(commitment))
}

/// The commitment whose capacity helps a waiting one most, otherwise any that no other proposal uses.
fn deleted<'a>(
    snapshot: &'a Snapshot,
    waiting: Option<&CommittedResource>,
    grown: Option<&CommittedResource>,
) -> Option<&'a CommittedResource> {
    let name = grown.map(ResourceExt::name_any);
    let others = accepted(snapshot).filter(|one| Some(one.name_any()) != name);
    others.max_by_key(|one| (competes(one, waiting), snapshot.slots_of(one).count()))
}

/// The host with the most slots, whose loss does not leave slots without a host.
fn busiest_host(snapshot: &Snapshot, waiting: Option<&CommittedResource>) -> Option<String> {
    let mut slots: BTreeMap<&str, usize> = BTreeMap::new();
    for commitment in accepted(snapshot).filter(|one| !competes(one, waiting)) {
        for host in snapshot.slots_of(commitment).filter_map(|slot| slot.spec.target_host.as_deref()) {
            *slots.entry(host).or_default() += 1;
        }
    }
    slots.into_iter().max_by_key(|(_, count)| *count).map(|(host, _)| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::testing::{commitment, slot, snapshot};

    #[test]
    fn the_proposals_fit_what_there_is() {
        let accepted = |uuid, zone| commitment(uuid, zone, "Accepted", "commitment successfully reserved");
        let world = snapshot(
            vec![
                accepted("one", "az-a"),
                accepted("rival", "az-b"),
                commitment(
                    "short",
                    "az-b",
                    "Reserving",
                    "insufficient capacity: 1/2 reservation slots could be placed",
                ),
            ],
            vec![slot("one", 0, Some("h1")), slot("rival", 0, Some("h2")), slot("short", 0, Some("h2"))],
        );
        let labels = Labels::from([("commitment-one".to_owned(), "01-one".to_owned())]);
        let path = Path::new("/t");
        let (metrics, scheduler, api) = ("m", "s", "a");
        let places =
            Places { kubeconfig: path, remote: None, kubectl: path, berth: path, log: path, metrics, scheduler, api };
        let text = text(&world, &labels, places);
        for expected in [
            "grow 01-one from 480Gi to 960Gi",
            "kubectl patch committedresource commitment-one --type merge --patch '{\"spec\":{\"amount\":\"960Gi\"}}'",
            "delete commitment-rival: its slots go first, and commitment-short takes the capacity",
            "kubectl delete committedresource commitment-rival",
            "kubectl delete hypervisor h1",
        ] {
            assert!(text.contains(expected), "{expected} is missing in {text}");
        }
    }
}
