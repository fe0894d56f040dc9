//! The state of an open watch in the server.

/// How a watch ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Quietly,
    Broken,
}

#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) path: String,
    pub(crate) end: Option<End>,
}
