//! The object of a change: what is needed to complete or to undo it.

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_crds::commitment_change::{ChangeItem, CommitmentBefore, SlotBefore};
use berth_crds::{CommitmentChange, CommitmentChangeSpec, CommittedResource, MicroTime, labels, names};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::admission::{Admitted, AdmittedItem};
use super::{Asked, ChangeService};

/// From this size on the slots are compressed, in bytes of JSON. Status and metadata come on top.
const LARGE: usize = 900 << 10;
/// The largest object that the API server stores, with room for its status.
const MOST: usize = 1 << 20;
/// The most that is compressed. Readers of the object decompress a little more.
const MOST_PLAIN: usize = 48 << 20;

impl ChangeService {
    /// The object; `None` if it would be larger than the API server accepts.
    pub(super) async fn journal(
        &self,
        asked: &Asked,
        admitted: &Admitted,
        deadline: Timestamp,
    ) -> Option<CommitmentChange> {
        let items: Vec<_> = admitted.items.iter().map(|item| self.journal_item(item, admitted)).collect();
        let spec = CommitmentChangeSpec {
            request_id: asked.global_id(),
            availability_zone: asked.request.zone.to_string(),
            requires_confirmation: asked.requires_confirmation,
            deadline: MicroTime(deadline),
            item_count: i64::try_from(items.len()).unwrap_or(i64::MAX),
            items,
            slots_gzip: None,
        };
        fitted(spec).await.map(|spec| self.object(spec))
    }

    fn object(&self, spec: CommitmentChangeSpec) -> CommitmentChange {
        let zone = labels::value(&spec.availability_zone);
        let mut change = CommitmentChange::new(&self.fresh_name(), spec);
        change.metadata.labels = Some([(labels::AZ.to_owned(), zone)].into());
        change.metadata.finalizers = Some(vec![labels::FINISH_CHANGE.to_owned()]);
        change
    }

    /// The bits of the id that are not the same in all ids.
    fn fresh_name(&self) -> String {
        let (id, mut bits) = (self.context.ids.fresh().into_bytes(), [0; 10]);
        let (head, tail) = bits.split_at_mut(4);
        head.copy_from_slice(&id[..4]);
        tail.copy_from_slice(&id[10..]);
        names::commitment_change(&names::random_text(bits))
    }

    fn journal_item(&self, item: &AdmittedItem, admitted: &Admitted) -> ChangeItem {
        let slots = self.context.reservations.select(&RESERVATION_BY_COMMITMENT, item.uuid.as_str());
        let own = slots.iter().filter(|slot| {
            slot.key.cluster == admitted.slot_cluster && slot.object.metadata.deletion_timestamp.is_none()
        });
        let slot = |slot: &berth_cluster::Entry<berth_crds::Reservation>| SlotBefore {
            name: slot.key.name.to_string(),
            target_host: slot.object.spec.target_host.clone(),
            resources: slot.object.spec.resources.clone(),
        };
        ChangeItem {
            commitment_uuid: item.uuid.to_string(),
            before: item.object.as_deref().map(before),
            slots: own.map(slot).collect(),
            after: item.after.clone(),
        }
    }
}

fn before(object: &CommittedResource) -> CommitmentBefore {
    CommitmentBefore {
        spec: object.spec.clone(),
        annotations: object.annotations().clone(),
        accepted_spec: object.status.as_ref().and_then(|status| status.accepted_spec.clone()),
        generation: object.metadata.generation.unwrap_or_default(),
        uid: object.uid().unwrap_or_default(),
    }
}

/// The spec in a form that the API server accepts. The rest of the process does not wait for the compression.
async fn fitted(mut spec: CommitmentChangeSpec) -> Option<CommitmentChangeSpec> {
    let plain = size(&spec);
    if plain <= LARGE {
        return Some(spec);
    }
    if plain > MOST_PLAIN {
        return None;
    }
    let compress = move || {
        spec.compress_slots();
        spec
    };
    let compressed = tokio::task::spawn_blocking(compress).await.ok()?;
    (size(&compressed) <= MOST).then_some(compressed)
}

/// Bytes as JSON. Counting them needs no memory.
fn size(spec: &CommitmentChangeSpec) -> usize {
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, spec) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
