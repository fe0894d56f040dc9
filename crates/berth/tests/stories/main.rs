//! The real binary on a real API server: each file tests one part of the operator. The tests share two control planes
//! ([`support::world`]), so that two run at the same time.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod authentication;
mod bad_input;
mod callers;
mod capacity;
mod clusters;
mod config;
mod cores;
mod crds_gone;
mod credentials;
mod disruption_limit;
mod domain_names;
mod every_release;
mod explain;
mod explain_outputs;
mod external_scheduler;
mod hands;
mod histories;
mod host_states;
mod hosts;
mod in_flight;
mod leader;
mod leader_bad_input;
mod life;
mod limes;
mod limes_list;
mod log_level;
mod log_lines;
mod metrics_docs;
mod network;
mod nova;
mod nova_bad_input;
mod nova_replicas;
mod operations;
mod outages;
mod oversubscription;
mod pause;
mod pipelines;
mod placement;
mod placement_files;
mod placement_memory;
mod placement_storm;
mod placement_suite;
mod preflight;
mod restored_etcd;
mod rights;
mod rights_elsewhere;
mod rights_of_people;
mod rights_removed;
mod start;
mod taking_over;
mod tls;
mod usage;
mod vms;
mod who_may_call;
mod wrong_clock;
