//! The result of each kind of answer, and of a missing one.

use super::*;

#[tokio::test]
async fn answers_with_200() {
    for (body, expected) in [
        ("{\"hosts\":[\"b\",\"a\"]}\n", Ok(names(&["b", "a"]))),
        ("{}", Ok(vec![])),
        ("{\"hosts\":null}", Ok(vec![])),
        ("{\"hosts\":[]}", Ok(vec![])),
        ("{\"hosts\":[\"a\"]} tail", Ok(names(&["a"]))),
        ("{\"hosts\":[\"a\"],\"filtered\":{\"x\":1}}", Ok(names(&["a"]))),
        ("{\"hosts\":\"a\"}", Err("hosts")),
        ("<html>nonsense</html>", Err("")),
        ("", Err("")),
    ] {
        match (probe(LONG, [Reply::http(200, "", body)]).await.0, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(found), Err(part)) => {
                let begin = "failed to decode external scheduler response: ";
                assert!(found.starts_with(begin) && found[begin.len()..].contains(part), "{body}: {found}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn answers_with_another_status() {
    let long = "x".repeat(5000);
    for (status, body, expected) in [
        (204, "", "external scheduler returned status 204: ".to_owned()),
        (500, "boom", "external scheduler returned status 500: boom".to_owned()),
        (503, "later\n", "external scheduler returned status 503: later".to_owned()),
        (500, &long, format!("external scheduler returned status 500: {}", &long[..1024])),
        (404, "no such path\n", "external scheduler returned status 404: no such path".to_owned()),
    ] {
        let (found, stub) = probe(LONG, [Reply::http(status, "", body)]).await;
        assert_eq!((found, stub.asked().len()), (Err(expected), 1), "{status}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let (found, stub) = probe(SHORT, [Reply::silence()]).await;
    let expected = "failed to send external scheduler request: no answer within 0.2 s; \
                    check that the scheduler at schedulerURL is well";
    assert_eq!((found, stub.asked().len()), (Err(expected.to_owned()), 1));
}

#[tokio::test]
async fn a_slow_answer_is_an_answer() {
    let body = "{\"hosts\":[\"a\"]}";
    let slow = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    assert_eq!(probe(LONG, [Reply::Dribble(slow)]).await.0, Ok(names(&["a"])));
}

#[tokio::test]
async fn an_answer_that_does_not_end_in_time_is_none() {
    let begin = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 100\r\n\r\n{{\"hosts\":[\"a\"]");
    let (found, _) = probe(SHORT, [Reply::Unfinished(begin(200))]).await;
    let expected = "failed to decode external scheduler response: the answer did not end within 0.2 s; \
                    check that the scheduler at schedulerURL is well";
    assert_eq!(found, Err(expected.to_owned()));
    let (found, _) = probe(SHORT, [Reply::Unfinished(begin(500))]).await;
    assert_eq!(found, Err("external scheduler returned status 500".to_owned()));
}

#[tokio::test]
async fn a_cut_answer_is_none() {
    let cut = |status: u16| Reply::Bytes(format!("HTTP/1.1 {status} X\r\ncontent-length: 100\r\n\r\n{{\"hosts\""));
    let found = probe(LONG, [cut(200)]).await.0.unwrap_err();
    assert!(found.starts_with("failed to decode external scheduler response: "), "{found}");
    assert_eq!(probe(LONG, [cut(500)]).await.0, Err("external scheduler returned status 500".to_owned()));
}

#[tokio::test]
async fn of_an_endless_answer_only_so_much_is_read() {
    let endless = |status: u16, part: &str| {
        let head = format!("HTTP/1.1 {status} X\r\n\r\n{{\"hosts\":[\"a\"");
        Reply::Endless(head, part.repeat(10_000))
    };
    let found = probe(LONG, [endless(200, ",\"a\"")]).await.0;
    let expected = "failed to decode external scheduler response: the answer is longer than 4194304 bytes";
    assert_eq!(found, Err(expected.to_owned()));
    let found = probe(LONG, [endless(500, ",\"a\"")]).await.0.unwrap_err();
    assert_eq!(found.len(), "external scheduler returned status 500: ".len() + 1024);
}

#[tokio::test]
async fn what_is_no_http_is_a_send_error() {
    for invalid_amount in ["SSH-2.0-OpenSSH_9.6\r\n", "\u{0}\u{1}", ""] {
        let found = probe(LONG, [Reply::Bytes(invalid_amount.to_owned())]).await.0.unwrap_err();
        assert!(found.starts_with("failed to send external scheduler request: "), "{found}");
    }
}

#[tokio::test]
async fn redirects_that_keep_the_method_repeat_the_request_and_others_do_not() {
    let to = |status| Reply::http(status, "location: /elsewhere\r\n", "");
    for status in [307, 308] {
        let (found, stub) = probe(LONG, [to(status), Reply::http(200, "", "{\"hosts\":[\"a\"]}")]).await;
        let [first, second] = stub.asked().try_into().unwrap();
        assert_eq!((found, second.line()), (Ok(names(&["a"])), "POST /elsewhere"));
        assert_eq!(first.body, second.body);
    }
    for status in [301, 302, 303] {
        let (found, stub) = probe(LONG, [to(status), Reply::http(405, "", "invalid request method\n")]).await;
        let expected = "external scheduler returned status 405: invalid request method";
        assert_eq!((found, stub.asked()[1].line()), (Err(expected.to_owned()), "GET /elsewhere"));
    }
}

#[tokio::test]
async fn redirects_in_a_circle_end_after_ten() {
    let (found, stub) = probe(LONG, [Reply::http(307, "location: /scheduler/nova/external\r\n", "")]).await;
    let found = found.unwrap_err();
    assert!(found.starts_with("failed to send external scheduler request: "), "{found}");
    assert!(found.contains("redirect"), "{found}");
    assert_eq!(stub.asked().len(), 11);
}

#[tokio::test]
async fn a_lost_connection_is_tried_once_more_when_nothing_is_changed() {
    let good = || Reply::http(200, "", "{\"hosts\":[\"a\"]}");
    let (found, stub) = probe(LONG, [Reply::Close, good()]).await;
    assert_eq!((found, stub.asked().len()), (Ok(names(&["a"])), 2));
    let (found, stub) = probe(LONG, [Reply::Close, Reply::Close, good()]).await;
    let found = found.unwrap_err();
    assert!(found.starts_with("failed to send external scheduler request: "), "{found}");
    assert_eq!(stub.asked().len(), 2);

    let stub = Stub::start([Reply::Close, good()]).await;
    let found = text(&external(&stub, view(&["a"])).place(&slot()).await.unwrap_err());
    assert!(found.starts_with("failed to send external scheduler request: "), "{found}");
    assert_eq!(stub.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_send_error_and_a_wrong_url_is_named() {
    let ask = async |url: &str| {
        let scheduler = External::new(url, None, view(&["a"])).unwrap();
        text(&scheduler.probe(&question(), "").await.unwrap_err())
    };
    let found = ask(&format!("{}/x", Stub::closed_port().await)).await;
    assert!(found.starts_with("failed to send external scheduler request: ") && found.contains("refused"), "{found}");
    for url in ["not a url", "ftp://host/path", ""] {
        let found = ask(url).await;
        assert!(found.starts_with("failed to create HTTP request: "), "{url}: {found}");
    }
}

#[tokio::test]
async fn passwords_in_the_url_are_not_reported() {
    let url = Stub::closed_port().await.replace("http://", "http://user:secret@");
    let scheduler = External::new(&url, None, view(&["a"])).unwrap();
    assert!(!text(&scheduler.probe(&question(), "").await.unwrap_err()).contains("secret"));
}

#[tokio::test]
async fn contradicting_options_are_not_sent() {
    let stub = Stub::start([Reply::Close]).await;
    let scheduler = external(&stub, view(&["a"]));
    let mut asked = question();
    asked.options.skip_inflight = false;
    let expected = SchedulerError::Options("read-only runs cannot create inflight reservations");
    assert_eq!(scheduler.probe(&asked, "").await, Err(expected));
    asked.options = Options::default();
    assert!(matches!(scheduler.probe(&asked, "").await, Err(SchedulerError::Options(_))));
    assert!(stub.asked().is_empty());
}
