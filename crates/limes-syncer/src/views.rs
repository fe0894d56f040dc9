//! The newest view of Limes, and which of its commitments are still to be compared with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_core::CommitmentUuid;
use berth_core::commitment::ResourceType;
use berth_core::quantity::{binary, decimal};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::history::{ListingHistory, Unlisted};
use crate::view::{Entry, LimesView, Listing};

/// What this process knows of Limes. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Views(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    view: Option<Arc<LimesView>>,
    history: ListingHistory,
    /// An event alone compares nothing: each commitment is compared once with each view.
    pending: BTreeSet<CommitmentUuid>,
}

/// A commitment that is to be compared with a view.
#[derive(Clone, Debug)]
pub struct PendingComparison {
    pub view: Arc<LimesView>,
    pub unlisted: Option<Unlisted>,
}

/// What Limes lists about a commitment, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownListing {
    /// `None`: it is not listed.
    pub entry: Option<Entry>,
    pub view_began: Timestamp,
    /// Why nothing can be concluded from what is not listed.
    pub incomplete: Option<String>,
}

impl KnownListing {
    /// What is listed, in words.
    pub fn describe(&self) -> Option<String> {
        let entry = self.entry.as_ref()?;
        Some(match &entry.listing {
            Listing::Skipped(reason) => format!("it, but it is not compared: {}", <&str>::from(*reason)),
            Listing::Usable(usable) => {
                let one = &usable.commitment;
                let amount = match one.resource {
                    ResourceType::Memory => binary(one.amount.round_up()),
                    ResourceType::Cores => decimal(one.amount.round_up()),
                };
                let (state, resource) = (format!("{:?}", one.status).to_lowercase(), one.resource);
                let end = one.expires_at.map(|end| format!(", ends at {end}")).unwrap_or_default();
                format!("{amount} {resource} of {} in {}, project {}, {state}{end}", one.group, one.zone, one.project)
            }
        })
    }
}

impl Views {
    /// Publishes the view of a run, with which these commitments of ours and all that it lists are to be compared.
    pub fn publish(&self, view: LimesView, local: impl IntoIterator<Item = CommitmentUuid>) {
        let mut state = self.0.lock();
        state.history.note(&view);
        state.pending = view.uuids().cloned().chain(local).collect();
        state.view = Some(Arc::new(view));
    }

    pub fn newest(&self) -> Option<Arc<LimesView>> {
        self.0.lock().view.clone()
    }

    /// The commitments that are still to be compared.
    pub fn pending_uuids(&self) -> Vec<CommitmentUuid> {
        self.0.lock().pending.iter().cloned().collect()
    }

    pub fn is_pending(&self, uuid: &str) -> bool {
        self.0.lock().pending.contains(uuid)
    }

    pub(crate) fn pending(&self, uuid: &CommitmentUuid) -> Option<PendingComparison> {
        let state = self.0.lock();
        let view = state.view.clone().filter(|_| state.pending.contains(uuid))?;
        Some(PendingComparison { view, unlisted: state.history.unlisted(uuid) })
    }

    /// The commitment was compared with this view.
    pub(crate) fn settle(&self, uuid: &CommitmentUuid, view: &Arc<LimesView>) {
        let mut state = self.0.lock();
        if state.view.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, view)) {
            state.pending.remove(uuid);
        }
    }

    /// When the first of the last three complete views began, if none of them has listed the commitment.
    pub fn unlisted_since(&self, uuid: &str) -> Option<Timestamp> {
        self.0.lock().history.unlisted(&uuid.into()).map(|unlisted| unlisted.since())
    }

    /// What the newest view says; `None` before the first view.
    pub fn listing(&self, uuid: &str) -> Option<KnownListing> {
        let view = self.newest()?;
        Some(KnownListing {
            entry: view.get(&uuid.into()).cloned(),
            view_began: view.began.time,
            incomplete: view.require_complete().err().map(ToString::to_string),
        })
    }
}

#[cfg(test)]
mod tests {
    use berth_core::testing::at;

    use super::*;
    use crate::view::tests::{entry, view};

    #[test]
    fn each_commitment_is_compared_once_with_each_view() {
        let (views, uuid) = (Views::default(), CommitmentUuid::from("uuid-1"));
        assert!(views.pending(&uuid).is_none() && views.listing("uuid-1").is_none());
        views.publish(view(at(0), true, std::slice::from_ref(&uuid)), ["uuid-2".into()]);
        assert_eq!(views.pending_uuids(), ["uuid-1".into(), "uuid-2".into()]);
        let first = views.pending(&uuid).unwrap().view;
        views.settle(&uuid, &first);
        assert!(views.pending(&uuid).is_none() && !views.is_pending("uuid-1"));
        views.publish(view(at(1), true, std::slice::from_ref(&uuid)), []);
        views.settle(&uuid, &first);
        assert!(views.pending(&uuid).is_some(), "compared with the former view");
    }

    #[test]
    fn people_see_what_is_listed_and_whether_the_view_is_complete() {
        let views = Views::default();
        views.publish(view(at(0), false, &["uuid-1".into()]), []);
        let known = views.listing("uuid-1").unwrap();
        assert_eq!((known.entry.unwrap().since, known.view_began), (at(0), at(0)));
        assert!(known.incomplete.unwrap().contains("Keystone lists no project"));
        assert_eq!(views.listing("uuid-1").unwrap().describe().unwrap(), "it, but it is not compared: non_compute");
        let listed = KnownListing { entry: Some(entry(|_| ())), view_began: at(0), incomplete: None };
        assert_eq!(listed.describe().unwrap(), "32Gi memory of 2101 in az-1, project p-1, confirmed");
        assert_eq!(views.listing("uuid-2").unwrap().entry, None);
        assert_eq!(views.unlisted_since("uuid-2"), None);
    }
}
