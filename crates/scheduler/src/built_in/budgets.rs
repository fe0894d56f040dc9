//! What projects may use, as observed state: it comes from ProjectQuota objects, commitments and the VMs of the cloud.

use std::sync::Arc;

use super::BuiltIn;
use crate::{BudgetChange, CountedVms};

impl BuiltIn {
    /// What a project may use has changed.
    pub fn budget_changed(&self, change: BudgetChange) {
        self.lock().fleet.budgets.change(change);
    }

    /// The usage in ProjectQuota objects is computed from these VMs from now on.
    pub fn counted_vms_changed(&self, counted: Arc<dyn CountedVms>) {
        self.lock().fleet.budgets.set_counted(counted);
    }
}
