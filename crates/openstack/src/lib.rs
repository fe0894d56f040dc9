//! Calls of OpenStack: logs in to Keystone with the credentials of a Secret, keeps the token, and asks for names of domains and for
//! the commitments of Limes.
//!
//! Every call has a deadline. A token that has expired is renewed once for all calls that wait for it, with the credentials
//! that the Secret has then, so that rotated credentials take effect without a restart.

mod catalog;
mod certificate;
mod credentials;
mod discovery;
mod domains;
mod error;
pub mod limes;
mod login;
mod secret;
mod session;

pub use catalog::Interface;
pub use certificate::ClientCertificate;
pub use credentials::{Credentials, CredentialsSource};
pub use domains::DomainNames;
pub use error::OpenStackError;
pub use secret::{Secret, SecretValues};
pub use session::{Session, SessionSettings};
