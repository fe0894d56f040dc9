//! Attacks on our own servers (docs/security.md): hostile clients on loopback, bounded in number and time, beside a
//! client that behaves.
//!
//! A run fails when a process ends, or when a client that behaves or a probe gets no answer. Times and memory are printed
//! only, because attackers and server share the machine.

mod bodies;
mod connections;
mod goals;
mod observe;
mod readers;
mod scarce;
mod senders;
mod target;
mod wire;

use clap::ValueEnum;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// Attacks that are made together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Attack {
    /// Row A: connections that are idle, silent, new or busy.
    Connections,
    /// Row B: readers that take their time, and honest readers of long lists.
    Readers,
    /// Row C: senders that take their time.
    Senders,
    /// Row D: the largest bodies that the scheduler API admits.
    Bodies,
    /// Row E: few open files, and little address space.
    Scarce,
}

impl Attack {
    pub const ALL: [Self; 5] = [Self::Connections, Self::Readers, Self::Senders, Self::Bodies, Self::Scarce];

    pub async fn measure(self, size: Size) -> Result<Row, Error> {
        match self {
            Self::Connections => connections::measure(size).await,
            Self::Readers => readers::measure(size).await,
            Self::Senders => senders::measure(size).await,
            Self::Bodies => bodies::measure(size).await,
            Self::Scarce => scarce::measure(size).await,
        }
    }
}
