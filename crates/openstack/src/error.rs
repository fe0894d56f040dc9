//! What goes wrong in calls of OpenStack.

use std::time::Duration;

use thiserror::Error;

use crate::secret::Secret;

/// Why a call has no answer. No text has a password or a token in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenStackError {
    /// The Secret with the credentials cannot be read at the moment.
    #[error("the secret {secret} cannot be read: {cause}")]
    Unreadable { secret: Secret, cause: String },
    #[error("the secret {0} does not exist; create it or correct its name in the configuration")]
    NoSecret(Secret),
    #[error("missing {0} in auth secret")]
    MissingKey(&'static str),
    #[error("{0} of the auth secret is not UTF-8 text")]
    NoText(&'static str),
    #[error("availability of the auth secret is {0:?}; it must be public, internal or admin")]
    UnknownInterface(String),
    #[error("url of the auth secret cannot be used: {0}")]
    Url(String),
    #[error("missing '{0}' in SSO secret")]
    MissingCertificateKey(&'static str),
    #[error("missing cert key for SSO")]
    CertificateWithoutKey,
    #[error("failed to load client certificate: {0}")]
    Certificate(String),
    #[error("no HTTP client with these settings: {0}")]
    Client(String),
    /// Keystone does not accept user and password, or the application credential.
    #[error("keystone refuses the credentials: {0}")]
    Refused(String),
    #[error("keystone does not let our user validate the tokens of others; give it the role service or admin")]
    MayNotValidate,
    #[error("No suitable endpoint could be found in the service catalog.")]
    NoEndpoint,
    #[error(
        "Expected HTTP response code [{expected}] when accessing [{method} {url}], but got {status} instead: {body}"
    )]
    Status { method: &'static str, url: String, expected: &'static str, status: u16, body: String },
    /// The call failed or was too late, so the answer is unknown.
    #[error("{url} did not answer: {cause}")]
    Unanswered { url: String, cause: String },
    /// The server cannot answer now: the same call may succeed later.
    #[error("{url} cannot answer at the moment ({status}): {body}")]
    Busy { url: String, status: u16, retry_after: Option<Duration>, body: String },
    #[error("the answer of {url} cannot be read: {cause}")]
    Malformed { url: String, cause: String },
    #[error("Unable to re-authenticate: {first}: {second}")]
    Renewal { first: Box<Self>, second: Box<Self> },
    #[error("Successfully re-authenticated, but got error executing request: {0}")]
    AfterRenewal(Box<Self>),
}

impl OpenStackError {
    /// Whether the service does not know what was asked for.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Status { status: 404, .. } => true,
            Self::AfterRenewal(error) => error.is_not_found(),
            _ => false,
        }
    }

    /// Whether the same call may succeed soon, and when the server wants it, if it says so.
    pub fn is_busy(&self) -> Option<Option<Duration>> {
        match self {
            Self::Busy { retry_after, .. } => Some(*retry_after),
            Self::AfterRenewal(error) => error.is_busy(),
            _ => None,
        }
    }

    /// Whether the token or the credentials were not accepted.
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Status { status: 401, .. } | Self::Refused(_))
    }
}
