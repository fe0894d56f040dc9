//! The slots in the journal of a change. They take most of its space, and are compressed if the object would become larger
//! than the API server accepts.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::CommitmentChange;
use crate::commitment_change::{CommitmentChangeSpec, SlotBefore};

/// The most that the slots of a change are after they were decompressed.
const MAX_BYTES: u64 = 64 << 20;

impl CommitmentChange {
    /// The slots that the commitment at this place of the change had before; none of a finished change.
    pub fn slots_before(&self, place: usize) -> Vec<SlotBefore> {
        match &self.spec.slots_gzip {
            Some(text) => decompress(text).unwrap_or_default().into_iter().nth(place).unwrap_or_default(),
            None => self.spec.items.get(place).map(|item| item.slots.clone()).unwrap_or_default(),
        }
    }
}

impl CommitmentChangeSpec {
    /// Moves the slots of all items into the compressed form.
    pub fn compress_slots(&mut self) {
        let slots: Vec<Vec<SlotBefore>> = self.items.iter_mut().map(|item| std::mem::take(&mut item.slots)).collect();
        self.slots_gzip = Some(compress(&slots));
    }
}

fn compress(slots: &[Vec<SlotBefore>]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail, and neither does a list of texts as JSON.
    let json = serde_json::to_vec(slots).unwrap_or_default();
    let _ = encoder.write_all(&json);
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

fn decompress(text: &str) -> Option<Vec<Vec<SlotBefore>>> {
    let bytes = STANDARD.decode(text).ok()?;
    let mut json = Vec::new();
    GzDecoder::new(bytes.as_slice()).take(MAX_BYTES).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn slot(number: usize) -> SlotBefore {
        SlotBefore {
            name: format!("commitment-uuid-1-{number}"),
            target_host: Some(format!("node{number:05}")),
            resources: [("memory".to_owned(), "480Gi".into())].into(),
        }
    }

    #[test]
    fn compressed_slots_are_the_same_and_take_a_tenth_of_the_space() {
        let mut change = testing::commitment_change("one", &["uuid-1", "uuid-2"]);
        change.spec.items[1].slots = (0..10_000).map(slot).collect();
        let before: Vec<_> = (0..3).map(|place| change.slots_before(place)).collect();
        let plain = serde_json::to_string(&change).unwrap().len();
        change.spec.compress_slots();
        assert_eq!((0..3).map(|place| change.slots_before(place)).collect::<Vec<_>>(), before);
        let compressed = serde_json::to_string(&change).unwrap().len();
        assert!(compressed * 10 < plain, "{compressed} of {plain}");
    }

    #[test]
    fn what_is_no_list_of_slots_is_none() {
        let mut change = testing::commitment_change("one", &["uuid-1"]);
        for text in ["", "%", "AAAA", &STANDARD.encode("no gzip")] {
            change.spec.slots_gzip = Some(text.to_owned());
            assert_eq!(change.slots_before(0), []);
        }
    }
}
