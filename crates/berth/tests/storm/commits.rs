//! The commits that the invariants are about, with decoded objects.

use std::sync::Arc;

use berth_crds::{CommittedResource, Hypervisor, Reservation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::support::chronicle::{self, Chronicle, Report, follow};

const COMMITMENTS: &str = "cortex.cloud/committedresources";
const RESERVATIONS: &str = "cortex.cloud/reservations";
const HYPERVISORS: &str = "kvm.cloud.sap/hypervisors";

/// A committed object.
pub enum Object {
    Commitment(Arc<CommittedResource>),
    Reservation(Arc<Reservation>),
    Host(Arc<Hypervisor>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Commitment,
    Reservation,
    Host,
}

/// One commit: an object in its new state, or its deletion.
pub struct Entry {
    pub revision: u64,
    pub kind: Kind,
    pub name: String,
    pub object: Option<Object>,
}

/// Reports all objects, and from then on every commit.
pub async fn follow_commits(etcd: &str, mut report: impl FnMut(Entry) + Send + 'static) -> Chronicle {
    follow(etcd, &[COMMITMENTS, RESERVATIONS, HYPERVISORS], move |read| match read {
        Report::State(entries) => entries.into_iter().map(Entry::from).for_each(&mut report),
        Report::Commit(entry) => report(entry.into()),
    })
    .await
}

impl From<chronicle::Entry> for Entry {
    fn from(read: chronicle::Entry) -> Self {
        let kind = match read.kind {
            COMMITMENTS => Kind::Commitment,
            RESERVATIONS => Kind::Reservation,
            _ => Kind::Host,
        };
        let object = read.object.map(|object| match kind {
            Kind::Commitment => Object::Commitment(decoded(object)),
            Kind::Reservation => Object::Reservation(decoded(object)),
            Kind::Host => Object::Host(decoded(object)),
        });
        Self { revision: read.revision, kind, name: read.name, object }
    }
}

fn decoded<K: DeserializeOwned>(object: Value) -> Arc<K> {
    let text = object.to_string();
    Arc::new(serde_json::from_value(object).unwrap_or_else(|error| panic!("{error}: {text}")))
}
