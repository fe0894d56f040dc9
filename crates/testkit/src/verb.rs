//! The verbs of requests.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    UpdateStatus,
    Patch,
    PatchStatus,
    Delete,
    DeleteAll,
    Review,
    /// A read of something that is no object: the version, the served kinds.
    #[default]
    Discover,
}

impl Verb {
    /// Whether it can change something.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Review | Self::Discover)
    }

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
            Self::Discover => "discover",
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
