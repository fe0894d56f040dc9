//! The reference transaction of `make bench` has the statements that the ledger sends.

use std::sync::Arc;

use berth_placement::ledger::Ledger as _;
use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement_model::Command;
use berth_placement_model::command::ConsumerGuard;

use crate::proxy::Proxy;
use crate::world::{Still, World, claim, metrics, soon};

const CLAIM: &str = include_str!("../../../../bench/src/placement/claim.sql");

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The statements of a file, separated by empty lines.
fn written_down() -> Vec<String> {
    let without_comments = CLAIM.lines().filter(|line| !line.starts_with("--"));
    let text = without_comments.collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(squeezed).filter(|text| !text.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_sends_the_statements_that_are_written_down_for_the_comparison() {
    let world = World::postgres().await;
    world.provider("p1", &[("VCPU", 100)]).await;
    let proxy = Proxy::before(&world.url).await;
    let ledger = PostgresLedger::open(&proxy.url, Arc::new(Still), metrics()).await.unwrap();
    let mut one = claim("c1", &[("p1", &[("VCPU", 1)])]);
    one.generation = ConsumerGuard::Expected(None);
    ledger.write(Command::SetAllocations(one), soon()).await.unwrap();
    let sent = proxy.statements_with("INSERT INTO consumers").pop().unwrap();
    let begin = sent.iter().position(|text| text == "BEGIN").unwrap();
    // Old records may have been pruned on the same connection.
    let settings = sent.iter().find(|text| text.contains("plan_cache_mode")).unwrap();
    let sent: Vec<_> = [settings].into_iter().chain(&sent[begin..]).map(|text| squeezed(text)).collect();
    assert_eq!(sent, written_down(), "update bench/src/placement/claim.sql to the statements of the ledger");
}
