//! The snapshot: the VMs in the order of their projects, with the flavors that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::flavor::Flavor;
use berth_core::{FlavorName, HostName, ProjectId, VmId, Zone};
use jiff::Timestamp;

/// A row of the table of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmRow {
    pub id: VmId,
    pub name: Box<str>,
    pub project: ProjectId,
    /// Nova's status, for example `ACTIVE`.
    pub status: Arc<str>,
    /// `None`: the time is missing or unreadable, and the VM counts as the oldest.
    pub created: Option<Timestamp>,
    /// The zone of the row. A host that lists the VM knows better.
    pub zone: Zone,
    /// The host of the row; empty while the VM has none.
    pub host: HostName,
    pub flavor: FlavorName,
    pub os_type: Arc<str>,
}

/// A VM that has a host and a known flavor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    pub id: VmId,
    pub name: Box<str>,
    pub project: ProjectId,
    pub status: Arc<str>,
    pub created: Option<Timestamp>,
    /// The zone of the row. A host that lists the VM knows better.
    pub zone: Zone,
    pub host: HostName,
    pub flavor: Arc<Flavor>,
    pub os_type: Arc<str>,
}

/// All VMs at one moment, immutable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmSnapshot {
    /// By project, and within a project by UUID.
    vms: Box<[Vm]>,
    /// The positions of the VMs in the order of their UUIDs.
    by_id: Box<[u32]>,
    flavors: BTreeMap<FlavorName, Arc<Flavor>>,
    /// When the data is from: the older of the read and of the last copy from Nova.
    pub as_of: Timestamp,
}

impl VmSnapshot {
    /// Rows without a host, rows of unknown flavors and repeated UUIDs are left out.
    pub fn new(rows: Vec<VmRow>, flavors: Vec<Flavor>, as_of: Timestamp) -> Self {
        let mut known = BTreeMap::new();
        for flavor in flavors {
            known.entry(flavor.name.clone()).or_insert_with(|| Arc::new(flavor));
        }
        Self::of_vms(rows.into_iter().filter_map(|row| with_flavor(row, &known)).collect(), known, as_of)
    }

    fn of_vms(mut vms: Vec<Vm>, flavors: BTreeMap<FlavorName, Arc<Flavor>>, as_of: Timestamp) -> Self {
        vms.sort_unstable_by(|a, b| (&a.id, &a.project).cmp(&(&b.id, &b.project)));
        vms.dedup_by(|later, earlier| later.id == earlier.id);
        vms.sort_by(|a, b| a.project.cmp(&b.project));
        let mut by_id: Vec<u32> = (0..u32::try_from(vms.len()).unwrap_or(u32::MAX)).collect();
        by_id.sort_unstable_by(|&a, &b| vms[a as usize].id.cmp(&vms[b as usize].id));
        Self { vms: vms.into(), by_id: by_id.into(), flavors, as_of }
    }

    /// All VMs, by project and UUID.
    pub fn vms(&self) -> &[Vm] {
        &self.vms
    }

    /// The VMs of a project in the order of their UUIDs.
    pub fn of_project(&self, project: &ProjectId) -> &[Vm] {
        let from = self.vms.partition_point(|vm| vm.project < *project);
        let length = self.vms[from..].partition_point(|vm| vm.project == *project);
        &self.vms[from..from + length]
    }

    pub fn vm(&self, id: &VmId) -> Option<&Vm> {
        self.position(id.as_str()).map(|position| &self.vms[position])
    }

    /// The place of a VM in [`Self::vms`].
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        let at = self.by_id.binary_search_by(|&at| self.vms[at as usize].id.as_str().cmp(id)).ok()?;
        Some(self.by_id[at] as usize)
    }

    /// The same with more VMs, of flavors that are known; `None` if there are none besides those that it has.
    pub(crate) fn with_rows(&self, rows: Vec<VmRow>) -> Option<Self> {
        let more: Vec<Vm> = rows.into_iter().filter_map(|row| with_flavor(row, &self.flavors)).collect();
        let more: Vec<Vm> = more.into_iter().filter(|vm| self.vm(&vm.id).is_none()).collect();
        (!more.is_empty())
            .then(|| Self::of_vms(self.vms.iter().cloned().chain(more).collect(), self.flavors.clone(), self.as_of))
    }

    pub fn flavor(&self, name: &FlavorName) -> Option<&Arc<Flavor>> {
        self.flavors.get(name)
    }

    /// The projects that have at least one VM, in order.
    pub fn projects(&self) -> impl Iterator<Item = &ProjectId> {
        self.vms.chunk_by(|a, b| a.project == b.project).map(|of_one| &of_one[0].project)
    }

    /// The projects whose VMs differ between two snapshots.
    pub fn changed_projects(&self, former: &Self) -> BTreeSet<ProjectId> {
        let all: BTreeSet<&ProjectId> = self.projects().chain(former.projects()).collect();
        let differs = |project: &&ProjectId| self.of_project(project) != former.of_project(project);
        all.into_iter().filter(differs).cloned().collect()
    }
}

fn with_flavor(row: VmRow, flavors: &BTreeMap<FlavorName, Arc<Flavor>>) -> Option<Vm> {
    if row.host.is_empty() {
        return None;
    }
    let flavor = Arc::clone(flavors.get(&row.flavor)?);
    let VmRow { id, name, project, status, created, zone, host, os_type, .. } = row;
    Some(Vm { id, name, project, status, created, zone, host, flavor, os_type })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, project: &str) -> VmRow {
        VmRow { id: id.into(), project: project.into(), host: "h".into(), flavor: "m1".into(), ..VmRow::default() }
    }

    fn flavor(name: &str, memory_mib: u64) -> Flavor {
        Flavor { name: name.into(), vcpus: 1, memory_mib, disk_gib: 0, extra_specs: BTreeMap::new() }
    }

    fn snapshot(rows: Vec<VmRow>) -> VmSnapshot {
        VmSnapshot::new(rows, vec![flavor("m1", 1024)], Timestamp::UNIX_EPOCH)
    }

    fn ids(vms: &[Vm]) -> Vec<&str> {
        vms.iter().map(|vm| vm.id.as_str()).collect()
    }

    #[test]
    fn vms_are_found_by_project_and_by_uuid() {
        let all = snapshot(vec![row("c", "p"), row("a", "q"), row("b", "p")]);
        assert_eq!(ids(all.vms()), ["b", "c", "a"]);
        assert_eq!(ids(all.of_project(&"p".into())), ["b", "c"]);
        assert_eq!(ids(all.of_project(&"none".into())), Vec::<&str>::new());
        assert_eq!(all.vm(&"a".into()).map(|vm| vm.project.as_str()), Some("q"));
        assert_eq!(all.vm(&"z".into()), None);
        assert_eq!(all.projects().map(ProjectId::as_str).collect::<Vec<_>>(), ["p", "q"]);
    }

    #[test]
    fn rows_without_a_host_or_with_an_unknown_flavor_are_left_out() {
        let unplaced = VmRow { host: HostName::default(), ..row("a", "p") };
        let unknown = VmRow { flavor: "other".into(), ..row("b", "p") };
        assert_eq!(ids(snapshot(vec![unplaced, unknown, row("c", "p")]).vms()), ["c"]);
    }

    #[test]
    fn of_two_rows_with_one_uuid_the_project_that_sorts_first_counts() {
        let all = snapshot(vec![row("a", "q"), row("a", "p")]);
        assert_eq!(all.vms().len(), 1);
        assert_eq!(all.vm(&"a".into()).map(|vm| vm.project.as_str()), Some("p"));
    }

    #[test]
    fn of_two_flavors_with_one_name_the_first_counts() {
        let all = VmSnapshot::new(vec![row("a", "p")], vec![flavor("m1", 1), flavor("m1", 2)], Timestamp::UNIX_EPOCH);
        assert_eq!(all.vms()[0].flavor.memory_mib, 1);
        assert_eq!(all.flavor(&"m1".into()).map(|flavor| flavor.memory_mib), Some(1));
    }

    #[test]
    fn rows_are_added_to_those_that_are_there() {
        let all = snapshot(vec![row("b", "p"), row("d", "q")]);
        let unplaced = VmRow { host: HostName::default(), ..row("e", "p") };
        let more = all.with_rows(vec![row("c", "p"), row("b", "other"), row("a", "q"), unplaced.clone()]).unwrap();
        assert_eq!(ids(more.vms()), ["b", "c", "a", "d"]);
        assert_eq!((more.as_of, more.vm(&"a".into()).map(|vm| vm.id.as_str())), (all.as_of, Some("a")));
        assert_eq!(all.with_rows(vec![row("b", "other"), unplaced]), None, "nothing is new");
    }

    #[test]
    fn only_projects_whose_vms_differ_have_changed() {
        let before = snapshot(vec![row("a", "p"), row("b", "q"), row("c", "r")]);
        let moved = VmRow { host: "h2".into(), ..row("b", "q") };
        let after = snapshot(vec![row("a", "p"), moved, row("d", "s")]);
        let changed: Vec<String> = after.changed_projects(&before).iter().map(ToString::to_string).collect();
        assert_eq!(changed, ["q", "r", "s"]);
        assert!(after.changed_projects(&after).is_empty());
    }
}
