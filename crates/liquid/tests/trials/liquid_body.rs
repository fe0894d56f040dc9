//! The property of `liquid_body`, for the fuzzer and for a test of `berth-liquid`: bodies of change-commitments, one after
//! the other, to a small zone; a line `---` separates two. No answer is a 500, and nothing is sold twice.

use std::future::Future;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use berth_liquid::server::{ChangeCall, ChangeHandler as _};
use berth_liquid::service::ChangeService;
use berth_testkit::seeds;

use super::bodies::split_bodies;
use super::support::liquid::serve;
use super::support::{OLD, Process, clock, server};

const SLOTS: u64 = 4;

pub fn change(input: &[u8]) -> Vec<StatusCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(answer_all(split_bodies(input)))
}

/// A commitment has a half of the zone.
async fn answer_all(bodies: Vec<Bytes>) -> Vec<StatusCode> {
    let clock = clock();
    let server = server(&clock, SLOTS);
    server.create(&seeds::rejectable(OLD, SLOTS / 2)).unwrap();
    let process = Process::start(&server, &clock);
    process.settle().await;
    process.checker.mark_observed();
    let service = serve(&process, true);
    let mut statuses = Vec::new();
    for body in bodies {
        let asked = tokio::spawn(ask(service.clone(), body));
        process.work_until(|| asked.is_finished()).await;
        let status = asked.await.unwrap();
        assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR);
        statuses.push(status);
    }
    assert_eq!(process.checker.violations(), [""; 0]);
    statuses
}

fn ask(service: Arc<ChangeService>, body: Bytes) -> impl Future<Output = StatusCode> {
    let call = ChangeCall { body, headers: HeaderMap::new(), request_id: "9f31c0de-77aa".to_owned() };
    async move { service.change(call).await.status() }
}
