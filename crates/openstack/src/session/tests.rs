//! Logins and calls against a double of Keystone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_testkit::keystone::{Keystone, KeystoneFault, USER};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::Credentials;

/// A Secret that tests change.
#[derive(Clone, Default)]
pub(crate) struct SecretDouble(Arc<parking_lot::Mutex<BTreeMap<String, Vec<u8>>>>);

impl SecretDouble {
    pub(crate) fn set(&self, key: &str, value: &str) {
        self.0.lock().insert(key.to_owned(), value.as_bytes().to_vec());
    }
}

impl CredentialsSource for SecretDouble {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>> {
        let credentials = Credentials::of_secret(&self.0.lock());
        async move { credentials }.boxed()
    }
}

/// A Keystone with one domain, the Secret for it, and a session.
pub(crate) async fn setting() -> (Keystone, SecretDouble, Session) {
    let keystone = Keystone::start("s3cret").await.unwrap();
    keystone.add_domain("d-1", "corp");
    let secret = SecretDouble::default();
    let values = [("url", keystone.url()), ("availability", "public".to_owned())];
    for (key, value) in &values {
        secret.set(key, value);
    }
    for (key, value) in [
        ("username", USER),
        ("password", "s3cret"),
        ("projectName", "service"),
        ("userDomainName", "Default"),
        ("projectDomainName", "Default"),
    ] {
        secret.set(key, value);
    }
    let session = Session::new(&SessionSettings::default(), secret.clone()).unwrap();
    (keystone, secret, session)
}

async fn ask(session: &Session) -> Result<String, String> {
    let answer = session.get("identity", &["domains", "d-1"]).await;
    answer.map(|body| String::from_utf8(body).unwrap()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn one_login_serves_all_calls() {
    let (keystone, _, session) = setting().await;
    let answers = join_all((0..20).map(|_| ask(&session))).await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|body| body.contains("corp"))), "{answers:?}");
    assert_eq!(keystone.logins(), 1);
}

#[tokio::test]
async fn a_token_that_has_expired_is_renewed_once_for_all() {
    let (keystone, _, session) = setting().await;
    ask(&session).await.unwrap();
    keystone.expire_tokens();
    let answers = join_all((0..20).map(|_| ask(&session))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(keystone.logins(), 2);
}

#[tokio::test]
async fn rotated_credentials_are_read_when_the_token_is_renewed() {
    let (keystone, secret, session) = setting().await;
    ask(&session).await.unwrap();
    keystone.set_password("changed");
    keystone.expire_tokens();
    secret.set("password", "changed\n");
    ask(&session).await.unwrap();
    assert_eq!(keystone.logins(), 2);
}

#[tokio::test]
async fn refused_credentials_are_an_error_for_all_who_wait() {
    let (keystone, secret, session) = setting().await;
    secret.set("password", "wrong");
    let answers = join_all((0..20).map(|_| ask(&session))).await;
    let expected = "keystone refuses the credentials: The request you have made requires authentication.";
    assert!(answers.iter().all(|answer| answer.as_ref().is_err_and(|error| error == expected)), "{answers:?}");
    assert_eq!(keystone.requests().len(), 1, "the others share the failure");
}

#[tokio::test]
async fn a_renewal_that_is_refused_names_both_errors() {
    let (keystone, _, session) = setting().await;
    ask(&session).await.unwrap();
    keystone.set_password("changed");
    keystone.expire_tokens();
    let error = ask(&session).await.unwrap_err();
    assert!(
        error.starts_with("Unable to re-authenticate: Expected HTTP response code [200] when accessing [GET http://"),
        "{error}"
    );
    assert!(
        error.ends_with(": keystone refuses the credentials: The request you have made requires authentication."),
        "{error}"
    );
}

#[tokio::test]
async fn an_application_credential_logs_in() {
    let (keystone, secret, session) = setting().await;
    keystone.set_application_credential("ac-1", "key");
    secret.set("applicationCredentialID", "ac-1");
    secret.set("applicationCredentialSecret", "key");
    keystone.set_password("unknown");
    ask(&session).await.unwrap();
}

#[tokio::test]
async fn an_address_without_version_is_discovered() {
    let (keystone, secret, session) = setting().await;
    secret.set("url", &keystone.root_url());
    ask(&session).await.unwrap();
    assert_eq!(keystone.requests(), ["GET /", "POST /v3/auth/tokens", "GET /v3/domains/d-1"]);
}

#[tokio::test]
async fn an_unexpected_status_is_quoted_in_one_line() {
    let (keystone, _, session) = setting().await;
    keystone.set_fault(Some(KeystoneFault::Status(503)));
    let expected = format!(
        "Expected HTTP response code [201 202] when accessing [POST {}/auth/tokens], but got 503 instead: keystone is broken",
        keystone.url()
    );
    assert_eq!(ask(&session).await, Err(expected));
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_an_error() {
    let (keystone, _, session) = setting().await;
    keystone.set_fault(Some(KeystoneFault::Garbage));
    let error = ask(&session).await.unwrap_err();
    assert!(error.starts_with(&format!("the answer of {}/auth/tokens cannot be read: ", keystone.url())), "{error}");
}

#[tokio::test]
async fn a_keystone_that_is_away_is_no_answer() {
    let (keystone, _, session) = setting().await;
    let url = keystone.url();
    drop(keystone);
    tokio::task::yield_now().await;
    let error = ask(&session).await.unwrap_err();
    assert!(error.starts_with(&format!("{url}/auth/tokens did not answer: ")), "{error}");
}

/// A server that answers each request with this head, and then with a body that does not end. Counts the connections and the bytes
/// of bodies that were taken.
async fn hostile(head: String) -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v3", listener.local_addr().unwrap());
    let (connections, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (connections.clone(), taken.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counts.0.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b' '; 1 << 14]).await.is_ok() {
                counts.1.fetch_add(1 << 14, Ordering::Relaxed);
            }
        }
    });
    (url, connections, taken)
}

#[tokio::test]
async fn of_an_endless_answer_of_keystone_only_so_much_is_read() {
    let (_keystone, secret, session) = setting().await;
    let (url, _, taken) = hostile("HTTP/1.1 201 Created\r\nx-subject-token: t\r\n\r\n".to_owned()).await;
    secret.set("url", &url);
    let error = ask(&session).await.unwrap_err();
    assert!(error.contains(&format!("it is longer than {MAX_ANSWER} bytes")), "{error}");
    // The buffers of two sockets hold some MiB besides.
    assert!(taken.load(Ordering::Relaxed) < 64 << 20);
}

#[tokio::test]
async fn credentials_are_not_sent_to_where_keystone_redirects() {
    let (_keystone, secret, session) = setting().await;
    let (elsewhere, connections, _) = hostile("HTTP/1.1 201 Created\r\n\r\n".to_owned()).await;
    let head = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere}\r\ncontent-length: 1\r\n\r\n");
    secret.set("url", &hostile(head).await.0);
    let error = ask(&session).await.unwrap_err();
    assert!(error.contains("307"), "{error}");
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}

#[test]
fn neither_user_nor_password_of_an_address_is_quoted() {
    assert_eq!(without_user("https://user:s3cret@id.example/v3/"), "https://id.example/v3/");
    assert_eq!(quote("a\nb\u{202e}c".as_bytes()), "a b c");
    assert_eq!(quote(&[b'x'; 1000]).len(), MAX_QUOTED);
}
