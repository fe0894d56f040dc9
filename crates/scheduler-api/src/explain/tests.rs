use berth_scheduler::{Assumed, Claim, HeldClaim, Promises};
use berth_telemetry::config::{Token, decode};
use berth_testkit::stub::{Reply, Stub};
use serde_json::json;

use super::*;

fn commitment() -> Subject {
    Subject::Commitment(ObjectKey::new("home".into(), "commitment-1"))
}

fn answer() -> LeaderAnswer {
    LeaderAnswer { leader: "berth-0".to_owned(), ..LeaderAnswer::default() }
}

fn body() -> String {
    serde_json::to_string(&answer()).unwrap()
}

fn token() -> Token {
    let values = json!({"scheduler": {"token": "s3cret"}});
    decode(values.as_object().unwrap(), true).unwrap().configuration.scheduler.token.unwrap()
}

#[tokio::test]
async fn each_subject_has_its_path_and_the_token_is_shown() {
    let stub = Stub::start([Reply::http(200, "", &body())]).await;
    let slot = Subject::Slot(ObjectKey::new("eu/1".into(), "s-0"));
    for (url, subject) in [
        (stub.base(), commitment()),
        (format!("{}/", stub.base()), slot),
        (format!("{}/berth/", stub.base()), Subject::Host("node1".into())),
    ] {
        assert_eq!(ask(&url, &subject, Some(&token())).await.unwrap(), answer());
    }
    ask(&stub.base(), &commitment(), None).await.unwrap();
    let asked = stub.asked();
    let lines: Vec<_> = asked.iter().map(|asked| (asked.line(), asked.header("authorization"))).collect();
    let shown = Some("Bearer s3cret");
    assert_eq!(
        lines,
        [
            ("GET /v1/explain/commitments/home/commitment-1", shown),
            ("GET /v1/explain/slots/eu%2F1/s-0", shown),
            ("GET /berth/v1/explain/hosts/node1", shown),
            ("GET /v1/explain/commitments/home/commitment-1", None),
        ]
    );
}

#[tokio::test]
async fn each_missing_answer_has_a_line_that_says_why() {
    let moved = "location: http://127.0.0.1:1/\r\n";
    for (reply, text) in [
        (Reply::http(401, "", "who?\n"), "the operator at URL wants a token"),
        (Reply::http(503, "", "does not lead\n"), "the operator at URL answered with 503 (does not lead)"),
        (Reply::http(404, "", "a\tb"), "the operator at URL answered with 404 (a\\tb)"),
        (Reply::http(302, moved, ""), "the operator at URL answered with 302 ()"),
        (Reply::http(200, "", "{}"), "the answer of the operator at URL cannot be read (missing field `leader`"),
        (Reply::http(200, "", "no JSON"), "the answer of the operator at URL cannot be read (expected ident"),
        (Reply::Close, "the operator at URL cannot be reached (error sending request"),
        (
            Reply::Endless("HTTP/1.1 200 X\r\n\r\n".to_owned(), "x".repeat(1 << 16)),
            "the answer of the operator at URL cannot be read (it is longer than 4194304 bytes)",
        ),
    ] {
        let stub = Stub::start([reply]).await;
        let error = ask(&stub.base(), &commitment(), None).await.unwrap_err().to_string().replace(&stub.base(), "URL");
        assert!(error.starts_with(text) && error.lines().count() == 1, "{error}");
    }
    let stub = Stub::start([Reply::http(401, "", "who?\n")]).await;
    let error = ask(&stub.base(), &commitment(), Some(&token())).await.unwrap_err().to_string();
    assert!(
        error
            .ends_with(" does not accept the token of the kubeconfig; renew it, for example with kubectl create token")
    );
    let away = Stub::closed_port().await;
    let error = ask(&away, &commitment(), None).await.unwrap_err().to_string();
    assert!(error.contains("cannot be reached (") && error.contains("onnection refused"), "{error}");
    let error = ask("10.0.0.7", &commitment(), None).await.unwrap_err().to_string();
    assert_eq!(error, "\"10.0.0.7\" is not the URL of an operator");
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_does_not_answer_is_waited_for_two_seconds_in_all() {
    let head = "HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{".to_owned();
    for reply in [Reply::silence(), Reply::Unfinished(head)] {
        let stub = Stub::start([reply]).await;
        let started_at = tokio::time::Instant::now();
        let error = ask(&stub.base(), &commitment(), None).await.unwrap_err().to_string();
        assert_eq!(error, format!("the operator at {} did not answer within 2s", stub.base()));
        assert_eq!(started_at.elapsed().as_secs(), 2);
    }
}

#[test]
fn promises_survive_the_way_and_claims_that_are_over_do_not_count() {
    let time: jiff::Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let (now, left) = (std::time::Duration::from_secs(7), std::time::Duration::from_secs(60));
    let key = berth_core::SlotKey::new("home".into(), "s-0");
    let size = berth_core::Resources::new(berth_core::Bytes::new(1 << 30), berth_core::Cores::new(2));
    let claim = |vm: &str, until| {
        let (instance, slot) = (vm.into(), Some(key.clone()));
        let claim = Claim {
            instance,
            project: "p".into(),
            host: "node1".into(),
            size,
            expires: now + left,
            until,
            slot,
            quota: None,
        };
        HeldClaim { claim, listed: ["node2".into()].into() }
    };
    let (counts, over) = (claim("vm-1", time.saturating_add(left).unwrap()), claim("vm-2", time));
    let assumed = vec![Assumed {
        key: key.clone(),
        host: "node1".into(),
        size,
        vms: [("vm-3".into(), size)].into(),
        doubt: true,
    }];
    let promises = Promises { claims: vec![counts.clone(), over], assumed, claims_left_out: 3, assumed_left_out: 0 };
    let sent = serde_json::to_string(&answer().with_promises(&promises)).unwrap();
    let received: LeaderAnswer = serde_json::from_str(&sent).unwrap();
    assert_eq!(received.promises(now, time), Promises { claims: vec![counts], ..promises });
}
