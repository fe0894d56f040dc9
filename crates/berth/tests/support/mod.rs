//! The fixtures of the tests of the binary: a control plane, the operator as a process, objects, waiting, and the
//! invariants.
//!
//! A test begins with [`world::World::begin`], which gives it an empty cloud and a running operator, and ends with
//! [`world::World::end`], which checks the invariants, also across a restart.
#![allow(dead_code, unused_imports, reason = "each test file uses its part")]

pub mod api_proxy;
pub mod chronicle;
pub mod cloud;
pub mod command;
pub mod controllers;
pub mod crowd;
pub mod desk;
pub mod fake_cluster;
pub mod free_ports;
pub mod host_checker;
pub mod host_states;
pub mod http;
pub mod invariants;
pub mod keystone;
pub mod nova;
pub mod objects;
pub mod old_server;
pub mod operator;
pub mod recorded;
pub mod replicas;
pub mod scheduler_stub;
pub mod seen;
pub mod sockets;
pub mod two_clusters;
pub mod unreadable;
pub mod vm_table;
pub mod waiting;
pub mod world;
pub mod wrong_clock;
