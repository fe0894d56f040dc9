//! Why a request is not done, for the one who sent it. It decides the status, the code and the text; how an error looks
//! on the wire is up to the protocol.

use thiserror::Error;

/// A refusal: the fault of the request, or of somebody who was faster.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Refusal {
    /// What kind of refusal.
    pub kind: Kind,
    /// What clients match on from 1.23.
    pub code: Code,
    /// `<m>` of document 51 section 1.4, without the fixed sentence.
    pub text: String,
}

/// The HTTP status of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 400.
    Invalid,
    /// 404.
    NotFound,
    /// 409.
    Conflict,
}

/// The code of an error, `placement.` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "document 51 section 1.4 has the table")]
pub enum Code {
    Undefined,
    ConcurrentUpdate,
    InventoryInUse,
    DuplicateName,
    ProviderInUse,
    CannotDeleteParent,
    ProviderNotFound,
    DuplicateKey,
    BadValue,
    MissingValue,
}

impl Code {
    /// As it stands in an answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Undefined => "placement.undefined_code",
            Self::ConcurrentUpdate => "placement.concurrent_update",
            Self::InventoryInUse => "placement.inventory.inuse",
            Self::DuplicateName => "placement.duplicate_name",
            Self::ProviderInUse => "placement.resource_provider.inuse",
            Self::CannotDeleteParent => "placement.resource_provider.cannot_delete_parent",
            Self::ProviderNotFound => "placement.resource_provider.not_found",
            Self::DuplicateKey => "placement.query.duplicate_key",
            Self::BadValue => "placement.query.bad_value",
            Self::MissingValue => "placement.query.missing_value",
        }
    }
}

impl Refusal {
    /// A refusal with the code that most have.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, code: Code::Undefined, text: text.into() }
    }

    /// The same with another code.
    #[must_use]
    pub fn with(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// 400.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, text)
    }

    /// 404.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, text)
    }

    /// 409 with the code of a lost race: whoever reads again may succeed.
    pub fn concurrent(text: impl Into<String>) -> Self {
        Self::conflict(text).with(Code::ConcurrentUpdate)
    }

    /// 409.
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, text)
    }
}
