//! Sessions of `berth-openstack` with a real Keystone and with the double of `berth-testkit`, which must answer the same.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_keystone::{Keystone, Settings, seed};
use berth_openstack::{
    Credentials, CredentialsSource, DomainNames, OpenStackError, SecretValues, Session, SessionSettings,
};
use berth_testkit::keystone::Keystone as KeystoneDouble;
use futures::FutureExt as _;
use futures::future::BoxFuture;

/// The credential of the double; a real Keystone chooses the ID.
const CREDENTIAL: &str = "ac-1";

/// A Secret that tests change.
#[derive(Clone)]
struct Secret(Arc<Mutex<SecretValues>>);

impl Secret {
    /// That of Berth's user, or of another one.
    fn new(url: &str, user: &str) -> Self {
        let secret = Self(Arc::default());
        for (key, value) in [
            ("url", url),
            ("availability", "public"),
            ("username", user),
            ("password", seed::PASSWORD),
            ("projectName", seed::PROJECT),
            ("userDomainName", seed::DOMAIN),
            ("projectDomainName", seed::DOMAIN),
        ] {
            secret.set(key, value);
        }
        secret
    }

    fn set(&self, key: &str, value: &str) {
        self.0.lock().unwrap().insert(key.to_owned(), value.as_bytes().to_vec());
    }
}

impl CredentialsSource for Secret {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>> {
        let credentials = Credentials::of_secret(&self.0.lock().unwrap());
        async move { credentials }.boxed()
    }
}

/// One of both Keystones.
struct Setting {
    url: String,
    root_url: String,
    /// The ID of the domain `corp`.
    corp: String,
    credential: String,
}

impl Setting {
    fn real(keystone: &Keystone) -> Self {
        Self {
            url: keystone.url(),
            root_url: keystone.root_url(),
            corp: keystone.domain(seed::CUSTOMER_DOMAIN).unwrap().to_owned(),
            credential: keystone.application_credential().to_owned(),
        }
    }

    async fn double() -> (KeystoneDouble, Self) {
        let double = KeystoneDouble::start(seed::PASSWORD).await.unwrap();
        double.add_domain("d-1", seed::CUSTOMER_DOMAIN);
        double.set_application_credential(CREDENTIAL, seed::PASSWORD);
        let credential = CREDENTIAL.to_owned();
        let setting = Self { url: double.url(), root_url: double.root_url(), corp: "d-1".to_owned(), credential };
        (double, setting)
    }

    fn secret(&self) -> Secret {
        Secret::new(&self.url, seed::BERTH)
    }

    /// The name of a domain, asked with a new session; of an error everything that does not differ between addresses.
    async fn name_of(&self, domain: &str, secret: &Secret) -> Result<String, String> {
        let name = session(secret).resolve(domain).await;
        let one_text = |error: OpenStackError| error.to_string().replace(&self.url, "URL").replace(&self.corp, "corp");
        name.map(|name| name.to_string()).map_err(one_text)
    }
}

fn session(secret: &Secret) -> DomainNames {
    DomainNames::new(Session::new(&SessionSettings::default(), secret.clone()).unwrap())
}

/// Asks both for the name of the customer's domain, with what `change` makes of the Secret.
async fn compare(change: impl Fn(&Setting, &Secret)) -> Result<String, String> {
    let keystone = Keystone::shared().await.unwrap();
    let (_double, double) = Setting::double().await;
    let mut answers = Vec::new();
    for setting in [Setting::real(&keystone), double] {
        let secret = setting.secret();
        change(&setting, &secret);
        answers.push(setting.name_of(&setting.corp, &secret).await);
    }
    assert_eq!(answers[0], answers[1], "the real Keystone, and the double");
    answers.swap_remove(0)
}

#[tokio::test]
async fn a_password_logs_in_by_every_interface() {
    for interface in ["public", "internal", "admin"] {
        assert_eq!(compare(|_, secret| secret.set("availability", interface)).await.as_deref(), Ok("corp"));
    }
}

#[tokio::test]
async fn an_application_credential_logs_in() {
    let answer = compare(|setting, secret| {
        secret.set("applicationCredentialID", &setting.credential);
        secret.set("applicationCredentialSecret", seed::PASSWORD);
        secret.set("password", "unused");
    });
    assert_eq!(answer.await.as_deref(), Ok("corp"));
}

#[tokio::test]
async fn an_address_without_version_is_discovered() {
    assert_eq!(compare(|setting, secret| secret.set("url", &setting.root_url)).await.as_deref(), Ok("corp"));
}

#[tokio::test]
async fn wrong_credentials_are_refused() {
    let refused = |error: &str| error.starts_with("keystone refuses the credentials: ");
    for (key, value) in [
        ("password", "wrong"),
        ("username", "unknown"),
        ("userDomainName", "unknown"),
        ("projectName", "unknown"),
        ("projectDomainName", "unknown"),
    ] {
        let error = compare(|_, secret| secret.set(key, value)).await.unwrap_err();
        assert!(refused(&error), "{key}: {error}");
    }
    for (id, secret_text) in [("unknown", seed::PASSWORD), ("", "wrong")] {
        let error = compare(|setting, secret| {
            secret.set("applicationCredentialID", if id.is_empty() { &setting.credential } else { id });
            secret.set("applicationCredentialSecret", secret_text);
        });
        let error = error.await.unwrap_err();
        assert!(refused(&error), "{error}");
    }
}

#[tokio::test]
async fn an_unknown_domain_has_no_name() {
    let keystone = Keystone::shared().await.unwrap();
    let (_double, double) = Setting::double().await;
    let mut errors = Vec::new();
    for setting in [Setting::real(&keystone), double] {
        errors.push(setting.name_of("d-9", &setting.secret()).await.unwrap_err());
    }
    assert_eq!(errors[0], errors[1], "the real Keystone, and the double");
    assert!(errors[0].contains("[GET URL/domains/d-9], but got 404 instead: "), "{}", errors[0]);
}

/// A login, a loss of its token, another question.
async fn renews(setting: &Setting, secret: &Secret, lose: impl AsyncFnOnce()) {
    let names = session(secret);
    assert_eq!(names.resolve(&setting.corp).await.as_deref(), Ok("corp"));
    lose().await;
    // The name of the first one is remembered, so this is a call; it fails, but not because of its token.
    let error = names.resolve("d-9").await.unwrap_err().to_string();
    let expected = "Successfully re-authenticated, but got error executing request: Expected HTTP response code [200]";
    assert!(error.starts_with(expected) && error.contains("but got 404"), "{error}");
}

#[tokio::test]
async fn a_revoked_token_is_renewed_with_the_credentials_of_the_secret_then() {
    let keystone = Keystone::shared().await.unwrap();
    keystone.add_user("rotated", &["admin"]).await.unwrap();
    let secret = Secret::new(&keystone.url(), "rotated");
    let change = async || {
        keystone.set_password("rotated", "another").await.unwrap();
        secret.set("password", "another");
        // Keystone revokes what was issued until the second of the change.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    };
    renews(&Setting::real(&keystone), &secret, change).await;

    let (double, setting) = Setting::double().await;
    let secret = setting.secret();
    renews(&setting, &secret, async || {
        double.set_password("another");
        double.expire_tokens();
        secret.set("password", "another");
    })
    .await;
}

#[tokio::test]
async fn an_expired_token_is_renewed() {
    let settings = Settings { token_lifetime: Duration::from_secs(8), ..Settings::default() };
    let keystone = Keystone::start(&settings).await.unwrap();
    let setting = Setting::real(&keystone);
    let wait = async || tokio::time::sleep(settings.token_lifetime + Duration::from_secs(1)).await;
    renews(&setting, &setting.secret(), wait).await;
}

#[tokio::test]
async fn a_keystone_that_comes_back_is_asked_again() {
    let mut keystone = Keystone::start(&Settings::default()).await.unwrap();
    let setting = Setting::real(&keystone);
    let names = session(&setting.secret());
    keystone.kill();
    let error = names.resolve(&setting.corp).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}/auth/tokens did not answer: ", keystone.url())), "{error}");
    keystone.restart().await.unwrap();
    // A failed login counts for a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(names.resolve(&setting.corp).await.as_deref(), Ok("corp"));
}
