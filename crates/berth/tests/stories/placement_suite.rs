//! The behaviours that clients of OpenStack Placement rely on, from its own test suite, against the real binary.

use std::path::Path;
use std::thread::available_parallelism;

use berth_placement_gabbi::{Contradictions, Database, Description, Report, Server, TESTS, Toolbox, run};

async fn report(database: Database) -> Report {
    let toolbox = Toolbox::obtain().await.unwrap();
    let suite = Description::read(&toolbox).await.unwrap();
    assert_eq!(suite.tests(), TESTS, "another version of Placement has other tests");
    let contradictions = Contradictions::listed(&suite).unwrap();
    let server = Server::berth(Path::new(env!("CARGO_BIN_EXE_berth")), database);
    let at_once = available_parallelism().map_or(1, usize::from);
    let tested = run(&toolbox, &suite, &server, at_once).await.unwrap();
    let report = Report::new(&suite, tested, &contradictions);
    eprintln!("{report}");
    report
}

#[tokio::test]
async fn placement_s_own_suite_passes_on_sqlite() {
    let report = report(Database::File).await;
    assert!(report.is_good(), "{}{report}", report.failures());
}

#[tokio::test]
async fn placement_s_own_suite_passes_on_postgresql() {
    let report = report(Database::postgres().await.unwrap()).await;
    assert!(report.is_good(), "{}{report}", report.failures());
}
