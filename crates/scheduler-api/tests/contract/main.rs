//! One contract for every implementation of the scheduler trait: the same tests run against the built-in one in this
//! process and, over TCP and HTTP, against one with the same objects, directly or through a replica that does not lead.
//! The fixture has the intended differences.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod alike;
mod capacity;
mod cloud;
mod fixture;
mod placing;
mod probing;
mod remembering;
mod server;

/// Runs each rule against each scheduler.
macro_rules! contract {
    ($($file:ident: $($rule:ident),+ $(,)?;)+) => {
        mod in_process {
            $($(#[tokio::test]
            async fn $rule() {
                crate::$file::$rule::<crate::fixture::InProcess>().await;
            })+)+
        }

        mod through_a_follower {
            $($(#[tokio::test]
            async fn $rule() {
                crate::$file::$rule::<crate::fixture::ThroughAFollower>().await;
            })+)+
        }

        mod over_http {
            $($(#[tokio::test]
            async fn $rule() {
                crate::$file::$rule::<crate::fixture::OverHttp>().await;
            })+)+
        }
    };
}

contract! {
    placing:
        a_slot_gets_a_host_that_is_good_for_it,
        a_slot_without_a_good_host_learns_how_many_there_were,
        without_any_host_there_is_nowhere_to_go,
        a_slot_counts_with_its_own_size,
        capacity_that_was_given_is_not_given_twice,
        asking_again_gives_the_same_host_and_takes_nothing_more,
        a_slot_is_not_in_its_own_way,
        an_unknown_pipeline_is_named,
        a_flavor_that_no_pipeline_fits_is_an_error,
        a_commitment_is_placed_as_a_whole_or_later,
        a_freed_host_is_found_again;
    probing:
        a_probe_ranks_hosts_and_takes_nothing,
        a_probe_can_be_limited_to_some_hosts,
        controllers_mean_the_hosts_that_they_list,
        a_probe_can_ignore_what_is_there,
        a_probe_for_an_unknown_pipeline_names_it,
        contradicting_options_are_refused,
        the_same_cloud_gives_the_same_order;
    capacity:
        every_scheduler_leads_to_the_same_capacity;
    remembering:
        what_was_placed_is_no_intruder,
        what_another_client_placed_is_checked,
        an_apply_that_failed_leaves_nothing_behind,
        a_write_in_doubt_keeps_its_host,
        a_pin_takes_capacity_on_one_host_only,
        a_pin_around_a_vm_needs_no_capacity_that_the_vm_has,
        capacity_is_reported_or_not_known;
}
