//! Asks an API server which of its objects its rules would refuse: many objects, a busy server, one that forgets its
//! history, and missing rights.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::sync::Arc;

use berth_cluster::{refuses, try_stored};
use berth_crds::{CommittedResource, Reservation, labels, testing};
use berth_telemetry::clock::TokioClock;
use berth_testkit::{Fault, Rule, Server, Verb};
use serde_json::{Value, json};

const MANY: u64 = 1200;

fn server() -> Server {
    Server::new(Arc::new(TokioClock::new("2026-03-01T08:00:00Z".parse().unwrap())))
}

/// A slot without memory, which our rules refuse, stored before there were rules.
fn wrong(number: u64) -> Value {
    let mut slot = serde_json::to_value(testing::slot("uuid-1", number)).unwrap();
    slot["spec"]["resources"]["memory"] = json!("0");
    slot["metadata"]["finalizers"] = json!([labels::RELEASE_SLOTS]);
    slot["status"] = json!({ "host": "h" });
    slot
}

fn crowd() -> Server {
    let server = server();
    (0..MANY).for_each(|number| drop(server.create(&testing::slot("uuid-1", number)).unwrap()));
    for number in [MANY, MANY + 1] {
        server.create_raw(wrong(number)).unwrap();
    }
    server
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_tried_page_by_page_and_nothing_is_written() {
    let server = crowd();
    let (version, mut reported) = (server.version(), Vec::new());
    let tried =
        try_stored::<Reservation>(&server.cluster(), &mut |_, _| {}, &mut |count, left| reported.push((count, left)))
            .await
            .unwrap();
    assert_eq!((tried.objects, tried.untried.len()), (1202, 0));
    let refused: Vec<_> = tried.refused.iter().map(|one| (one.name.as_str(), one.faults[0].field.as_str())).collect();
    let field = "spec.resources";
    assert_eq!(refused, [("commitment-uuid-1-1200", field), ("commitment-uuid-1-1201", field)]);
    assert!(tried.refused[0].faults[0].expected.contains("must be more than 0"), "{tried:?}");
    assert_eq!(reported, [(500, Some(702)), (1000, Some(202)), (1202, None)]);
    assert_eq!(server.version(), version);
    let lists = server.calls().iter().filter(|call| call.contains(" list ")).count();
    assert_eq!(lists, 3, "one page at a time");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_is_asked_again_and_what_it_never_answers_is_named() {
    let server = crowd();
    server.rule(Rule::new(Fault::Unavailable).verb(Verb::Create).per_mille(200));
    let tried = try_stored::<Reservation>(&server.cluster(), &mut |_, _| {}, &mut |_, _| {}).await.unwrap();
    let (refused, untried) = (tried.refused.len(), tried.untried.len());
    assert!(refused > 0 && untried < 20, "{refused} refused, {untried} untried of 1202: 1 in 625 fails four times");
    server.heal();
    server.rule(Rule::new(Fault::Unavailable).verb(Verb::Create).always());
    let tried = try_stored::<Reservation>(&server.cluster(), &mut |_, _| {}, &mut |_, _| {}).await.unwrap();
    assert_eq!((tried.refused.len(), tried.untried.len()), (0, 1202));
    assert!(tried.untried[0].why.starts_with("the API server answers 503"), "{:?}", tried.untried[0]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_forgotten_in_the_middle_begins_anew() {
    let server = crowd();
    let forgetful = server.clone();
    let mut pages = 0;
    let mut forget = |_, _| {
        pages += 1;
        if pages == 1 {
            forgetful.create(&testing::slot("uuid-2", 0)).unwrap();
            forgetful.compact();
        }
    };
    let tried = try_stored::<Reservation>(&server.cluster(), &mut |_, _| {}, &mut forget).await.unwrap();
    assert_eq!((tried.objects, tried.refused.len(), pages), (1203, 2, 4));
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_ends_the_kind_at_its_first_object() {
    let server = crowd();
    server.rule(Rule::new(Fault::Forbidden).verb(Verb::Create).always());
    let error = try_stored::<Reservation>(&server.cluster(), &mut |_, _| {}, &mut |_, _| {}).await.unwrap_err();
    assert!(error.why.contains("403"), "{error}");
    let creations = server.calls().iter().filter(|call| call.contains(" create ")).count();
    assert!(creations <= 16, "{creations} objects were tried");
}

#[tokio::test(start_paused = true)]
async fn rules_about_names_and_rules_that_are_missing_are_noticed() {
    let server = server();
    let mut commitment = testing::commitment("uuid-1", "480Gi");
    commitment.metadata.name = Some("of-somebodys-choice".to_owned());
    let mut stored = serde_json::to_value(&commitment).unwrap();
    stored["metadata"]["generation"] = Value::Null;
    server.create_raw(stored.clone()).unwrap();
    let tried = try_stored::<CommittedResource>(&server.cluster(), &mut |_, _| {}, &mut |_, _| {}).await.unwrap();
    let fault = &tried.refused[0].faults[0];
    assert_eq!((fault.field.as_str(), fault.found.as_str()), ("metadata.name", "\"of-somebodys-choice\""));
    stored["metadata"]["name"] = json!("of-another-choice");
    assert_eq!(refuses::<CommittedResource>(&server.cluster(), stored.clone()).await, Ok(true));
    stored["metadata"]["name"] = json!("commitment-uuid-1");
    assert_eq!(refuses::<CommittedResource>(&server.cluster(), stored).await, Ok(false));
}
