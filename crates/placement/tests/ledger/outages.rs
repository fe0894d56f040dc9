//! A way to PostgreSQL that breaks, falls silent or is slow: whoever asks is told in time, what was committed is known to be,
//! and everything goes on by itself.

use std::sync::Arc;
use std::time::Duration;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::{Ledger as _, Operated as _, Trouble, Written};
use berth_placement_model::Command;
use berth_placement_model::command::ConsumerGuard;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use crate::proxy::{AtCommit, Proxy};
use crate::world::{Still, World, claim, metrics, soon};

/// That a ledger has.
const CONNECTIONS: usize = 16;
const MANY: usize = CONNECTIONS + 4;

/// A ledger behind a proxy, on a database that another one reads without it.
struct Disturbed {
    world: World,
    proxy: Proxy,
    ledger: PostgresLedger,
}

impl Disturbed {
    async fn begin() -> Self {
        let world = World::postgres().await;
        world.provider("p1", &[("VCPU", 1000)]).await;
        let proxy = Proxy::before(&world.url).await;
        let ledger = PostgresLedger::open(&proxy.url, Arc::new(Still), metrics()).await.unwrap();
        let begun = Self { world, proxy, ledger };
        begun.recovers().await;
        begun
    }

    /// The consumer must be a new one.
    async fn claims(&self, consumer: &str, until: Instant) -> Result<Written, Trouble> {
        let mut one = claim(consumer, &[("p1", &[("VCPU", 1)])]);
        one.generation = ConsumerGuard::Expected(None);
        self.ledger.write(Command::SetAllocations(one), until).await
    }

    /// At once, each with a deadline in so many seconds.
    fn claim_many(self: &Arc<Self>, name: &str, seconds: u64) -> Vec<JoinHandle<Result<Written, Trouble>>> {
        let one = |number| {
            let (disturbed, consumer) = (self.clone(), format!("{name}-{number}"));
            tokio::spawn(async move { disturbed.claims(&consumer, within(seconds)).await })
        };
        (0..MANY).map(one).collect()
    }

    async fn is_there(&self, consumer: &str) -> bool {
        self.world.consumer(consumer).await.is_some()
    }

    /// Candidates are served, and it says so.
    async fn recovers(&self) {
        let begun = Instant::now();
        while self.ledger.model(soon()).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not recover");
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(self.ledger.impediment(), None);
    }

    async fn hand(&self) -> PgConnection {
        PgConnection::connect(&self.world.url).await.unwrap()
    }
}

fn within(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_nobody_answered_is_asked_about_and_done() {
    let disturbed = Disturbed::begin().await;
    for (consumer, what) in [("c1", AtCommit::Unanswered), ("c2", AtCommit::Ends)] {
        disturbed.proxy.at_commit(what);
        disturbed.claims(consumer, soon()).await.unwrap_or_else(|trouble| panic!("{what:?}: {trouble}"));
        assert!(disturbed.is_there(consumer).await, "{what:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_known_to_be_undone() {
    let disturbed = Disturbed::begin().await;
    disturbed.proxy.at_commit(AtCommit::Lost);
    let trouble = disturbed.claims("c1", soon()).await.unwrap_err();
    assert_eq!(trouble, Trouble::Unavailable("the connection to the database was lost".to_owned()));
    assert!(!disturbed.is_there("c1").await);
    disturbed.claims("c1", soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_falls_silent_keeps_nobody_beyond_his_deadline_and_no_connection() {
    let disturbed = Arc::new(Disturbed::begin().await);
    let writes = disturbed.claim_many("before", 30);
    for write in writes {
        write.await.unwrap().unwrap();
    }
    disturbed.proxy.silence();
    let begun = Instant::now();
    let writes = disturbed.claim_many("meanwhile", 1);
    let trouble = disturbed.ledger.model(within(30)).await.unwrap_err();
    assert!(matches!(trouble, Trouble::Unavailable(_)), "{trouble}");
    assert!(begun.elapsed() < Duration::from_secs(5), "a version query has 2 s: {:?}", begun.elapsed());
    for write in writes {
        // Those that met a silent connection; others made a new one.
        assert!(matches!(write.await.unwrap(), Ok(_) | Err(Trouble::Unavailable(_) | Trouble::Unknown(_))));
    }
    disturbed.recovers().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let writes = disturbed.claim_many("afterwards", 5);
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!(disturbed.ledger.check(soon()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_gets_no_connection_is_told_so_after_5_s_and_reads_go_on() {
    let disturbed = Arc::new(Disturbed::begin().await);
    let mut hand = disturbed.hand().await;
    hand.execute("BEGIN").await.unwrap();
    hand.execute("SELECT 1 FROM providers WHERE uuid = 'p1' FOR UPDATE").await.unwrap();
    let begun = Instant::now();
    let writes = disturbed.claim_many("c", 30);
    sleep(Duration::from_millis(500)).await;
    disturbed.ledger.model(within(2)).await.unwrap();
    sleep_until(begun + Duration::from_secs(4)).await;
    assert!(writes.iter().all(|write| !write.is_finished()), "nobody gives up before");
    sleep_until(begun + Duration::from_secs(7)).await;
    assert_eq!(writes.iter().filter(|write| write.is_finished()).count(), MANY - CONNECTIONS);
    hand.execute("COMMIT").await.unwrap();
    let mut done = 0;
    for write in writes {
        match write.await.unwrap() {
            Ok(_) => done += 1,
            Err(trouble) => {
                assert_eq!(trouble, Trouble::Unavailable("no connection to the database within 5 s".to_owned()));
            }
        }
    }
    assert_eq!(done, CONNECTIONS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_query_that_takes_too_long_is_given_up_and_recovered_from() {
    let disturbed = Disturbed::begin().await;
    let mut hand = disturbed.hand().await;
    hand.execute("BEGIN").await.unwrap();
    hand.execute("LOCK TABLE changes IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let begun = Instant::now();
    let trouble = disturbed.ledger.model(soon()).await.unwrap_err();
    assert_eq!(trouble, Trouble::Unavailable("the model is being built".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    hand.execute("COMMIT").await.unwrap();
    disturbed.recovers().await;
}
