//! The `CustomResourceDefinition`s: what `berth crds` prints and `config/crd/` holds, and those of others.
//!
//! The schema of a kind comes from its Rust type, `normalise` brings it to the form of the reference, and `rules` adds
//! what Berth checks beyond the reference, and `bounds` the longest texts.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::CustomResourceExt;

use crate::normalise::{normalise, root};
use crate::{
    CommitmentChange, CommittedResource, Datasource, FlavorGroupCapacity, History, Hypervisor, Knowledge, Pipeline,
    ProjectQuota, Reservation, bounds, checks,
};

/// Why a CRD could not be printed.
#[derive(Debug, thiserror::Error)]
#[error("cannot print the CRD {name} as YAML")]
pub struct Error {
    /// `metadata.name` of the CRD.
    name: String,
    #[source]
    source: serde_saphyr::ser::Error,
}

/// A printed CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// File name in its directory: `<group>_<plural>.yaml`.
    pub name: String,
    /// The content, one YAML document.
    pub text: String,
}

/// The CRDs of all kinds that a cloud has, in a fixed order, with all rules and bounds, without the optional ones.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut crds = without_rules();
    crds.iter_mut().for_each(checks::apply);
    crds.iter_mut().filter(|crd| checks::is_ours(crd)).for_each(bounds::apply);
    crds
}

/// The CRDs of the kinds that are ours, also the optional one.
pub fn ours() -> Vec<CustomResourceDefinition> {
    all().into_iter().filter(checks::is_ours).chain(optional()).collect()
}

/// The CRDs of kinds that belong to other deployments: Knowledge, Datasource, Hypervisor and Pipeline. An installation
/// must not overwrite theirs.
pub fn of_others() -> Vec<CustomResourceDefinition> {
    all().into_iter().filter(|crd| !checks::is_ours(crd)).collect()
}

/// The CRDs of kinds that Berth uses where they are installed and does without otherwise: History.
pub fn optional() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![History::crd()];
    crds.iter_mut().for_each(as_documented);
    crds.iter_mut().for_each(bounds::apply);
    crds
}

/// The same CRDs as the reference shipped them, and that of CommitmentChange, which is new: no additional rule, the plain
/// pattern of quantities, plain lists of conditions. The rules of the Hypervisor stay, they are not ours. For tests of
/// upgrades.
pub fn without_rules() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        CommittedResource::crd(),
        Reservation::crd(),
        FlavorGroupCapacity::crd(),
        ProjectQuota::crd(),
        CommitmentChange::crd(),
        Knowledge::crd(),
        Datasource::crd(),
        Hypervisor::crd(),
        Pipeline::crd(),
    ];
    crds.iter_mut().for_each(as_documented);
    crds
}

/// One CRD as YAML. The same CRD gives the same text.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, Error> {
    serde_saphyr::to_string(crd).map_err(|source| Error { name: crd.metadata.name.clone().unwrap_or_default(), source })
}

/// The CRDs that are ours as files of `config/crd/`, in alphabetical order; also those of others on demand.
pub fn files(of_others: bool) -> Result<Vec<File>, Error> {
    let others = if of_others { self::of_others() } else { Vec::new() };
    let crds = ours().into_iter().chain(others);
    let files = crds.map(|crd| Ok(File { name: file_name(&crd), text: yaml(&crd)? }));
    let mut files = files.collect::<Result<Vec<_>, Error>>()?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

fn as_documented(crd: &mut CustomResourceDefinition) {
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    let kind = crd.spec.names.kind.clone();
    if let Some(root) = root(crd) {
        normalise(&kind, root);
    }
    checks::apply_of_owner(crd);
}
