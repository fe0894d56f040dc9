//! `berth placement` on a database file that is deleted, moved or replaced under it, and on one that cannot grow: the probes and the
//! metrics report it, and what the documentation says to do then works.

use std::fs;
use std::path::Path;

use tokio::process::Command;

use super::placement::Placement;
use crate::support::http::get;
use crate::support::waiting::{so, until};

/// Waits until `/readyz` has this status and text, and the metric says that there is exactly this problem.
async fn reports(placement: &Placement, status: u16, text: &str, problem: Option<&str>) {
    let reported = until(async || {
        let ready = get(placement.side, "/readyz").await;
        let metrics = get(placement.side, "/metrics").await.unwrap_or_default().1;
        let holding = metrics
            .lines()
            .filter_map(|line| line.strip_prefix("berth_placement_ledger_problem{problem=\"")?.strip_suffix("\"} 1"));
        let is_ready = ready.as_ref().is_some_and(|(found, body)| *found == status && body.contains(text));
        so(is_ready && holding.eq(problem), || format!("{ready:?}\n{metrics}"))
    });
    reported.await.unwrap();
}

/// Copies a file that is deleted and that the process has open, as the documentation describes it.
fn copy_deleted(placement: &Placement, path: &str) {
    let deleted = format!("{path} (deleted)");
    let open = fs::read_dir(format!("/proc/{}/fd", placement.pid())).unwrap().map(|entry| entry.unwrap().path());
    let is_deleted = |link: &Path| fs::read_link(link).is_ok_and(|target| target.to_str() == Some(&deleted));
    let link = open.into_iter().find(|link| is_deleted(link)).unwrap();
    fs::copy(link, path).unwrap();
}

#[tokio::test]
async fn a_database_file_that_is_deleted_is_reported_and_can_be_saved() {
    let mut placement = Placement::begin().await;
    assert_eq!(placement.create("first").await, 201);
    reports(&placement, 200, "ok", None).await;
    let (file, log) = (placement.file(), format!("{}-wal", placement.file()));
    fs::remove_file(&file).unwrap();
    fs::remove_file(&log).unwrap();
    reports(&placement, 503, "the database file was deleted or moved", Some("file_missing")).await;
    assert_eq!(placement.create("second").await, 503, "it would be lost");
    assert!(placement.providers().await.contains("\"first\""));

    copy_deleted(&placement, &file);
    copy_deleted(&placement, &log);
    reports(&placement, 503, "leads to another file", Some("file_replaced")).await;
    placement.kill_and_start().await;
    reports(&placement, 200, "ok", None).await;
    assert!(placement.providers().await.contains("\"first\""));
    assert_eq!(placement.create("second").await, 201);
}

#[tokio::test]
async fn a_database_file_that_is_replaced_is_reported_until_it_is_back() {
    let placement = Placement::begin().await;
    assert_eq!(placement.create("first").await, 201);
    let (file, aside) = (placement.file(), format!("{}.aside", placement.file()));
    fs::rename(&file, &aside).unwrap();
    fs::write(&file, "").unwrap();
    reports(&placement, 503, "leads to another file", Some("file_replaced")).await;
    assert_eq!(placement.create("second").await, 503);
    fs::rename(&aside, &file).unwrap();
    reports(&placement, 200, "ok", None).await;
    assert_eq!(placement.create("second").await, 201);
}

/// A limit of file sizes instead of a small disk, for which one needs to be root. The kernel would end the process at the limit
/// with a signal, which the shell ignores for it.
#[tokio::test]
async fn a_database_that_cannot_grow_is_reported_until_it_can() {
    let placement = Placement::begin_within("trap '' XFSZ; ulimit -S -f 1000").await;
    assert_eq!(placement.create("first").await, 201);
    let mut number = 0;
    while placement.create(&format!("more-{number}")).await == 201 {
        number += 1;
        assert!(number < 1000, "the limit does not hold");
    }
    reports(&placement, 200, "the database cannot grow", Some("disk_full")).await;
    assert!(placement.providers().await.contains("\"first\""), "it serves reads");

    let limit = ["--pid", &placement.pid().to_string(), "--fsize=unlimited:"];
    assert!(Command::new("prlimit").args(limit).status().await.unwrap().success());
    assert_eq!(placement.create("after").await, 201);
    reports(&placement, 200, "ok", None).await;
    let (status, differences) = get(placement.side, "/check").await.unwrap();
    assert_eq!((status, differences.as_str()), (200, "{\"differences\":[]}"));
}
