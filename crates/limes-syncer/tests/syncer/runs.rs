//! How a run asks Keystone and Limes: its pace, repetitions, failures, and when the next one begins.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::limes::{Failure, listed};
use crate::support::{HOUR, Process, Stage};

const ERRORS: &str = "cortex_committed_resource_syncer_errors_total";
const UNREAD: &str = "berth_limes_syncer_projects_unread";

fn gaps(requests: &[(String, Instant)]) -> Vec<u128> {
    requests.windows(2).map(|pair| (pair[1].1 - pair[0].1).as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn requests_begin_20_times_in_a_second_and_do_not_wait_for_each_other() {
    let stage = Stage::new(60);
    stage.limes.set_latency(Duration::from_millis(400));
    let mut process = Process::start(&stage);
    process.sync().await;
    let requests = stage.limes.take_requests();
    assert_eq!(requests.len(), 61);
    assert!(gaps(&requests[1..]).iter().all(|gap| (45..=56).contains(gap)), "{:?}", gaps(&requests[1..]));
    assert!((7..=9).contains(&stage.limes.most_under_way()), "{}", stage.limes.most_under_way());
}

#[tokio::test(start_paused = true)]
async fn no_more_than_16_requests_are_under_way() {
    let stage = Stage::new(60);
    stage.limes.set_latency(Duration::from_secs(5));
    Process::start(&stage).sync().await;
    assert_eq!(stage.limes.most_under_way(), 16);
    assert_eq!(stage.limes.take_requests().len(), 61);
}

#[tokio::test(start_paused = true)]
async fn a_busy_limes_is_asked_again_three_times() {
    let stage = Stage::new(2);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    for (busy, asked, has_failed) in [(3, 4, false), (4, 4, true)] {
        stage.limes.fail("p-0", Some(Failure::Busy(busy)));
        let mut process = Process::start(&stage);
        assert_eq!(process.sync().await, has_failed, "{busy}");
        let times: Vec<_> = stage.limes.take_requests().into_iter().filter(|(what, _)| what == "p-0").collect();
        assert_eq!(times.len(), asked);
        let waits: Vec<_> = gaps(&times).iter().map(|gap| gap / 1000).collect();
        assert_eq!(waits, [1, 2, 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_one_project_leaves_it_uncompared_and_the_run_goes_on() {
    let stage = Stage::new(3);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    stage.limes.set("p-2", vec![listed("c-00002", 16)]);
    stage.limes.fail("p-0", Some(Failure::Internal));
    let mut process = Process::start(&stage);
    assert!(process.sync().await);
    assert_eq!([stage.amount("c-00001"), stage.amount("c-00002")], [None, Some("16Gi".to_owned())]);
    assert_eq!([ERRORS, UNREAD].map(|name| process.metric(name)), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn after_many_failures_in_a_row_the_other_projects_are_not_asked_for() {
    let stage = Stage::new(100);
    for number in 0..100 {
        stage.limes.fail(&format!("p-{number}"), Some(Failure::Internal));
    }
    let mut process = Process::start(&stage);
    assert!(process.sync().await);
    let asked = stage.limes.take_requests().len();
    assert!((10..30).contains(&asked), "{asked}");
    assert_eq!([ERRORS, UNREAD].map(|name| process.metric(name)), [1, 100]);
}

#[tokio::test(start_paused = true)]
async fn runs_begin_at_once_then_hourly_and_sooner_after_failures() {
    let stage = Stage::new(1);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    stage.limes.fail_keystone(Some(Failure::Internal));
    let process = Process::start(&stage);
    let (began, stop, limes) = (Instant::now(), CancellationToken::new(), stage.limes.clone());
    let working = tokio::spawn(process.into_fetcher().work(stop.clone()));
    tokio::time::sleep(Duration::from_secs(200)).await;
    let starts = |requests: Vec<(String, Instant)>| {
        let projects = requests.into_iter().filter(|(what, _)| what == "projects");
        projects.map(|(_, at)| (at - began).as_secs()).collect::<Vec<_>>()
    };
    assert_eq!(starts(limes.take_requests()), [0, 30, 90]);
    limes.fail_keystone(None);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(starts(limes.take_requests()), [210, 3810]);
    stop.cancel();
    working.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_last_success_is_shown_from_the_first_run_on() {
    const LAST: &str = "berth_limes_syncer_last_success_timestamp_seconds";
    let stage = Stage::new(1);
    stage.limes.fail_keystone(Some(Failure::Internal));
    let mut process = Process::start(&stage);
    assert!(!process.metrics.render().contains(&format!("\n{LAST} ")), "no run has begun");
    process.sync().await;
    let first = process.metric(LAST);
    process.wait(HOUR).await;
    process.sync().await;
    assert_eq!(process.metric(LAST), first, "both have failed");
    stage.limes.fail_keystone(None);
    process.sync().await;
    assert!(process.metric(LAST) >= first + 3600);
}
