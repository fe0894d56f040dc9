//! Whether the usage of quota fits what commitments pay for.

use std::borrow::Borrow;

use berth_crds::{CommitmentState, CommittedResource, ProjectQuota, ProjectQuotaStatus, ResourceType};

use crate::{Invariant, Key, Snapshot, Violation};

/// Violations by these quotas, ascending, when the usage of all projects was computed from these commitments.
pub fn broken_payg<'a, Q: Borrow<ProjectQuota> + 'a>(
    snapshot: &Snapshot,
    quotas: impl IntoIterator<Item = (&'a Key, &'a Q)>,
) -> Vec<Violation> {
    let check = |(key, quota): (&Key, &Q)| {
        let quota: &ProjectQuota = quota.borrow();
        let text = wrong(snapshot, quota, quota.status.as_ref()?)?;
        Some(Violation::new(Invariant::PaygSum, key, text))
    };
    let mut violations: Vec<Violation> = quotas.into_iter().filter_map(check).collect();
    violations.sort();
    violations
}

fn wrong(snapshot: &Snapshot, quota: &ProjectQuota, status: &ProjectQuotaStatus) -> Option<String> {
    if !status.total_usage.keys().eq(status.payg_usage.keys()) {
        return Some("totalUsage and paygUsage have other resources".to_owned());
    }
    status.total_usage.iter().find_map(|(name, total)| {
        let group = name.strip_prefix("hw_version_").and_then(|rest| rest.strip_suffix("_ram"));
        let paid = group.map_or(0, |group| paid_gib(snapshot, quota, group));
        let (is, expected) = (status.payg_usage[name], (total - paid).max(0));
        (is != expected).then(|| format!("{name}: {total} is used, commitments pay for {paid}, and {is} remain"))
    })
}

/// The GiB that commitments of the project pay for in the zone.
fn paid_gib(snapshot: &Snapshot, quota: &ProjectQuota, group: &str) -> i64 {
    let paid = |object: &CommittedResource| {
        let status = object.status.as_ref().filter(|status| !status.used_resources.is_empty())?;
        let spec = status.accepted_spec.as_ref().unwrap_or(&object.spec);
        let pays = spec.resource_type == ResourceType::Memory
            && matches!(spec.state, CommitmentState::Confirmed | CommitmentState::Guaranteed)
            && object.spec.project_id == quota.spec.project_id
            && spec.availability_zone == quota.spec.availability_zone
            && spec.flavor_group_name == group;
        status.used_declared_gib.filter(|_| pays)
    };
    snapshot.commitments.values().filter_map(|object| paid(object)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_core::ClusterName;
    use berth_crds::{ProjectQuotaSpec, testing};

    use super::*;

    const RAM: &str = "hw_version_mem_v4_ram";
    const CORES: &str = "hw_version_mem_v4_cores";

    fn texts(payg: [i64; 2], state: CommitmentState) -> Vec<String> {
        let mut commitment = testing::commitment("uuid-1", "480Gi");
        commitment.spec.state = state;
        let status = commitment.status.get_or_insert_default();
        (status.used_resources, status.used_declared_gib) = (testing::size("40Gi", "10"), Some(40));
        let home = ClusterName::home();
        let snapshot = Snapshot::of([(home.clone(), Arc::new(commitment))], [], []);
        let map = |[ram, cores]: [i64; 2]| [(RAM.to_owned(), ram), (CORES.to_owned(), cores)].into();
        let (project_id, availability_zone) = (testing::PROJECT.to_owned(), testing::ZONE.to_owned());
        let spec = ProjectQuotaSpec { project_id, availability_zone, ..ProjectQuotaSpec::default() };
        let mut quota = ProjectQuota::new("quota", spec);
        let (total_usage, payg_usage) = (map([56, 14]), map(payg));
        quota.status = Some(ProjectQuotaStatus { total_usage, payg_usage, ..ProjectQuotaStatus::default() });
        let key = Key::new(home, "quota");
        broken_payg(&snapshot, [(&key, &quota)]).into_iter().map(|violation| violation.text).collect()
    }

    #[test]
    fn commitments_pay_for_memory_only() {
        assert_eq!(texts([16, 14], CommitmentState::Confirmed), [""; 0]);
        assert_eq!(texts([56, 14], CommitmentState::Superseded), [""; 0]);
        let ram = "hw_version_mem_v4_ram: 56 is used, commitments pay for 40, and 56 remain";
        assert_eq!(texts([56, 14], CommitmentState::Confirmed), [ram]);
        let cores = "hw_version_mem_v4_cores: 14 is used, commitments pay for 0, and 4 remain";
        assert_eq!(texts([16, 4], CommitmentState::Guaranteed), [cores]);
    }
}
