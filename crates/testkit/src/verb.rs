//! What a request asks for.

use std::fmt;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all objects of a kind.
    List,
    /// Follow the changes of a kind.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object besides its status.
    Update,
    /// Replace its status.
    UpdateStatus,
    /// Change an object besides its status.
    Patch,
    /// Change its status.
    PatchStatus,
    /// Delete it.
    Delete,
    /// Delete all objects of a kind.
    DeleteAll,
    /// Ask whether something is allowed.
    Review,
    /// Read something that is no object: the version, what is served.
    #[default]
    Look,
}

impl Verb {
    /// True if it can change something.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Review | Self::Look)
    }

    /// As rights name it.
    pub(crate) fn right(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create | Self::Review => "create",
            Self::Update | Self::UpdateStatus => "update",
            Self::Patch | Self::PatchStatus => "patch",
            Self::Delete => "delete",
            Self::DeleteAll => "deletecollection",
            Self::Look => "look",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PatchStatus => "status",
            Self::UpdateStatus => "update-status",
            Self::Review => "review",
            other => other.right(),
        })
    }
}
