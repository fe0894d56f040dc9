//! What a view concludes from the answers of a run.

use std::time::Duration;

use berth_core::commitment::{ResourceType, State};
use berth_core::liquid::conversion::{LimesCommitment, Start};
use berth_core::testing::at;
use berth_core::{GroupName, Quantity};

use super::*;

/// A view of skipped commitments.
pub(crate) fn view(time: Timestamp, is_complete: bool, uuids: &[CommitmentUuid]) -> LimesView {
    let began = Began { instant: Instant::now(), time };
    let entry = |uuid: &CommitmentUuid| {
        (uuid.clone(), Entry { listing: Listing::Skipped(SkipReason::NonCompute), began, since: time })
    };
    let incomplete = (!is_complete).then_some(IncompleteView::NoProject);
    LimesView { began, entries: uuids.iter().map(entry).collect(), incomplete }
}

/// An entry for a confirmed commitment of memory.
pub(crate) fn entry(change: impl FnOnce(&mut LimesCommitment)) -> Entry {
    let mut commitment = LimesCommitment {
        uuid: "uuid-1".into(),
        group: "2101".into(),
        resource: ResourceType::Memory,
        amount: Quantity::parse("32Gi").unwrap(),
        zone: "az-1".into(),
        project: "p-1".into(),
        domain: "d-1".into(),
        status: State::Confirmed,
        start: Start::listed(Some(at(-100)), at(-200)),
        expires_at: None,
    };
    change(&mut commitment);
    let listing = Listing::Usable(Arc::new(UsableCommitment { commitment, confirmed_at: Some(at(-100)) }));
    Entry { listing, began: Began { instant: Instant::now(), time: at(0) }, since: at(0) }
}

type Answer<'a> = (&'a str, Result<Vec<&'a str>, FetchFailure>);

fn fetched(answers: Vec<Answer<'_>>) -> FetchedProjects {
    let began = Began { instant: Instant::now(), time: at(0) };
    let listed = |uuid: &str| {
        FetchedCommitment::Unusable(Box::new(ListedCommitment {
            uuid: uuid.to_owned(),
            service_type: "compute".to_owned(),
            status: "confirmed".to_owned(),
            resource_name: "hw_version_2101_ram".to_owned(),
            ..ListedCommitment::default()
        }))
    };
    let project = |(id, answer): Answer<'_>| FetchedProject {
        project: Project { id: id.to_owned(), domain_id: "d-1".to_owned() },
        began,
        listed: answer.map(|uuids| uuids.into_iter().map(listed).collect()),
    };
    FetchedProjects { began, projects: answers.into_iter().map(project).collect() }
}

fn local(commitments: &[(&str, &str)]) -> LocalCommitments {
    let one = |(uuid, project): &(&str, &str)| LocalCommitment {
        uuid: (*uuid).into(),
        project: (*project).into(),
        is_expected: true,
    };
    LocalCommitments { commitments: commitments.iter().map(one).collect(), partial: None }
}

fn assembled(answers: Vec<Answer<'_>>, local: &LocalCommitments) -> Assembled {
    let (services, groups) = (["compute".to_owned()].into(), berth_core::flavor::FlavorGroups::default());
    let filter = Filter { services: &services, groups: &groups, ram_unit: &|_: &GroupName| None };
    assemble(fetched(answers), &filter, local, None)
}

fn incomplete(answers: Vec<Answer<'_>>, local: &LocalCommitments) -> Option<String> {
    assembled(answers, local).view.require_complete().err().map(ToString::to_string)
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("uuid-{number}")).collect()
}

#[test]
fn a_view_is_complete_if_all_projects_have_answered_and_little_is_missing() {
    let ours = local(&[("uuid-1", "p-1"), ("uuid-2", "p-2")]);
    let complete = vec![("p-1", Ok(vec!["uuid-1"])), ("p-2", Ok(vec!["uuid-2", "uuid-3"]))];
    assert_eq!(incomplete(complete, &ours), None);
}

#[test]
fn an_incomplete_view_says_why() {
    let ours = local(&[("uuid-1", "p-1")]);
    for (answers, text) in [
        (vec![], "Keystone lists no project"),
        (
            vec![("p-1", Ok(vec![])), ("p-2", Ok(vec![]))],
            "Limes lists no commitment at all; check that the user of the secret may see all projects",
        ),
        (
            vec![
                ("p-1", Ok(vec!["uuid-1"])),
                ("p-2", Err(FetchFailure::Unknown)),
                ("p-3", Err(FetchFailure::NotAsked)),
            ],
            "the commitments of 2 projects could not be read, the first is p-2: Limes does not know the project yet",
        ),
        (vec![("p-1", Ok(vec!["uuid-9"]))], "1 of 1 commitments are not listed, which is more than one in ten"),
    ] {
        let found = incomplete(answers, &ours).unwrap();
        assert!(found.starts_with(text), "{found}");
    }
    let partial = LocalCommitments { partial: Some("cluster b".to_owned()), ..ours };
    let found = incomplete(vec![("p-1", Ok(vec!["uuid-1"]))], &partial);
    assert_eq!(found.as_deref(), Some("not all commitments of ours are known: cluster b"));
}

#[test]
fn one_missing_commitment_in_ten_is_the_most() {
    let uuids = many(10);
    let ours: Vec<_> = uuids.iter().map(|uuid| (uuid.as_str(), "p-1")).collect();
    let listed = |count: usize| vec![("p-1", Ok(uuids.iter().take(count).map(String::as_str).collect()))];
    assert_eq!(assembled(listed(9), &local(&ours)).unmatched, 1);
    assert_eq!(incomplete(listed(9), &local(&ours)), None);
    assert!(incomplete(listed(8), &local(&ours)).unwrap().starts_with("2 of 10 commitments are not listed"));
}

#[test]
fn commitments_of_a_project_that_could_not_be_read_are_not_missing() {
    let ours = local(&[("uuid-1", "p-1"), ("uuid-2", "p-2")]);
    let found = assembled(vec![("p-1", Ok(vec!["uuid-9"])), ("p-2", Err(FetchFailure::Unknown))], &ours);
    assert_eq!(found.unmatched, 1);
}

#[test]
fn new_and_ended_commitments_are_not_missing() {
    let mut ours = local(&[("uuid-1", "p-1"), ("uuid-2", "p-1")]);
    ours.commitments[1].is_expected = false;
    assert_eq!(assembled(vec![("p-1", Ok(vec!["uuid-1"]))], &ours).unmatched, 0);
}

#[test]
fn a_commitment_that_two_projects_have_is_skipped_and_counts_as_listed() {
    let found = assembled(vec![("p-1", Ok(vec!["uuid-1"])), ("p-2", Ok(vec!["uuid-1"]))], &local(&[("uuid-1", "p-1")]));
    let entry = found.view.get(&"uuid-1".into()).unwrap();
    assert_eq!(entry.listing, Listing::Skipped(SkipReason::Duplicate));
    assert_eq!((found.skipped[&SkipReason::Duplicate], found.unmatched), (1, 0));
}

#[test]
fn skipped_commitments_count_as_listed_unless_they_have_no_uuid() {
    let found = assembled(vec![("p-1", Ok(vec!["uuid-1", ""]))], &local(&[("uuid-1", "p-1")]));
    assert_eq!((found.unmatched, found.usable), (0, 0));
    assert_eq!(found.view.uuids().count(), 1);
    assert_eq!(found.skipped[&SkipReason::UnknownFlavorGroup], 2, "the group is checked before the UUID");
}

#[tokio::test(start_paused = true)]
async fn people_see_since_when_it_is_listed_like_this() {
    let (services, groups) = (["compute".to_owned()].into(), berth_core::flavor::FlavorGroups::default());
    let filter = Filter { services: &services, groups: &groups, ram_unit: &|_: &GroupName| None };
    let first = assembled(vec![("p-1", Ok(vec!["uuid-1"]))], &LocalCommitments::default()).view;
    tokio::time::advance(Duration::from_secs(60)).await;
    let mut later = fetched(vec![("p-1", Ok(vec!["uuid-1", "uuid-2"]))]);
    later.projects[0].began.time = at(60);
    let second = assemble(later, &filter, &LocalCommitments::default(), Some(&first)).view;
    let since = |uuid: &str| second.get(&uuid.into()).unwrap().since;
    assert_eq!([since("uuid-1"), since("uuid-2")], [at(0), at(60)]);
}

fn usable(entry: &Entry) -> &Arc<UsableCommitment> {
    match &entry.listing {
        Listing::Usable(usable) => usable,
        Listing::Skipped(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn what_the_view_before_has_and_names_that_commitments_share_are_kept_once() {
    let one = |uuid: &str, amount: &str| {
        let of = entry(|one| (one.uuid, one.amount) = (uuid.into(), Quantity::parse(amount).unwrap()));
        UsableCommitment::clone(usable(&of))
    };
    let (services, groups) = (std::collections::BTreeSet::default(), berth_core::flavor::FlavorGroups::default());
    let filter = Filter { services: &services, groups: &groups, ram_unit: &|_: &GroupName| None };
    let project = Project { id: "p-1".to_owned(), domain_id: "d-1".to_owned() };
    let began = entry(|_| ()).began;
    let collect = |former: Option<&LimesView>, amount: &str| {
        let (mut sharing, mut collected) = (Sharing { former, previous: None }, Collected::default());
        for (uuid, amount) in [("uuid-1", "32Gi"), ("uuid-2", amount)] {
            let fetched = FetchedCommitment::Usable(sharing.share(one(uuid, amount)));
            collected.add(fetched, &filter, &project, began);
        }
        LimesView { began, entries: collected.entries(former), incomplete: None }
    };
    let first = collect(None, "16Gi");
    let second = collect(Some(&first), "48Gi");
    let of = |view: &LimesView, uuid: &str| usable(view.get(&uuid.into()).unwrap()).clone();
    assert!(Arc::ptr_eq(&of(&first, "uuid-1"), &of(&second, "uuid-1")), "it is listed as before");
    assert_eq!(of(&second, "uuid-2").commitment.amount, Quantity::parse("48Gi").unwrap());
    let name = |view: &LimesView, uuid: &str| of(view, uuid).commitment.project.as_str().as_ptr();
    assert_eq!(name(&first, "uuid-1"), name(&first, "uuid-2"));
}
