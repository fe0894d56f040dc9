//! The features of a control plane that its users rely on: the admin, service accounts under RBAC, neighbours, and
//! outages.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use berth_control_plane::{ControlPlane, Error, Part};
use tokio::time::{sleep, timeout};

const GET_NAMESPACES: [&str; 4] = ["get", "namespaces", "--output", "name"];

#[tokio::test]
async fn it_starts_and_serves_the_admin() {
    let started = Instant::now();
    let control_plane = ControlPlane::start().await.unwrap();
    eprintln!("ready after {:.1} s", started.elapsed().as_secs_f64());

    let namespaces = control_plane.run_kubectl(&GET_NAMESPACES, None).await.unwrap();
    assert!(namespaces.lines().any(|line| line == "namespace/default"), "{namespaces}");
    let kubeconfig = std::fs::read_to_string(control_plane.kubeconfig()).unwrap();
    assert!(kubeconfig.contains(control_plane.url()) && kubeconfig.contains("certificate-authority-data"));
    assert!(!kubeconfig.contains("insecure"));

    let folder = control_plane.kubeconfig().parent().unwrap().to_owned();
    control_plane.stop().await.unwrap();
    assert!(!folder.exists(), "the data is removed, too");
}

#[tokio::test]
async fn two_at_once_know_nothing_of_each_other() {
    let (one, other) = tokio::join!(ControlPlane::start(), ControlPlane::start());
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_ne!(one.url(), other.url());
    one.run_kubectl(&["create", "namespace", "mine"], None).await.unwrap();
    let namespaces = other.run_kubectl(&GET_NAMESPACES, None).await.unwrap();
    assert!(!namespaces.contains("mine"), "{namespaces}");
    assert!(
        other.run_kubectl(&["--kubeconfig", path(one.kubeconfig()), "get", "namespace", "mine"], None).await.is_ok()
    );
}

#[tokio::test]
async fn a_guest_is_known_by_the_name_that_it_has_at_home_also_after_an_outage() {
    let home = ControlPlane::start().await.unwrap();
    let account = home.service_account("harbour", "pilot").await.unwrap();
    let mut remote = ControlPlane::start_trusting(&[&account]).await.unwrap();
    assert!(remote.root_certificate().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    let token = std::fs::read_to_string(&account).unwrap();
    let token = token.split("\"token\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let token = format!("--token={token}");
    let who = [token.as_str(), "--user=", "auth", "whoami", "--output", "jsonpath={.status.userInfo.username}"];
    assert_eq!(remote.run_kubectl(&who, None).await.unwrap(), "system:serviceaccount:harbour:pilot");
    remote.restart_api_server().await.unwrap();
    assert_eq!(remote.run_kubectl(&who, None).await.unwrap(), "system:serviceaccount:harbour:pilot");

    let error = ControlPlane::start_trusting(&[Path::new("/dev/null")]).await.unwrap_err().to_string();
    assert!(error.starts_with("/dev/null is not the kubeconfig of a service account; "), "{error}");
}

#[tokio::test]
async fn a_service_account_may_do_only_what_rbac_grants() {
    let control_plane = ControlPlane::start().await.unwrap();
    let reader = control_plane.service_account("harbour", "reader").await.unwrap();
    let again = control_plane.service_account("harbour", "reader").await.unwrap();
    assert_eq!(reader, again, "existing objects are kept");

    assert!(!can_list_secrets(&control_plane, &reader).await);
    for grant in [
        ["create", "role", "reader", "--namespace=harbour", "--verb=list", "--resource=secrets"],
        ["create", "rolebinding", "reader", "--namespace=harbour", "--role=reader", "--serviceaccount=harbour:reader"],
    ] {
        control_plane.run_kubectl(&grant, None).await.unwrap();
    }
    // The authorizer watches roles, and sees them a moment after they are written.
    let granted = async {
        while !can_list_secrets(&control_plane, &reader).await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(30), granted).await.expect("the role is granted");
}

async fn can_list_secrets(control_plane: &ControlPlane, kubeconfig: &Path) -> bool {
    let question = ["--kubeconfig", path(kubeconfig), "auth", "can-i", "list", "secrets"];
    match control_plane.run_kubectl(&question, None).await {
        Ok(answer) => answer.trim() == "yes",
        // kubectl says "no" on stdout and exits with 1; anything on stderr is another failure.
        Err(Error::Kubectl { stderr, .. }) if stderr.is_empty() => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn an_outage_of_the_api_server_keeps_address_data_and_tokens() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    let account = control_plane.service_account("harbour", "reader").await.unwrap();
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"},"data":{"key":"value"}}"#;
    control_plane.run_kubectl(&["create", "--filename", "-"], Some(map)).await.unwrap();
    let (url, pid) = (control_plane.url().to_owned(), control_plane.api_server_pid());

    control_plane.stop_api_server().await.unwrap();
    let refusal = control_plane.run_kubectl(&GET_NAMESPACES, None).await.unwrap_err();
    assert!(refusal.to_string().contains("refused"), "{refusal}");
    control_plane.check().unwrap();

    control_plane.restart_api_server().await.unwrap();
    assert_eq!(control_plane.url(), url);
    assert_ne!(control_plane.api_server_pid(), pid);
    let read = ["get", "configmap", "kept", "--output", "jsonpath={.data.key}"];
    assert_eq!(control_plane.run_kubectl(&read, None).await.unwrap(), "value");
    let who = ["--kubeconfig", path(&account), "auth", "whoami", "--output", "jsonpath={.status.userInfo.username}"];
    assert_eq!(control_plane.run_kubectl(&who, None).await.unwrap(), "system:serviceaccount:harbour:reader");
}

#[tokio::test]
async fn a_killed_etcd_comes_back_with_everything_that_was_acknowledged() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    let (url, pid) = (control_plane.etcd_url(), control_plane.etcd_pid());
    control_plane.run_kubectl(&["create", "namespace", "kept"], None).await.unwrap();
    // Immediately, and also while it is paused.
    control_plane.pause(Part::Etcd).unwrap();
    control_plane.kill(Part::Etcd).await.unwrap();
    control_plane.check().unwrap();
    let quick = ["get", "namespace", "kept", "--request-timeout=2s"];
    assert!(control_plane.run_kubectl(&quick, None).await.is_err(), "there is no database");

    control_plane.restart(Part::Etcd).await.unwrap();
    assert_eq!(control_plane.etcd_url(), url);
    assert_ne!(control_plane.etcd_pid(), pid);
    control_plane.run_kubectl(&["get", "namespace", "kept"], None).await.unwrap();
    control_plane.run_kubectl(&["create", "namespace", "another"], None).await.unwrap();
    control_plane.stop().await.unwrap();
}

#[tokio::test]
async fn etcd_may_be_started_again_before_the_api_server() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    control_plane.run_kubectl(&["create", "namespace", "kept"], None).await.unwrap();
    for part in [Part::ApiServer, Part::Etcd] {
        control_plane.kill(part).await.unwrap();
    }
    for part in [Part::Etcd, Part::ApiServer] {
        control_plane.restart(part).await.unwrap();
    }
    control_plane.run_kubectl(&["get", "namespace", "kept"], None).await.unwrap();
}

#[tokio::test]
async fn a_paused_part_answers_no_client_and_goes_on_where_it_was() {
    let control_plane = ControlPlane::start().await.unwrap();
    for part in [Part::ApiServer, Part::Etcd] {
        control_plane.pause(part).unwrap();
        let asked = ["get", "namespace", "default", "--request-timeout=1s"];
        assert!(control_plane.run_kubectl(&asked, None).await.is_err(), "{part:?} is paused");
        control_plane.resume(part).unwrap();
        control_plane.run_kubectl(&["get", "namespace", "default"], None).await.unwrap();
    }
}

#[tokio::test]
async fn it_outlives_the_thread_that_started_it() {
    let start =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(ControlPlane::start());
    let mut control_plane = thread::spawn(start).join().unwrap().unwrap();
    control_plane.run_kubectl(&GET_NAMESPACES, None).await.unwrap();
    control_plane.check().unwrap();
}

#[tokio::test]
async fn an_etcd_that_ends_by_itself_is_reported_with_its_log() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    let kill = std::process::Command::new("kill").arg(control_plane.etcd_pid().to_string()).status().unwrap();
    assert!(kill.success());
    let error = loop {
        match control_plane.check() {
            Ok(()) => sleep(Duration::from_millis(20)).await,
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("etcd has ended by itself") && error.contains("signal"), "{error}");
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn the_journal_tells_who_has_written_what_also_after_a_restart() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    control_plane.run_kubectl(&["create", "namespace", "first"], None).await.unwrap();
    assert!(control_plane.run_kubectl(&["create", "namespace", "first"], None).await.is_err());
    control_plane.restart_api_server().await.unwrap();
    control_plane.run_kubectl(&["delete", "namespace", "first", "--wait=false"], None).await.unwrap();
    let audit_log = control_plane.write_requests().unwrap();
    let ours: Vec<_> = audit_log.iter().filter(|write| write.user_agent.starts_with("kubectl")).collect();
    let reported: Vec<_> =
        ours.iter().map(|w| (w.verb.as_str(), w.resource.as_str(), w.name.as_str(), w.code)).collect();
    let expected = [("create", 201), ("create", 409), ("delete", 200)];
    assert_eq!(reported, expected.map(|(verb, code)| (verb, "namespaces", "first", code)), "{audit_log:#?}");
    assert!(ours.iter().all(|write| write.received <= write.answered && write.succeeded() == (write.code < 300)));
    assert!(ours.is_sorted_by(|one, next| one.answered < next.received), "{audit_log:#?}");
}
