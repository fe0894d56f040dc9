//! What every table of VMs must do, on SQLite and on PostgreSQL; and what is specific to one of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod access;
mod any_text;
mod encrypted;
mod file;
mod outages;
mod same;
mod world;

/// Runs one test on every kind of database.
#[macro_export]
macro_rules! on_every_table {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::world::World::sqlite()).await;
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
