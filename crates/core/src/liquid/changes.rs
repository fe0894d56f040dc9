//! The order in which a change is written: what releases capacity comes first, so that what grows can use it.

use jiff::Timestamp;

use super::conversion::superseded;
use crate::commitment::{Phase, ResourceType, Spec};
use crate::units::Resources;

/// A commitment before and after a change. Without `before` it is created, without `after` deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecChange {
    pub before: Option<Spec>,
    pub after: Option<Spec>,
}

/// What a change of one commitment does to capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Releases,
    /// Neither releases nor grows.
    Keeps,
    Grows,
}

/// The writes of a change. Numbers are places in the list of its commitments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOrder {
    /// First those that release, then the others, each in the order of the list.
    pub specs: Vec<(usize, Spec)>,
    /// What is deleted when everything else was accepted.
    pub deletions: Vec<usize>,
}

/// What a commitment holds at `now`: memory or cores; nothing if it is not in force.
pub fn held(spec: Option<&Spec>, now: Timestamp) -> Resources {
    let Some(spec) = spec.filter(|spec| spec.phase(now) == Phase::Wanted) else { return Resources::ZERO };
    match spec.resource {
        ResourceType::Memory => Resources { memory: spec.memory(), ..Resources::ZERO },
        ResourceType::Cores => Resources { cpu: spec.cores(), ..Resources::ZERO },
    }
}

impl SpecChange {
    pub fn effect(&self, now: Timestamp) -> Effect {
        let (before, after) = (held(self.before.as_ref(), now), held(self.after.as_ref(), now));
        match (after.fits(before), before.fits(after)) {
            (true, true) => Effect::Keeps,
            (true, false) => Effect::Releases,
            (false, _) => Effect::Grows,
        }
    }

    fn is_deletion(&self) -> bool {
        self.before.is_some() && self.after.is_none()
    }

    /// The spec to write before deletions. A deletion has one if its capacity is needed: then it is superseded first.
    fn written(&self, is_capacity_needed: bool, now: Timestamp) -> Option<Spec> {
        let superseded = || {
            let released = self.before.as_ref().filter(|_| is_capacity_needed && self.effect(now) == Effect::Releases);
            released.map(superseded)
        };
        self.after.clone().or_else(superseded).filter(|spec| self.before.as_ref() != Some(spec))
    }
}

/// Orders the writes of the commitments of one zone. What is as wanted already is not written.
pub fn order_writes(changes: &[SpecChange], now: Timestamp) -> WriteOrder {
    let is_capacity_needed = changes.iter().any(|change| change.effect(now) == Effect::Grows);
    let written = |is_release: bool| {
        let of_effect =
            move |(_, change): &(usize, &SpecChange)| (change.effect(now) == Effect::Releases) == is_release;
        let writes = changes.iter().enumerate().filter(of_effect);
        writes.filter_map(move |(number, change)| Some((number, change.written(is_capacity_needed, now)?)))
    };
    let deletions = changes.iter().enumerate().filter(|(_, change)| change.is_deletion());
    WriteOrder {
        specs: written(true).chain(written(false)).collect(),
        deletions: deletions.map(|(number, _)| number).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::commitment::State;
    use crate::testing::{at, spec};

    fn change(before: Option<Spec>, after: Option<Spec>) -> SpecChange {
        SpecChange { before, after }
    }

    fn in_state(state: State) -> Spec {
        Spec { state, ..spec("4Gi") }
    }

    fn numbers(order: &WriteOrder) -> Vec<usize> {
        order.specs.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn a_commitment_releases_or_grows_by_what_it_holds() {
        let confirmed = Some(in_state(State::Confirmed));
        for (before, after, effect) in [
            (None, confirmed.clone(), Effect::Grows),
            (confirmed.clone(), None, Effect::Releases),
            (confirmed.clone(), Some(spec("2Gi")), Effect::Releases),
            (confirmed.clone(), Some(spec("5Gi")), Effect::Grows),
            (Some(in_state(State::Pending)), confirmed.clone(), Effect::Keeps),
            (Some(in_state(State::Planned)), confirmed.clone(), Effect::Grows),
            (confirmed.clone(), Some(in_state(State::Superseded)), Effect::Releases),
            (Some(in_state(State::Planned)), None, Effect::Keeps),
            (confirmed.clone(), Some(Spec { project: "other".into(), ..spec("4Gi") }), Effect::Keeps),
            (Some(Spec { end: Some(at(-1)), ..spec("4Gi") }), confirmed, Effect::Grows),
        ] {
            assert_eq!(change(before.clone(), after.clone()).effect(at(0)), effect, "{before:?} {after:?}");
        }
    }

    #[test]
    fn cores_are_compared_with_cores() {
        let cores = |amount| Some(Spec { resource: ResourceType::Cores, ..spec(amount) });
        assert_eq!(change(cores("8"), cores("7")).effect(at(0)), Effect::Releases);
        assert_eq!(change(cores("8"), cores("8500m")).effect(at(0)), Effect::Grows);
        assert_eq!(held(cores("8").as_ref(), at(0)).cpu.get(), 8);
    }

    #[test]
    fn releases_are_written_before_growth() {
        let changes = [
            change(None, Some(spec("1Gi"))),
            change(Some(in_state(State::Confirmed)), Some(in_state(State::Superseded))),
            change(Some(in_state(State::Pending)), Some(in_state(State::Confirmed))),
            change(Some(in_state(State::Confirmed)), Some(spec("1Gi"))),
        ];
        assert_eq!(numbers(&order_writes(&changes, at(0))), [1, 3, 0, 2]);
    }

    #[test]
    fn a_deletion_whose_capacity_is_needed_is_superseded_first() {
        let deleted = change(Some(in_state(State::Confirmed)), None);
        let order = order_writes(&[change(None, Some(spec("4Gi"))), deleted.clone()], at(0));
        assert_eq!((numbers(&order), &*order.deletions), (vec![1, 0], &[1][..]));
        let written = &order.specs[0].1;
        assert_eq!((written.state, written.memory().get()), (State::Superseded, 0));
        let alone =
            order_writes(&[deleted, change(Some(in_state(State::Planned)), Some(in_state(State::Superseded)))], at(0));
        assert_eq!((numbers(&alone), &*alone.deletions), (vec![1], &[0][..]), "nothing grows");
    }

    #[test]
    fn a_deletion_that_releases_nothing_is_only_deleted() {
        let changes =
            [change(None, Some(spec("4Gi"))), change(Some(in_state(State::Planned)), None), change(None, None)];
        let order = order_writes(&changes, at(0));
        assert_eq!((numbers(&order), &*order.deletions), (vec![0], &[1][..]));
    }

    #[test]
    fn what_is_as_wanted_is_not_written() {
        let same = change(Some(in_state(State::Confirmed)), Some(in_state(State::Confirmed)));
        assert_eq!(order_writes(&[same], at(0)), WriteOrder::default());
    }

    prop_compose! {
        fn specs()(gib in 0..4_u8, state in 0..6_usize, is_present in any::<bool>()) -> Option<Spec> {
            let words = ["planned", "pending", "guaranteed", "confirmed", "superseded", "expired"];
            let state = State::parse(words[state]).unwrap_or(State::Planned);
            is_present.then(|| Spec { state, ..spec(&format!("{gib}Gi")) })
        }
    }

    proptest! {
        #[test]
        fn at_no_moment_more_is_held_than_before_or_after(
            changes in prop::collection::vec((specs(), specs()), 0..6),
        ) {
            let changes: Vec<SpecChange> = changes.into_iter().map(|(before, after)| change(before, after)).collect();
            let sum = |specs: &[Option<Spec>]| -> i64 { specs.iter().map(|spec| held(spec.as_ref(), at(0)).memory.get()).sum() };
            let before: Vec<_> = changes.iter().map(|change| change.before.clone()).collect();
            let after: Vec<_> = changes.iter().map(|change| change.after.clone()).collect();
            let most = sum(&before).max(sum(&after));
            let order = order_writes(&changes, at(0));
            let mut stored = before;
            for (number, spec) in order.specs {
                stored[number] = Some(spec);
                prop_assert!(sum(&stored) <= most);
            }
            for number in order.deletions {
                stored[number] = None;
            }
            prop_assert_eq!(stored, after);
        }
    }
}
