//! What the tests of the binary share: a control plane, the operator as a process, objects, waiting, and the laws.
//!
//! A test is a story: [`world::World::begin`] gives it an empty cloud and a running operator, it does and expects
//! something, and [`world::World::end`] proves the laws, also over a restart.
#![allow(dead_code, unused_imports, reason = "each test file uses its part")]

pub mod cloud;
pub mod command;
pub mod crowd;
pub mod desk;
pub mod fake_cluster;
pub mod http;
pub mod laws;
pub mod nova;
pub mod objects;
pub mod old_server;
pub mod operator;
pub mod recorded;
pub mod replicas;
pub mod scheduler_stub;
pub mod seen;
pub mod two_clusters;
pub mod unreadable;
pub mod waiting;
pub mod world;
