//! Who decides at the moment: runs that change something are for the leader alone.

/// What this process is to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads, and has read everything that it needs to decide.
    Leader,
    /// Another process leads, or nobody does.
    Follower {
        /// Where the leader answers, for example `http://10.0.0.7:8080`; `None` while nobody is known to lead.
        leader: Option<String>,
    },
}
