//! The queue on paused time.

use std::time::Duration;

use berth_core::Zone;
use futures::FutureExt as _;
use tokio::time::{Instant, sleep};

use super::*;

fn zone(name: &str) -> Zone {
    name.into()
}

fn queues(length: usize) -> Queues<Zone> {
    Queues::new(length, Duration::from_secs(10))
}

fn is_empty(queues: &Queues<Zone>) -> bool {
    queues.keys.lock().is_empty()
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_zone_have_their_turns_in_the_order_of_arrival() {
    let (queues, order) = (queues(50), Arc::new(Mutex::new(Vec::new())));
    let requests: Vec<_> = (0..10)
        .map(|number| {
            let (queues, order) = (queues.clone(), order.clone());
            tokio::spawn(async move {
                sleep(Duration::from_millis(number)).await;
                let turn = queues.enter(&zone("a")).await.unwrap();
                sleep(Duration::from_millis(500)).await;
                order.lock().push(number);
                drop(turn);
            })
        })
        .collect();
    futures::future::join_all(requests).await;
    assert_eq!(*order.lock(), (0..10).collect::<Vec<_>>());
    assert!(is_empty(&queues), "the queue of a zone without requests is removed");
}

#[tokio::test(start_paused = true)]
async fn more_than_the_length_do_not_wait() {
    let queues = queues(2);
    let turn = queues.enter(&zone("a")).await.unwrap();
    let (a, mut waiting) = (zone("a"), Vec::new());
    for _ in 0..2 {
        let mut wait = Box::pin(queues.enter(&a));
        assert!(wait.as_mut().now_or_never().is_none());
        waiting.push(wait);
    }
    assert_eq!(queues.enter(&a).now_or_never().map(|entered| entered.is_err()), Some(true));
    drop(turn);
    let turns = futures::future::join(waiting.remove(0), async { drop(queues.enter(&zone("b")).await) }).await;
    assert!(turns.0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wait_has_an_end() {
    let queues = queues(50);
    let turn = queues.enter(&zone("a")).await.unwrap();
    let started = Instant::now();
    assert_eq!(queues.enter(&zone("a")).await.map(drop), Err(Full));
    assert_eq!(started.elapsed().as_secs(), 10);
    drop(turn);
    assert!(queues.enter(&zone("a")).now_or_never().is_some_and(|turn| turn.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_leaves_its_place_to_others() {
    let (queues, a) = (queues(1), zone("a"));
    let turn = queues.enter(&a).await.unwrap();
    let mut given_up = Box::pin(queues.enter(&a));
    assert!(given_up.as_mut().now_or_never().is_none());
    drop(given_up);
    let mut next = Box::pin(queues.enter(&a));
    assert!(next.as_mut().now_or_never().is_none(), "it waits in the place that was given back");
    drop(turn);
    assert!(next.await.is_ok());
    assert!(is_empty(&queues));
}

#[tokio::test(start_paused = true)]
async fn zones_do_not_wait_for_each_other() {
    let queues = queues(0);
    let _a = queues.enter(&zone("a")).await.unwrap();
    assert!(queues.enter(&zone("b")).now_or_never().is_some_and(|turn| turn.is_ok()));
    assert!(queues.enter(&zone("a")).now_or_never().is_some_and(|turn| turn.is_err()));
}

#[tokio::test(start_paused = true)]
async fn the_number_of_zones_is_bounded() {
    let queues = queues(50);
    let mut turns = Vec::new();
    for number in 0..KEYS {
        turns.push(queues.enter(&zone(&number.to_string())).await.unwrap());
    }
    assert!(queues.enter(&zone("one more")).await.is_err());
    turns.pop();
    assert!(queues.enter(&zone("one more")).await.is_ok());
}
