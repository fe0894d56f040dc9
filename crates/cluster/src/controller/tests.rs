//! The queue under tokio's paused clock.

use std::{collections::BTreeMap, sync::Mutex};

use tokio::time::timeout;

use super::*;
use crate::{Class, testing::metrics};

#[derive(Debug, thiserror::Error)]
#[error("look failed: {0}")]
struct Failed(Class);

impl Classified for Failed {
    fn class(&self) -> Class {
        self.0
    }
}

/// In either order the same promises are kept.
#[derive(Clone, Copy)]
enum Order {
    AsTheyCome,
    Picked,
}

macro_rules! in_either_order {
    ($($promise:ident),* $(,)?) => {
        mod as_they_come {
            $(#[tokio::test(start_paused = true)] async fn $promise() { super::$promise(super::Order::AsTheyCome).await })*
        }
        mod picked_order {
            $(#[tokio::test(start_paused = true)] async fn $promise() { super::$promise(super::Order::Picked).await })*
        }
    };
}

in_either_order!(
    events_do_not_cut_a_rest_short_and_a_success_ends_it,
    what_only_the_user_can_cure_is_looked_at_rarely_but_soon_after_an_event,
    a_conflict_is_looked_at_again_at_once,
    a_look_is_repeated_after_the_time_that_it_asks_for_and_an_event_brings_it_forward,
    a_wake_up_during_the_last_look_at_a_key_is_not_lost,
    equal_names_in_two_clusters_are_two_keys,
    never_two_looks_at_one_object_and_never_more_than_allowed,
    it_stops_within_five_seconds_even_if_a_look_hangs,
    it_stops_at_once_if_nothing_is_under_way_and_after_what_is,
    looks_are_counted_by_outcome_and_class,
);

type Log = Arc<Mutex<BTreeMap<String, Vec<u64>>>>;

/// A controller under test: when which key was looked at, in milliseconds since the start.
struct Scene {
    wakeups: Arc<Wakeups>,
    stop: CancellationToken,
    log: Log,
    registry: berth_telemetry::metrics::Metrics,
    task: tokio::task::JoinHandle<()>,
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("home".into(), name)
}

/// `look` is given the key and how often it has been looked at before.
fn scene<R>(
    order: Order,
    gone: &'static str,
    concurrency: u16,
    look: impl Fn(String, usize) -> R + Send + Sync + 'static,
) -> Scene
where
    R: Future<Output = Result<Next, Failed>> + Send + 'static,
{
    let (wakeups, stop, log, began) = (Wakeups::new(), CancellationToken::new(), Log::default(), Instant::now());
    let (registry, all) = metrics();
    let entries = log.clone();
    let options = ControllerOptions { concurrency, ..ControllerOptions::new("things") };
    let exists = move |key: &ObjectKey| &*key.name != gone;
    let look = move |key: ObjectKey| {
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap();
        let before = {
            let mut all = entries.lock().unwrap();
            let looks = all.entry(key.to_string()).or_default();
            looks.push(millis);
            looks.len() - 1
        };
        look(key.name.to_string(), before)
    };
    let (woken, stopped, counted) = (wakeups.clone(), stop.clone(), all.controllers);
    let pick = match order {
        Order::AsTheyCome => None,
        Order::Picked => Some(Box::new(|_: usize| 0_usize) as Pick),
    };
    let task = tokio::spawn(run(options, woken, exists, stopped, counted, look, pick));
    Scene { wakeups, stop, log, registry, task }
}

impl Scene {
    fn looks(&self, name: &str) -> Vec<u64> {
        self.log.lock().unwrap().get(&format!("home/{name}")).cloned().unwrap_or_default()
    }

    async fn wake_every_100_ms(&self, name: &str, times: u32) {
        for _ in 0..times {
            self.wakeups.wake(&key(name));
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Timers fire up to a millisecond late.
fn about(actual: &[u64], expected: &[u64]) -> bool {
    actual.len() == expected.len() && actual.iter().zip(expected).all(|(a, e)| a.abs_diff(*e) <= 10)
}

async fn events_do_not_cut_a_rest_short_and_a_success_ends_it(order: Order) {
    let scene =
        scene(
            order,
            "",
            16,
            |_, before| async move { if before < 4 { Err(Failed(Class::Later)) } else { Ok(Next::Done) } },
        );
    scene.wake_every_100_ms("a", 70).await;
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(600)).await;
    let looks = scene.looks("a");
    assert!(about(&looks[..5], &[0, 500, 1500, 3500, 7500]), "{looks:?}");
    assert_eq!(looks.len(), 5, "the wake-ups before the success are covered by it");
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.looks("a").len(), 6);
}

async fn what_only_the_user_can_cure_is_looked_at_rarely_but_soon_after_an_event(order: Order) {
    let scene = scene(order, "", 16, |_, _| async { Err(Failed(Class::User)) });
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(1000)).await;
    assert!(about(&scene.looks("a"), &[0, 900_000]), "{:?}", scene.looks("a"));
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(1)).await;
    assert!(about(&scene.looks("a"), &[0, 900_000, 1_000_000]), "{:?}", scene.looks("a"));
    scene.wake_every_100_ms("a", 100).await;
    assert!(scene.looks("a").len() <= 5, "{:?}", scene.looks("a"));
}

async fn a_conflict_is_looked_at_again_at_once(order: Order) {
    let scene =
        scene(
            order,
            "",
            16,
            |_, before| async move { if before < 2 { Err(Failed(Class::Soon)) } else { Ok(Next::Done) } },
        );
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(60)).await;
    assert!(about(&scene.looks("a"), &[0, 200, 600]), "{:?}", scene.looks("a"));
}

async fn a_look_is_repeated_after_the_time_that_it_asks_for_and_an_event_brings_it_forward(order: Order) {
    let scene = scene(order, "", 16, |_, _| async { Ok(Next::After(Duration::from_secs(300))) });
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(100)).await;
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(500)).await;
    assert!(about(&scene.looks("a"), &[0, 100_000, 400_000]), "{:?}", scene.looks("a"));
}

async fn a_wake_up_during_the_last_look_at_a_key_is_not_lost(order: Order) {
    let scene = scene(order, "gone", 16, |_, _| async {
        sleep(Duration::from_secs(1)).await;
        Ok(Next::Done)
    });
    scene.wakeups.wake(&key("gone"));
    sleep(Duration::from_millis(500)).await;
    scene.wakeups.wake(&key("gone"));
    sleep(Duration::from_secs(60)).await;
    assert!(about(&scene.looks("gone"), &[0, 1000]), "{:?}", scene.looks("gone"));
    scene.wakeups.wake(&key("gone"));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(scene.looks("gone").len(), 3, "a forgotten key can come back");
}

async fn equal_names_in_two_clusters_are_two_keys(order: Order) {
    let scene = scene(order, "", 16, |_, _| async { Ok(Next::Done) });
    scene.wakeups.wake(&key("a"));
    scene.wakeups.wake(&ObjectKey::new("away".into(), "a"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.log.lock().unwrap().keys().collect::<Vec<_>>(), ["away/a", "home/a"]);
}

async fn never_two_looks_at_one_object_and_never_more_than_allowed(order: Order) {
    let running = Arc::new(Mutex::new((BTreeMap::<String, u32>::new(), 0)));
    let seen = running.clone();
    let scene = scene(order, "", 3, move |name, _| {
        let running = running.clone();
        async move {
            {
                let mut now = running.lock().unwrap();
                let same = now.0.entry(name.clone()).or_default();
                *same += 1;
                assert_eq!(*same, 1);
                now.1 = now.0.values().sum::<u32>().max(now.1);
            }
            sleep(Duration::from_millis(70)).await;
            *running.lock().unwrap().0.get_mut(&name).unwrap() -= 1;
            Ok(Next::Done)
        }
    });
    for _ in 0..20 {
        for name in ["a", "b", "c", "d", "e"] {
            scene.wakeups.wake(&key(name));
        }
        sleep(Duration::from_millis(30)).await;
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(seen.lock().unwrap().1, 3);
    assert!(!scene.task.is_finished());
}

async fn it_stops_within_five_seconds_even_if_a_look_hangs(order: Order) {
    let scene = scene(order, "", 16, |_, _| async {
        sleep(Duration::from_secs(3600)).await;
        Ok(Next::Done)
    });
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    scene.stop.cancel();
    scene.task.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

async fn it_stops_at_once_if_nothing_is_under_way_and_after_what_is(order: Order) {
    for (look, longest) in [(0, 1), (2, 3)] {
        let scene = scene(order, "", 16, move |_, _| async move {
            sleep(Duration::from_secs(look)).await;
            Ok(Next::After(Duration::from_secs(60)))
        });
        scene.wakeups.wake(&key("a"));
        sleep(Duration::from_millis(500)).await;
        scene.stop.cancel();
        timeout(Duration::from_secs(longest), scene.task).await.unwrap().unwrap();
    }
}

async fn looks_are_counted_by_outcome_and_class(order: Order) {
    let scene = scene(order, "bad", 16, |name, _| async move {
        match name.as_str() {
            "bad" => Err(Failed(Class::User)),
            "again" => Ok(Next::After(Duration::from_secs(3600))),
            _ => Ok(Next::Done),
        }
    });
    for name in ["good", "bad", "again"] {
        scene.wakeups.wake(&key(name));
    }
    sleep(Duration::from_secs(1)).await;
    let text = scene.registry.render();
    for line in [
        r#"berth_controller_runs_total{controller="things",outcome="done"} 1"#,
        r#"berth_controller_runs_total{controller="things",outcome="again"} 1"#,
        r#"berth_controller_runs_total{controller="things",outcome="failed"} 1"#,
        r#"berth_controller_failures_total{class="user",controller="things"} 1"#,
        r#"berth_controller_backing_off_objects{controller="things"} 1"#,
        r#"berth_controller_run_duration_seconds_count{controller="things"} 3"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Looks at the keys, one at a time; `again` is woken once more during the first look. Gives them in the order of looks.
async fn order_of(woken: &[&str], again: &'static str, pick: Option<Pick>) -> Vec<String> {
    let (wakeups, stop, all) = (Wakeups::new(), CancellationToken::new(), metrics().1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let options = ControllerOptions { concurrency: 1, ..ControllerOptions::new("things") };
    let (seen, queue) = (order.clone(), wakeups.clone());
    let look = move |key: ObjectKey| {
        if seen.lock().unwrap().is_empty() && !again.is_empty() {
            queue.wake(&ObjectKey::new("home".into(), again));
        }
        seen.lock().unwrap().push(key.name.to_string());
        async {
            sleep(Duration::from_millis(10)).await;
            Ok::<_, Failed>(Next::Done)
        }
    };
    let waking = async {
        for name in woken {
            wakeups.wake(&key(name));
            sleep(Duration::from_millis(1)).await;
        }
    };
    let task = run(options, wakeups.clone(), |_| true, stop.clone(), all.controllers, look, pick);
    timeout(Duration::from_secs(1), async { tokio::join!(waking, task) }).await.unwrap_err();
    let order = order.lock().unwrap();
    order.clone()
}

#[tokio::test(start_paused = true)]
async fn whoever_picks_decides_the_order() {
    for (place, expected) in [(0, ["x", "a", "b", "c"]), (1, ["x", "b", "c", "a"]), (2, ["x", "c", "a", "b"])] {
        assert_eq!(order_of(&["x", "c", "b", "a"], "", Some(Box::new(move |_| place))).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn first_come_first_served() {
    assert_eq!(order_of(&["x", "c", "a", "b", "c"], "", None).await, ["x", "c", "a", "b"]);
    let again = order_of(&["x", "c", "a"], "x", None).await;
    assert_eq!(again, ["x", "c", "a", "x"], "who is woken while it is looked at waits behind those who wait already");
}

/// Appointments are kept in their order, and one that is moved is kept once.
#[tokio::test(start_paused = true)]
async fn an_appointment_that_is_made_anew_replaces_the_former() {
    let scene = scene(Order::AsTheyCome, "", 16, |name, before| async move {
        let pause = if name == "a" && before == 0 { 100 } else { 300 };
        Ok(Next::After(Duration::from_secs(pause)))
    });
    scene.wakeups.wake(&key("a"));
    scene.wakeups.wake(&key("b"));
    sleep(Duration::from_secs(50)).await;
    scene.wakeups.wake(&key("a"));
    sleep(Duration::from_secs(310)).await;
    assert!(about(&scene.looks("a"), &[0, 50_000, 350_000]), "{:?}", scene.looks("a"));
    assert!(about(&scene.looks("b"), &[0, 300_000]), "{:?}", scene.looks("b"));
}

#[test]
fn a_closed_queue_collects_nothing() {
    let wakeups = Wakeups::closed();
    wakeups.wake(&key("a"));
    assert!(wakeups.is_empty());
    wakeups.open();
    wakeups.wake(&key("a"));
    assert_eq!(wakeups.len(), 1);
}
