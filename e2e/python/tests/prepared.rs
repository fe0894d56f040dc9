//! What tests create once: when it is created, and under which name.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_control_plane::FromRefused as _;
use berth_python::{Cache, Error, Packages, prepare};

async fn works(folder: &Path) -> bool {
    folder.join("done").exists()
}

#[tokio::test]
async fn it_is_created_once_and_again_when_it_does_not_work() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(home.path().join("part"));
    let times = AtomicUsize::new(0);
    let make = async |folder: &Path| {
        times.fetch_add(1, Ordering::Relaxed);
        fs::write(folder.join("done"), "").map_err(Error::path("write", folder))
    };
    let twice = tokio::join!(prepare(&cache, "one", works, make), prepare(&cache, "one", works, make));
    let folder = home.path().join("part").join("one");
    assert_eq!(
        (twice.0.unwrap(), twice.1.unwrap(), times.load(Ordering::Relaxed)),
        (folder.clone(), folder.clone(), 1)
    );

    fs::remove_file(folder.join("done")).unwrap();
    fs::write(folder.join("old"), "").unwrap();
    prepare(&cache, "one", works, make).await.unwrap();
    assert_eq!((times.load(Ordering::Relaxed), folder.join("old").exists()), (2, false));
}

#[tokio::test]
async fn what_could_not_be_completed_is_not_there() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(home.path().to_owned());
    fs::create_dir(home.path().join(".build-dead")).unwrap();
    let failed = prepare(&cache, "one", works, async |_: &Path| Err(Error::PythonMissing)).await;
    assert!(matches!(failed, Err(Error::PythonMissing)));
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"], "neither this one nor that of a killed process");
}

#[test]
fn an_environment_is_named_after_the_version_and_everything_else() {
    let name = |requirements| Packages { part: "test", main: "two", requirements, modules: "two" }.name();
    assert!(name("one==1.0\ntwo==2.1\n").starts_with("2.1-"));
    assert_ne!(name("one==1.0\ntwo==2.1\n"), name("one==1.1\ntwo==2.1\n"));
}
