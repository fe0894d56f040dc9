//! The commitments of the demonstration, in their order.

use std::collections::BTreeMap;
use std::path::Path;

use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::documents::{self, File};
use crate::error::Error;

/// A commitment and its label.
#[derive(Debug)]
pub struct Sample {
    /// The name of its file, without the extension.
    pub label: String,
    pub object: DynamicObject,
}

impl Sample {
    pub fn name(&self) -> String {
        self.object.name_any()
    }
}

/// The labels of commitments, by the name of the object.
pub type Labels = BTreeMap<String, String>;

pub fn read(folder: &Path) -> Result<Vec<Sample>, Error> {
    documents::folder(folder)?.into_iter().map(sample).collect()
}

pub fn labels<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Labels {
    samples.into_iter().map(|sample| (sample.name(), sample.label.clone())).collect()
}

fn sample(mut file: File) -> Result<Sample, Error> {
    let label = file.stem();
    let is_commitment =
        |object: &DynamicObject| object.types.as_ref().is_some_and(|types| types.kind == "CommittedResource");
    match (file.objects.pop(), file.objects.is_empty()) {
        (Some(object), true) if is_commitment(&object) => Ok(Sample { label, object }),
        _ => Err(Error::NotOneCommitment { path: file.path }),
    }
}
