//! The role of this process: only the leader carries out requests that change something.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads, and has read everything that it needs to decide.
    Leader,
    Follower {
        /// Where the leader answers, for example `http://10.0.0.7:8080`; `None` while no leader is known.
        leader: Option<String>,
    },
}
