//! Why a request is refused: status, code and text.

use thiserror::Error;

/// A refusal: an error of the request, or a conflict with another writer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Refusal {
    pub kind: Kind,
    /// Clients match on the code from 1.23.
    pub code: Code,
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

    /// 409 with the code of a lost race: a client that reads again may succeed.
    pub fn concurrent(text: impl Into<String>) -> Self {
        Self::conflict(text).with(Code::ConcurrentUpdate)
    }

    /// 409.
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, text)
    }
}
