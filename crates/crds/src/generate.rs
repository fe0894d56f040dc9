//! The `CustomResourceDefinition`s: what `berth crds` prints and `config/crd/` holds, and the
//! optional ones of `config/crd-optional/`.
//!
//! The schema of a kind comes from its Rust type, `normalise` brings it to the form of the reference, and `rules` adds
//! what Berth checks beyond the reference.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::CustomResourceExt;

use crate::normalise::{normalise, root};
use crate::{
    CommittedResource, Datasource, FlavorGroupCapacity, History, Hypervisor, Knowledge, Pipeline, ProjectQuota,
    Reservation, checks,
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

/// The CRDs of all kinds, in a fixed order, with all rules.
///
/// Knowledge, Datasource, Hypervisor and Pipeline belong to other deployments; a production installation must not
/// overwrite theirs.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut crds = without_rules();
    crds.iter_mut().for_each(checks::apply);
    crds
}

/// The CRDs of kinds that Berth uses where they are installed and does without otherwise: History.
pub fn optional() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![History::crd()];
    crds.iter_mut().for_each(as_documented);
    crds
}

/// The same CRDs as the reference shipped them: no additional rule, the plain pattern of quantities,
/// plain lists of conditions. The rules of the Hypervisor stay, they are not ours. For tests of upgrades.
pub fn without_rules() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        CommittedResource::crd(),
        Reservation::crd(),
        FlavorGroupCapacity::crd(),
        ProjectQuota::crd(),
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

/// All CRDs as files of `config/crd/`, in alphabetical order.
pub fn files() -> Result<Vec<File>, Error> {
    printed(&all())
}

/// The optional CRDs as files of `config/crd-optional/`, in alphabetical order.
pub fn optional_files() -> Result<Vec<File>, Error> {
    printed(&optional())
}

fn printed(crds: &[CustomResourceDefinition]) -> Result<Vec<File>, Error> {
    let mut files = crds
        .iter()
        .map(|crd| Ok(File { name: file_name(crd), text: yaml(crd)? }))
        .collect::<Result<Vec<_>, Error>>()?;
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
