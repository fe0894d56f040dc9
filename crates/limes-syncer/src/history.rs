//! Which commitments the last complete views have listed. After a restart nothing is known.

use std::collections::{BTreeMap, VecDeque};

use berth_core::CommitmentUuid;
use jiff::Timestamp;

use crate::view::LimesView;

/// So many complete views, one after the other, must not have listed a commitment before something is concluded from it.
pub const VIEWS: usize = 3;

/// What the views of this process have listed.
#[derive(Debug, Default)]
pub struct ListingHistory {
    /// When the last complete views began, the oldest first.
    complete: VecDeque<Timestamp>,
    /// The number of complete views so far.
    number: u64,
    /// How many complete views there were when a commitment was listed last.
    listed: BTreeMap<CommitmentUuid, u64>,
}

/// Proof that the last three complete views have not listed a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// When the first of them began.
    since: Timestamp,
}

impl Unlisted {
    pub fn since(&self) -> Timestamp {
        self.since
    }

    #[cfg(test)]
    pub fn without_views(since: Timestamp) -> Self {
        Self { since }
    }
}

impl ListingHistory {
    pub fn note(&mut self, view: &LimesView) {
        if view.require_complete().is_ok() {
            self.number += 1;
            self.complete.push_back(view.began.time);
            if self.complete.len() > VIEWS {
                self.complete.pop_front();
            }
        }
        for uuid in view.uuids() {
            self.listed.insert(uuid.clone(), self.number);
        }
        // One that was listed so long ago is the same as one that was never listed.
        let number = self.number;
        self.listed.retain(|_, last| number - *last < VIEWS as u64);
    }

    /// The proof, if the last three complete views have not listed it and no incomplete one has since they began.
    pub fn unlisted(&self, uuid: &CommitmentUuid) -> Option<Unlisted> {
        let since = *self.complete.front().filter(|_| self.complete.len() == VIEWS)?;
        (!self.listed.contains_key(uuid)).then_some(Unlisted { since })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use berth_core::testing::at;
    use proptest::prelude::*;

    use super::*;
    use crate::view::tests::view;

    fn uuid(number: usize) -> CommitmentUuid {
        format!("uuid-{number}").as_str().into()
    }

    fn history(views: &[(bool, BTreeSet<usize>)]) -> ListingHistory {
        let mut history = ListingHistory::default();
        for (second, (is_complete, listed)) in (0_i64..).zip(views) {
            let listed: Vec<_> = listed.iter().map(|number| uuid(*number)).collect();
            history.note(&view(at(second), *is_complete, &listed));
        }
        history
    }

    fn of(views: &[(bool, &[usize])]) -> ListingHistory {
        history(
            &views.iter().map(|(is_complete, all)| (*is_complete, all.iter().copied().collect())).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn three_complete_views_without_it_are_the_proof() {
        let two = of(&[(true, &[9]), (true, &[9])]);
        assert_eq!(two.unlisted(&uuid(1)), None);
        let three = of(&[(true, &[9]), (true, &[9]), (true, &[9])]);
        assert_eq!(three.unlisted(&uuid(1)).map(|unlisted| unlisted.since()), Some(at(0)));
        assert_eq!(three.unlisted(&uuid(9)), None);
        let four = of(&[(true, &[1, 9]), (true, &[9]), (true, &[9]), (true, &[9])]);
        assert_eq!(four.unlisted(&uuid(1)).map(|unlisted| unlisted.since()), Some(at(1)));
    }

    #[test]
    fn incomplete_views_prove_nothing_and_what_they_list_counts() {
        let between = of(&[(true, &[9]), (false, &[]), (true, &[9]), (false, &[9]), (true, &[9])]);
        assert_eq!(between.unlisted(&uuid(1)).map(|unlisted| unlisted.since()), Some(at(0)));
        let listed = of(&[(true, &[9]), (true, &[9]), (false, &[1]), (true, &[9])]);
        assert_eq!(listed.unlisted(&uuid(1)), None);
        let later = of(&[(false, &[1]), (true, &[9]), (true, &[9]), (true, &[9])]);
        assert!(later.unlisted(&uuid(1)).is_some());
    }

    /// The same from the whole history.
    fn expected(views: &[(bool, BTreeSet<usize>)], number: usize) -> bool {
        let complete: Vec<usize> = (0..views.len()).filter(|place| views[*place].0).collect();
        let Some(first) = complete.len().checked_sub(VIEWS).map(|from| complete[from]) else { return false };
        views[first..].iter().all(|(_, listed)| !listed.contains(&number))
    }

    proptest! {
        #[test]
        fn nothing_is_concluded_from_less_than_three_complete_views(
            views in prop::collection::vec((any::<bool>(), prop::collection::btree_set(0..3_usize, 0..3)), 0..12),
        ) {
            let history = history(&views);
            for number in 0..3 {
                prop_assert_eq!(history.unlisted(&uuid(number)).is_some(), expected(&views, number));
            }
        }
    }
}
