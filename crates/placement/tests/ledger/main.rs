//! What every ledger must do, on SQLite in memory and in a file and on PostgreSQL with two replicas; and what is
//! specific to one of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod commands;
mod concurrent;
mod encrypted;
mod files;
mod first_answers;
mod outages;
mod proxy;
mod replicas;
mod same;
mod statements;
mod world;

/// Runs one test on every kind of ledger.
#[macro_export]
macro_rules! on_every_ledger {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::world::World::memory().await).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::world::World::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::world::World::postgres().await).await;
            })*
        }
    };
}
