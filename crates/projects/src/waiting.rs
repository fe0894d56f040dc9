//! Projects that wait until the VMs are known.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, ProjectKey, Requests};
use berth_vm_source::VmSource;
use parking_lot::Mutex;
use tracing::debug;

use crate::error::Error;

/// When a project is tried again whose data is missing and that nothing has requested meanwhile.
pub const RETRY: Duration = Duration::from_secs(60);

/// The projects that the next snapshot of VMs requests, besides those whose VMs it changes.
#[derive(Clone, Debug, Default)]
pub struct WaitingProjects(Arc<Mutex<BTreeSet<ProjectKey>>>);

impl WaitingProjects {
    /// To be called once per process and controller: it follows the snapshots from now on.
    pub fn follow(vms: &VmSource, requests: Requests<ProjectKey>) -> Self {
        let waiting = Self::default();
        let waits = waiting.clone();
        vms.on_change(move |change| {
            let changed = change.present.changed_projects(&change.former).into_iter().map(ProjectKey);
            let waited = std::mem::take(&mut *waits.0.lock());
            requests.add(changed.chain(waited));
        });
        waiting
    }

    pub fn insert(&self, key: ProjectKey) {
        self.0.lock().insert(key);
    }

    /// What follows from a run: without the data that it needs, the project waits for it.
    pub fn wait_for_data(&self, key: ProjectKey, outcome: Result<Action, Error>) -> Result<Action, Error> {
        match outcome {
            Err(error) if error.waits_for_data() => {
                debug!(%error, "usage of the project not computed");
                self.insert(key);
                Ok(Action::RequeueAfter(RETRY))
            }
            outcome => outcome,
        }
    }
}
