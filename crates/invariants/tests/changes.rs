//! Changes of commitments and the published info: what is wrong at the write that ends a change or publishes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::commitment_change::{ChangePhase, CommitmentBefore};
use berth_crds::conditions::{self, Status};
use berth_crds::{CommitmentChange, CommittedResource, Reservation, Time, labels, testing};
use berth_invariants::{
    ExternalChanges, Invariant, Key, PublishedInfo, Snapshot, Touched, Violation, always, always_touched,
};
use jiff::Timestamp;

use world::{UUID, condition, host, sound};

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}

/// The sound world while its commitment is being changed.
struct Scene {
    snapshot: Snapshot,
    outside: ExternalChanges,
    change: CommitmentChange,
}

impl Scene {
    /// The commitment grows from two slots to four.
    fn begin() -> Self {
        let mut change = testing::commitment_change("one", &[UUID]);
        let former = sound();
        let commitment = &former.commitments[0].1;
        let item = &mut change.spec.items[0];
        item.before = Some(CommitmentBefore {
            spec: commitment.spec.clone(),
            accepted_spec: Some(commitment.spec.clone()),
            generation: 1,
            uid: UUID.to_owned(),
            ..CommitmentBefore::default()
        });
        item.after.as_mut().unwrap().amount = "1920Gi".into();
        let slot = item.slots.pop().unwrap();
        item.slots = former
            .slots
            .iter()
            .map(|(_, one)| {
                let (name, target_host) = (one.metadata.name.clone().unwrap(), one.spec.target_host.clone());
                berth_crds::commitment_change::SlotBefore { name, target_host, ..slot.clone() }
            })
            .collect();
        let mut scene = Self { snapshot: Snapshot::default(), outside: ExternalChanges::default(), change };
        scene.snapshot = former.snapshot();
        scene.outside.learn(&scene.snapshot, &scene.snapshot.everything());
        assert_eq!(scene.put_change(ChangePhase::Applying), []);
        scene
    }

    fn written(&mut self, touched: &Touched) -> Vec<Violation> {
        self.outside.learn(&self.snapshot, touched);
        always_touched(&self.snapshot, &self.outside, touched)
    }

    fn put_change(&mut self, phase: ChangePhase) -> Vec<Violation> {
        self.change.status.get_or_insert_default().phase = phase;
        let touched = self.snapshot.change(&key("change-one"), Some(&Arc::new(self.change.clone())));
        self.written(&touched)
    }

    fn finish(&mut self, phase: ChangePhase) -> Vec<Violation> {
        let finished = conditions::condition("Finished", Status::True, "Any", "", None, Timestamp::UNIX_EPOCH);
        self.change.status.get_or_insert_default().conditions = vec![finished];
        self.put_change(phase)
    }

    fn commitment(&mut self, edit: impl FnOnce(&mut CommittedResource)) -> Touched {
        let mut object = sound().commitments[0].1.clone();
        edit(&mut object);
        self.snapshot.commitment(&key("commitment-well-kept"), Some(&Arc::new(object)))
    }

    fn first_slot(&mut self, edit: impl FnOnce(&mut Reservation)) -> Touched {
        let mut slot = sound().slots[0].1.clone();
        edit(&mut slot);
        self.snapshot.reservation(&key("commitment-well-kept-0"), Some(&Arc::new(slot)))
    }
}

fn found(violations: &[Violation]) -> Vec<(Invariant, &str)> {
    violations.iter().map(|violation| (violation.invariant, violation.text.as_str())).collect()
}

const NOT_APPLIED: &str = "commitment well-kept does not have the spec that was accepted";

#[test]
fn one_change_of_a_zone_is_under_way() {
    let mut scene = Scene::begin();
    let mut other = testing::commitment_change("two", &["another"]);
    let mut put = |scene: &mut Scene, edit: &dyn Fn(&mut CommitmentChange)| {
        edit(&mut other);
        let touched = scene.snapshot.change(&key("change-two"), Some(&Arc::new(other.clone())));
        let here = scene.written(&touched);
        assert_eq!(always(&scene.snapshot, &scene.outside), here);
        here
    };
    for phase in [ChangePhase::Pending, ChangePhase::Applying, ChangePhase::RollingBack] {
        let violations = put(&mut scene, &|other| other.status.get_or_insert_default().phase = phase);
        let text = "is under way in zone eu-test-1a, and so is home/change-one";
        assert_eq!(found(&violations), [(Invariant::ZoneChangedTwice, text)], "{phase}");
        assert_eq!(violations[0].object, key("change-two"));
    }
    for phase in [ChangePhase::Accepted, ChangePhase::Failed] {
        assert_eq!(put(&mut scene, &|other| other.status.get_or_insert_default().phase = phase), [], "{phase}");
    }
    let elsewhere = |other: &mut CommitmentChange| {
        other.status = None;
        "elsewhere".clone_into(&mut other.spec.availability_zone);
    };
    assert_eq!(put(&mut scene, &elsewhere), []);
}

#[test]
fn a_second_change_that_a_person_has_made_is_excused_while_it_lasts() {
    let mut scene = Scene::begin();
    let other = Arc::new(testing::commitment_change("two", &["another"]));
    let touched = scene.snapshot.change(&key("change-two"), Some(&other));
    scene.outside.excuse(&scene.snapshot, &touched);
    assert_eq!(always(&scene.snapshot, &scene.outside), []);
    let touched = scene.snapshot.change(&key("change-two"), None);
    assert_eq!(scene.written(&touched), []);
    let touched = scene.snapshot.change(&key("change-two"), Some(&other));
    assert_eq!(scene.written(&touched).len(), 1);
}

#[test]
fn an_accepted_change_is_applied_when_it_ends() {
    let mut scene = Scene::begin();
    assert_eq!(found(&scene.finish(ChangePhase::Accepted)), [(Invariant::ChangeHalfDone, NOT_APPLIED)]);
    assert_eq!(scene.put_change(ChangePhase::Accepted), [], "once, at the write that ends it");
    let mut scene = Scene::begin();
    let after = scene.change.spec.items[0].after.clone().unwrap();
    scene.commitment(|object| object.spec = after.clone());
    assert_eq!(scene.finish(ChangePhase::Accepted), []);
    scene.commitment(|object| object.spec.amount = "480Gi".into());
    assert_eq!(scene.put_change(ChangePhase::Accepted), [], "a later change is legal");
}

#[test]
fn a_deletion_is_done_when_its_change_ends() {
    let mut scene = Scene::begin();
    scene.change.spec.items[0].after = None;
    let left = [(Invariant::ChangeHalfDone, "home/commitment-well-kept is not deleted")];
    assert_eq!(found(&scene.finish(ChangePhase::Accepted)), left);
    let mut scene = Scene::begin();
    scene.change.spec.items[0].after = None;
    scene.commitment(|object| object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH)));
    assert_eq!(scene.finish(ChangePhase::Accepted), [], "its slots may still be there");
}

#[test]
fn a_change_that_was_undone_has_left_nothing() {
    let mut scene = Scene::begin();
    assert_eq!(scene.finish(ChangePhase::RolledBack), []);
    let mut scene = Scene::begin();
    scene.commitment(|object| object.spec.amount = "1920Gi".into());
    let text = "commitment well-kept does not have its former spec";
    assert_eq!(found(&scene.finish(ChangePhase::RolledBack)), [(Invariant::ChangeHalfDone, text)]);
    let mut scene = Scene::begin();
    scene.commitment(|object| {
        object.status.as_mut().unwrap().accepted_spec.as_mut().unwrap().amount = "1920Gi".into();
    });
    let text = "home/commitment-well-kept does not have its former accepted spec";
    assert_eq!(found(&scene.finish(ChangePhase::RolledBack)), [(Invariant::ChangeHalfDone, text)]);
    let mut scene = Scene::begin();
    scene.change.spec.items[0].before.as_mut().unwrap().accepted_spec = None;
    assert_eq!(scene.finish(ChangePhase::RolledBack), [], "it was accepted meanwhile");
}

#[test]
fn what_a_change_has_created_is_gone_when_it_was_undone() {
    let mut scene = Scene::begin();
    scene.change.spec.items[0].before = None;
    scene.change.spec.items[0].slots.clear();
    let creator = (labels::CREATOR_REQUEST_ID.to_owned(), scene.change.spec.request_id.clone());
    scene.commitment(|object| object.metadata.annotations = Some([creator].into()));
    let text = "home/commitment-well-kept is still there";
    scene.outside = ExternalChanges::default();
    assert_eq!(found(&scene.finish(ChangePhase::RolledBack)), [(Invariant::ChangeHalfDone, text)]);
}

#[test]
fn a_change_does_not_end_in_between() {
    let mut scene = Scene::begin();
    let text = "it is finished in the phase Applying";
    assert_eq!(found(&scene.finish(ChangePhase::Applying)), [(Invariant::ChangeHalfDone, text)]);
}

#[test]
fn a_change_that_was_undone_has_taken_no_capacity() {
    let lost = "commitment well-kept had 983040 MiB of memory on hosts, and has 491520 MiB of memory";
    let mut scene = Scene::begin();
    scene.first_slot(|slot| slot.spec.target_host = None);
    assert_eq!(found(&scene.finish(ChangePhase::RolledBack)), [(Invariant::CapacityLost, lost)]);
    let mut scene = Scene::begin();
    scene.snapshot.reservation(&key("commitment-well-kept-0"), None);
    assert_eq!(found(&scene.finish(ChangePhase::RolledBack)), [(Invariant::CapacityLost, lost)]);
    let mut scene = Scene::begin();
    scene.first_slot(|slot| slot.spec.target_host = Some("node2".to_owned()));
    assert_eq!(scene.finish(ChangePhase::RolledBack), [], "another host is as good");
    let mut scene = Scene::begin();
    scene.first_slot(|slot| slot.spec.target_host = None);
    scene.commitment(|object| {
        object.status.as_mut().unwrap().conditions = vec![condition(Status::False, "expired", "")];
        object.metadata.generation = Some(1);
    });
    assert_eq!(scene.finish(ChangePhase::RolledBack), [], "it has ended meanwhile");
}

#[test]
fn what_others_have_taken_is_not_lost_by_the_change() {
    for there in [true, false] {
        let mut scene = Scene::begin();
        let smaller = Arc::new(host("node1", 1));
        let touched = scene.snapshot.hypervisor(&key("node1"), Some(&smaller).filter(|_| there));
        scene.written(&touched);
        scene.first_slot(|slot| slot.spec.target_host = None);
        assert_eq!(scene.finish(ChangePhase::RolledBack), [], "the host has shrunk or is gone");
    }
    let mut scene = Scene::begin();
    let touched = scene.first_slot(|slot| slot.spec.target_host = None);
    scene.outside.excuse(&scene.snapshot, &touched);
    assert_eq!(scene.finish(ChangePhase::RolledBack), [], "a person has taken it from its host");
}

#[test]
fn a_commitment_that_others_edit_meanwhile_is_theirs() {
    for phase in [ChangePhase::RolledBack, ChangePhase::Accepted] {
        let mut scene = Scene::begin();
        let touched = scene.commitment(|object| object.spec.amount = "480Gi".into());
        scene.outside.excuse(&scene.snapshot, &touched);
        assert_eq!(scene.finish(phase), [], "{phase}");
    }
}

#[test]
fn a_change_that_was_admitted_with_outdated_facts_restores_nothing() {
    let mut scene = Scene::begin();
    let touched = scene.commitment(|object| {
        object.spec.amount = "480Gi".into();
        object.metadata.generation = Some(2);
    });
    scene.written(&touched);
    let gone = scene.snapshot.change(&key("change-one"), None);
    scene.written(&gone);
    assert_eq!(scene.put_change(ChangePhase::Pending), []);
    assert_eq!(scene.finish(ChangePhase::RolledBack), [], "the edit came before the change");
}

#[test]
fn the_version_of_the_published_info_grows_with_its_content() {
    let (mut snapshot, outside) = (Snapshot::default(), ExternalChanges::default());
    let mut publish = |version, content: &str| {
        let info = PublishedInfo { version, content: content.to_owned() };
        let touched = snapshot.published(&key("berth-liquid-info"), Some(info));
        let all = always_touched(&snapshot, &outside, &touched);
        all.into_iter().map(|one| (one.invariant, one.text)).collect::<Vec<_>>()
    };
    assert_eq!(publish(5, "a"), []);
    assert_eq!(publish(5, "a"), []);
    assert_eq!(publish(7, "b"), []);
    let back = "its version went back from 7 to 6".to_owned();
    assert_eq!(publish(6, "c"), [(Invariant::InfoVersion, back)]);
    let same = "version 6 has another content than before".to_owned();
    assert_eq!(publish(6, "d"), [(Invariant::InfoVersion, same)]);
}

#[test]
fn info_that_was_deleted_begins_anew() {
    let (mut snapshot, outside) = (Snapshot::default(), ExternalChanges::default());
    for (version, there) in [(5, true), (5, false), (3, true)] {
        let info = PublishedInfo { version, content: String::new() };
        let touched = snapshot.published(&key("berth-liquid-info"), Some(info).filter(|_| there));
        assert_eq!(always_touched(&snapshot, &outside, &touched), []);
    }
}
