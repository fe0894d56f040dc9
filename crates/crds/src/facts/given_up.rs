//! Clusters that a user has given up for an object.

use std::collections::BTreeSet;

use berth_core::ClusterName;
use kube::ResourceExt;

use crate::labels;

/// The clusters that a user has given up for this object.
pub fn given_up_clusters(object: &impl ResourceExt) -> BTreeSet<ClusterName> {
    let names = object.annotations().get(labels::FORGET_CLUSTER).map(String::as_str).unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_commas_and_empty_ones_are_ignored() {
        let mut object = crate::testing::commitment("one", "1Gi");
        assert!(given_up_clusters(&object).is_empty());
        object.annotations_mut().insert(labels::FORGET_CLUSTER.to_owned(), " eu-1b,, eu-1c ".to_owned());
        let expected: BTreeSet<ClusterName> = ["eu-1b".into(), "eu-1c".into()].into();
        assert_eq!(given_up_clusters(&object), expected);
    }
}
