//! Writes without an answer that the API server may execute after a read has shown that it had not.

use super::*;
use crate::testing::{doubtful, fill};

/// A writer over a store that repeats writes and holds `a` in version 5.
fn repeating(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scene {
    let mut scene = scene(script);
    scene.writer.store = fill(Store::repeating(&[]), &ClusterName::home(), [scene.seen.clone()]);
    scene
}

/// These answers in turn, by the method of the request.
fn in_turn(answers: impl IntoIterator<Item = (&'static str, Reply)>) -> impl Fn(&Request) -> Reply {
    let answers = Mutex::new(answers.into_iter().collect::<Vec<_>>());
    move |request| {
        let mut answers = answers.lock();
        let next = answers.iter().position(|(method, _)| *method == request.method);
        answers.remove(next.unwrap_or_else(|| panic!("no answer to {request:?}"))).1
    }
}

fn absent() -> (&'static str, Reply) {
    ("GET", Reply::not_found("b"))
}

impl Scene {
    async fn create_unanswered(&self) -> ObjectKey {
        let b = ObjectKey::new(ClusterName::home(), "b");
        let error = self.writer.create(&b.cluster, &thing("b", "", 0)).await.unwrap_err();
        assert!(matches!(error, WriteError::Unknown { .. }), "{error}");
        b
    }

    fn methods(&self) -> Vec<String> {
        self.sent.lock().iter().map(|request| request.method.clone()).collect()
    }
}

#[tokio::test]
async fn a_create_is_sent_again_when_a_read_finds_nothing() {
    let created = object(&thing("b", "uid-b", 8));
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), ("POST", created)]));
    let b = scene.create_unanswered().await;
    scene.writer.settle(&b).await.unwrap();
    assert_eq!(scene.methods(), ["POST", "GET", "POST"]);
    assert_eq!(scene.request(0).body, scene.request(2).body);
    assert!(scene.writer.store().get(&b).is_some() && !scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn a_create_that_takes_effect_before_it_is_sent_again_is_read() {
    let exists = Reply::error(409, "AlreadyExists", "things.test.berth \"b\" already exists");
    let found = object(&thing("b", "uid-b", 8));
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), ("POST", exists), ("GET", found)]));
    let b = scene.create_unanswered().await;
    scene.writer.settle(&b).await.unwrap();
    assert!(scene.writer.store().get(&b).is_some() && !scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn a_create_that_has_taken_effect_is_not_sent_again() {
    let scene = repeating(in_turn([("POST", Reply::Cut), ("GET", object(&thing("b", "uid-b", 8)))]));
    let b = scene.create_unanswered().await;
    scene.writer.settle(&b).await.unwrap();
    assert_eq!(scene.methods(), ["POST", "GET"]);
    assert!(!scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn a_refused_repetition_says_nothing_about_the_first_write() {
    let refused = Reply::error(403, "Forbidden", "exceeded quota");
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), ("POST", refused)]));
    let b = scene.create_unanswered().await;
    let error = scene.writer.settle(&b).await.unwrap_err();
    assert!(matches!(error, WriteError::Unavailable { .. }), "{error}");
    assert!(scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn an_object_that_has_come_and_gone_stays_in_doubt() {
    let exists = Reply::error(409, "AlreadyExists", "things.test.berth \"b\" already exists");
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), ("POST", exists), absent(), absent()]));
    let b = scene.create_unanswered().await;
    let error = scene.writer.settle(&b).await.unwrap_err();
    assert!(error.to_string().contains("an earlier write may still take effect"), "{error}");
    assert!(scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn a_patch_of_one_version_is_sent_again_while_the_object_has_it() {
    let patches = [("PATCH", Reply::Cut), ("PATCH", object(&moved()))];
    let reads = [("GET", object(&thing("a", "uid-a", 5))), ("GET", object(&moved()))];
    let scene = repeating(in_turn(patches.into_iter().chain(reads)));
    scene.move_to("h2", Guard::Version).await.unwrap_err();
    scene.writer.settle(&key()).await.unwrap();
    assert_eq!(scene.methods(), ["PATCH", "GET", "PATCH", "GET"]);
    assert_eq!(scene.request(0).body, scene.request(2).body);
    assert_eq!((scene.in_doubt(), scene.shown().as_deref()), (false, Some(&moved())));
}

/// A patch with this guard is not answered, and a read finds the object in this version.
async fn settle_without_sending_again(guard: Guard, found: u64) {
    let scene = repeating(in_turn([("PATCH", Reply::Cut), ("GET", object(&thing("a", "uid-a", found)))]));
    scene.move_to("h2", guard).await.unwrap_err();
    scene.writer.settle(&key()).await.unwrap();
    assert_eq!((scene.methods().len(), scene.in_doubt()), (2, false));
}

#[tokio::test]
async fn a_patch_that_another_write_has_overtaken_is_not_sent_again() {
    settle_without_sending_again(Guard::Version, 7).await;
}

#[tokio::test]
async fn a_patch_of_any_version_is_not_sent_again() {
    settle_without_sending_again(Guard::None, 5).await;
}

#[tokio::test(start_paused = true)]
async fn reads_and_lists_end_a_doubt_when_the_write_can_take_effect_no_more() {
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), absent(), absent(), absent()]));
    let b = scene.create_unanswered().await;
    let read = async || {
        let api = scene.writer.api(&call::<Thing>(Operation::Get, &b)).unwrap();
        settle(scene.writer.store(), &api, &b).await.unwrap();
        scene.writer.store().in_doubt(&b)
    };
    assert!(read().await);
    scene.writer.store().init(&b.cluster);
    scene.writer.store().init_done(&b.cluster);
    assert!(read().await, "the list lacks it");
    sleep(Duration::from_secs(119)).await;
    assert!(read().await);
    sleep(Duration::from_secs(1)).await;
    assert!(!read().await);
}

#[tokio::test]
async fn another_doubt_does_not_forget_the_unanswered_write() {
    let created = object(&thing("b", "uid-b", 8));
    let scene = repeating(in_turn([("POST", Reply::Cut), absent(), ("POST", created)]));
    let b = scene.create_unanswered().await;
    doubtful(scene.writer.store(), &b);
    scene.writer.settle(&b).await.unwrap();
    assert_eq!(scene.methods(), ["POST", "GET", "POST"]);
}

#[tokio::test]
async fn a_write_of_an_earlier_term_is_not_sent_again() {
    let scene = repeating(in_turn([("POST", Reply::Cut), absent()]));
    let b = scene.create_unanswered().await;
    scene.writer.store().relist();
    scene.writer.settle(&b).await.unwrap();
    assert_eq!(scene.methods(), ["POST", "GET"]);
    assert!(!scene.writer.store().in_doubt(&b));
}
