//! A key as kube-runtime's queue wants it: an object with a name and, where others have a namespace, the cluster. The
//! queue knows nothing else of our objects; what is done with a key is read from stores.

use std::borrow::Cow;

use kube::{
    Resource,
    core::{NamespaceResourceScope, ObjectMeta},
};
use serde::Deserialize;

use crate::ObjectKey;

/// The object behind a key. Its "kind" is the name of the controller, which is what kube's own spans show.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Queued {
    metadata: ObjectMeta,
}

impl Queued {
    pub fn new(key: &ObjectKey) -> Self {
        let (namespace, name) = (Some(key.cluster.to_string()), Some(key.name.to_string()));
        Self { metadata: ObjectMeta { namespace, name, ..ObjectMeta::default() } }
    }

    pub fn key(&self) -> ObjectKey {
        key(self.metadata.namespace.as_deref(), self.metadata.name.as_deref().unwrap_or_default())
    }
}

pub(super) fn key(namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey::new(namespace.unwrap_or_default().into(), name)
}

impl Resource for Queued {
    type DynamicType = &'static str;
    type Scope = NamespaceResourceScope;

    fn kind(controller: &&'static str) -> Cow<'static, str> {
        Cow::Borrowed(controller)
    }

    fn group(_: &&'static str) -> Cow<'static, str> {
        Cow::Borrowed("berth")
    }

    fn version(_: &&'static str) -> Cow<'static, str> {
        Cow::Borrowed("v1")
    }

    fn plural(controller: &&'static str) -> Cow<'static, str> {
        Cow::Borrowed(controller)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
