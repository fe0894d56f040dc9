//! A watch that is open, as the server knows it.

/// How a watch ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In good order.
    Quietly,
    /// The connection breaks.
    Broken,
}

/// A watch that is open.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) path: String,
    pub(crate) end: Option<End>,
}
