//! What clients have asked and were answered, and whether one request after the other could have led to the same.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::CommittedResource;
use berth_testkit::Server;
use berth_testkit::seeds::SLOT_GIB;
use tokio::time::Instant;

use super::liquid::{Answer, Wanted, requires_confirmation};

/// A zone with so many slots: the slots of each commitment.
pub type Sold = BTreeMap<String, u64>;

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Call {
    pub wanted: Wanted,
    pub from: Instant,
    /// `None` if the client has not waited for it. The request may then have been carried out, at any time.
    pub answer: Option<(Instant, Answer)>,
}

/// What is stored at the end.
pub fn sold(server: &Server) -> Sold {
    let all: Vec<CommittedResource> = server.all().unwrap();
    let slots = |object: &CommittedResource| {
        let gib = object.spec.amount.as_str().strip_suffix("Gi").map_or(0, |gib| gib.parse::<u64>().unwrap());
        gib / SLOT_GIB
    };
    all.iter().map(|object| (object.spec.commitment_uuid.clone(), slots(object))).collect()
}

/// The zone after a request; `None` if the request is rejected.
fn sell(sold: &Sold, wanted: &[(String, Option<u64>)], capacity: u64) -> Option<Sold> {
    let mut after = sold.clone();
    for (uuid, slots) in wanted {
        match slots {
            Some(slots) => after.insert(uuid.clone(), *slots),
            None => after.remove(uuid),
        };
    }
    (!requires_confirmation(wanted) || after.values().sum::<u64>() <= capacity).then_some(after)
}

/// Whether some order of the calls, in which none comes before another one that was answered before it began, leads from
/// `before` to `after` with the same answers.
pub fn is_linearizable(calls: &[Call], before: &Sold, after: &Sold, capacity: u64) -> bool {
    let decided = |call: &&Call| !matches!(call.answer, Some((_, Answer::NoVerdict(..))));
    let search = Search { calls: calls.iter().filter(decided).collect(), after, capacity };
    search.finds(before, &(0..search.calls.len()).collect(), &mut BTreeSet::new())
}

struct Search<'a> {
    calls: Vec<&'a Call>,
    after: &'a Sold,
    capacity: u64,
}

impl Search<'_> {
    /// Whether the calls that are left can follow on this state.
    fn finds(&self, sold: &Sold, left: &BTreeSet<usize>, tried: &mut BTreeSet<(BTreeSet<usize>, Sold)>) -> bool {
        let is_over = left.iter().all(|call| self.calls[*call].answer.is_none());
        if is_over && sold == self.after {
            return true;
        }
        if !tried.insert((left.clone(), sold.clone())) {
            return false;
        }
        let ends = left.iter().filter_map(|call| self.calls[*call].answer.as_ref().map(|(until, _)| *until));
        let first_end = ends.min();
        let can_be_next = |call: &&usize| first_end.is_none_or(|end| self.calls[**call].from <= end);
        left.iter().filter(can_be_next).any(|call| {
            let rest = left.iter().copied().filter(|other| other != call).collect();
            self.next(sold, *call).is_some_and(|sold| self.finds(&sold, &rest, tried))
        })
    }

    /// The state after a call, if its answer fits.
    fn next(&self, sold: &Sold, call: usize) -> Option<Sold> {
        let call = self.calls[call];
        let after = sell(sold, &call.wanted, self.capacity);
        match &call.answer {
            None | Some((_, Answer::Accepted)) => after,
            Some((_, Answer::Rejected)) => after.is_none().then(|| sold.clone()),
            Some((_, Answer::NoVerdict(..))) => Some(sold.clone()),
        }
    }
}
