//! `featureGates`, at its place in the chart and at the flat one of the reference.

use super::section::Section;

const KEY: &str = "committedResourceTracking";

/// What is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureGates {
    /// `featureGates.committedResourceTracking`: whether VMs are entered into the slots they use.
    pub committed_resource_tracking: bool,
}

impl FeatureGates {
    pub(super) fn read(root: &mut Section<'_>) -> Self {
        const FLAT: &str = "Old place of `featureGates.committedResourceTracking`, which wins; move it there.";
        const NESTED: &str = "Enter VMs into the slots that they use.";
        let flat = root.flag(KEY, true, FLAT);
        if root.has(KEY) {
            root.warning(KEY, format!("is the old place; move it to featureGates.{KEY}"));
        }
        root.settle(KEY, None::<bool>);
        let committed_resource_tracking = root.section("featureGates", |s| {
            let nested = s.flag(KEY, true, NESTED);
            let value = if s.has(KEY) { nested } else { flat };
            s.settle(KEY, value)
        });
        Self { committed_resource_tracking }
    }
}
