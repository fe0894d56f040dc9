//! Calls of OpenStack: logs in to Keystone with the credentials of a Secret, keeps the token, asks for names of domains and for the
//! commitments of Limes, and checks the tokens of callers. Policy files say what these callers may do.
//!
//! Every call has a deadline. A token that has expired is renewed once for all calls that wait for it, with the credentials
//! that the Secret has then, so that rotated credentials take effect without a restart.

pub mod authentication;
mod catalog;
mod certificate;
mod credentials;
mod discovery;
mod domains;
mod error;
pub mod limes;
mod login;
pub mod policy;
mod secret;
mod session;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod tokens;

pub use catalog::Interface;
pub use certificate::ClientCertificate;
pub use credentials::{Credentials, CredentialsSource};
pub use domains::DomainNames;
pub use error::OpenStackError;
pub use secret::{Secret, SecretValues};
pub use session::{Session, SessionSettings};
pub use tokens::{KeystoneTokens, RequestKind, TokenMetrics, TokenValidator, ValidToken, Verdict};
