//! A connection to PostgreSQL that breaks, hangs or is slow: clients get an answer in time, committed writes are
//! recognised, and everything recovers by itself.

use std::sync::Arc;
use std::time::Duration;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::{Ledger as _, LedgerProblem, Operated as _, RequestError, Written};
use berth_placement_model::Command;
use berth_placement_model::command::ConsumerGuard;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use crate::proxy::{AtCommit, Proxy};
use crate::world::{Still, World, claim, metrics, soon};

const CONNECTIONS: usize = 16;
const MANY: usize = CONNECTIONS + 4;

/// A ledger behind a proxy, on a database that another ledger reads without it.
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
        let started = Self { world, proxy, ledger };
        started.recovers().await;
        started
    }

    /// The consumer must be new.
    async fn claims(&self, consumer: &str, until: Instant) -> Result<Written, RequestError> {
        let mut one = claim(consumer, &[("p1", &[("VCPU", 1)])]);
        one.generation = ConsumerGuard::Expected(None);
        self.ledger.write(Command::SetAllocations(one), until).await
    }

    /// Claims concurrently, each with a deadline in this many seconds.
    fn claim_many(self: &Arc<Self>, name: &str, seconds: u64) -> Vec<JoinHandle<Result<Written, RequestError>>> {
        let one = |number| {
            let (disturbed, consumer) = (self.clone(), format!("{name}-{number}"));
            tokio::spawn(async move { disturbed.claims(&consumer, within(seconds)).await })
        };
        (0..MANY).map(one).collect()
    }

    async fn is_there(&self, consumer: &str) -> bool {
        self.world.consumer(consumer).await.is_some()
    }

    async fn recovers(&self) {
        let started = Instant::now();
        while self.ledger.model(soon()).await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "the ledger does not recover");
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
async fn a_commit_without_an_answer_is_asked_about_and_done() {
    let disturbed = Disturbed::begin().await;
    for (consumer, what) in [("c1", AtCommit::Unanswered), ("c2", AtCommit::Ends)] {
        disturbed.proxy.at_commit(what);
        disturbed.claims(consumer, soon()).await.unwrap_or_else(|error| panic!("{what:?}: {error}"));
        assert!(disturbed.is_there(consumer).await, "{what:?}");
    }
}

/// PostgreSQL itself sends the error, from a trigger in place of a disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_grow_is_reported_until_a_write_succeeds() {
    let disturbed = Disturbed::begin().await;
    let ledger = &disturbed.ledger;
    assert_eq!((ledger.impairment(), ledger.problems()), (None, vec![(LedgerProblem::DiskFull, false)]));
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN RAISE EXCEPTION USING ERRCODE = ''53100'', MESSAGE = ''could not extend file secret''; END'; \
        CREATE TRIGGER full_disk BEFORE INSERT ON allocations EXECUTE FUNCTION full_disk()";
    disturbed.hand().await.execute(full).await.unwrap();
    let error = disturbed.claims("c1", soon()).await.unwrap_err();
    assert!(matches!(&error, RequestError::Unavailable(text) if !text.contains("secret")), "{error:?}");
    assert_eq!((ledger.impediment(), ledger.impairment()), (None, Some(LedgerProblem::DiskFull.text())));
    assert_eq!(ledger.problems(), [(LedgerProblem::DiskFull, true)]);
    assert!(ledger.model(soon()).await.is_ok(), "reads go on");
    disturbed.hand().await.execute("DROP TRIGGER full_disk ON allocations").await.unwrap();
    disturbed.claims("c1", soon()).await.unwrap();
    assert_eq!((ledger.impairment(), ledger.problems()), (None, vec![(LedgerProblem::DiskFull, false)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_known_to_be_undone() {
    let disturbed = Disturbed::begin().await;
    disturbed.proxy.at_commit(AtCommit::Lost);
    let error = disturbed.claims("c1", soon()).await.unwrap_err();
    assert_eq!(error, RequestError::Unavailable("the connection to the database was lost".to_owned()));
    assert!(!disturbed.is_there("c1").await);
    disturbed.claims("c1", soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_falls_silent_delays_no_request_beyond_its_deadline_and_keeps_no_connection() {
    let disturbed = Arc::new(Disturbed::begin().await);
    let writes = disturbed.claim_many("before", 30);
    for write in writes {
        write.await.unwrap().unwrap();
    }
    disturbed.proxy.silence();
    let started = Instant::now();
    let writes = disturbed.claim_many("meanwhile", 1);
    let error = disturbed.ledger.model(within(30)).await.unwrap_err();
    assert!(matches!(error, RequestError::Unavailable(_)), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5), "a version query has 2 s: {:?}", started.elapsed());
    for write in writes {
        // Some met a hanging connection; others opened a new one.
        assert!(matches!(write.await.unwrap(), Ok(_) | Err(RequestError::Unavailable(_) | RequestError::Unknown(_))));
    }
    disturbed.recovers().await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let writes = disturbed.claim_many("afterwards", 5);
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!(disturbed.ledger.check(soon()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_without_a_connection_fails_after_5_s_and_reads_go_on() {
    let disturbed = Arc::new(Disturbed::begin().await);
    let mut hand = disturbed.hand().await;
    hand.execute("BEGIN").await.unwrap();
    hand.execute("SELECT 1 FROM providers WHERE uuid = 'p1' FOR UPDATE").await.unwrap();
    let started = Instant::now();
    let writes = disturbed.claim_many("c", 30);
    sleep(Duration::from_millis(500)).await;
    disturbed.ledger.model(within(2)).await.unwrap();
    sleep_until(started + Duration::from_secs(4)).await;
    assert!(writes.iter().all(|write| !write.is_finished()), "no write gives up before");
    sleep_until(started + Duration::from_secs(7)).await;
    assert_eq!(writes.iter().filter(|write| write.is_finished()).count(), MANY - CONNECTIONS);
    hand.execute("COMMIT").await.unwrap();
    let mut done = 0;
    for write in writes {
        match write.await.unwrap() {
            Ok(_) => done += 1,
            Err(error) => {
                assert_eq!(error, RequestError::Unavailable("no connection to the database within 5 s".to_owned()));
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
    let started = Instant::now();
    let error = disturbed.ledger.model(soon()).await.unwrap_err();
    assert_eq!(error, RequestError::Unavailable("the model is being built".to_owned()));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    hand.execute("COMMIT").await.unwrap();
    disturbed.recovers().await;
}
