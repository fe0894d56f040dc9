//! The scenarios of changes of commitments, each without a fault, with a process that ends before and after every write,
//! and with seeds for the order of reconciliations and for faults.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../support/mod.rs"]
mod support;

mod case;
mod modes;
mod run;
mod scenarios;
mod served;
mod stage;
mod test_clock;

/// One module with three tests for each scenario.
macro_rules! scenarios {
    ($($modes:ident: $family:ident::$name:ident)*) => { $(
        mod $name {
            use crate::{$modes, scenarios};

            #[tokio::test(start_paused = true)]
            async fn ends_as_expected_without_a_fault() {
                $modes::run_without_a_fault(&scenarios::$family::$name()).await;
            }

            #[tokio::test(start_paused = true)]
            async fn a_process_that_ends_before_or_after_any_write_leaves_all_or_nothing() {
                $modes::end_at_every_write(stringify!($name), &scenarios::$family::$name()).await;
            }

            #[tokio::test(start_paused = true)]
            async fn any_order_of_reconciliations_ends_as_expected() {
                $modes::run_seeds(&scenarios::$family::$name()).await;
            }
        }
    )* };
}

scenarios! {
    modes: selling::sell
    modes: selling::sell_rejected
    modes: selling::grow_shrink_delete
    modes: selling::grow_over_vms
    modes: splitting::split
    modes: splitting::split_with_vms
    modes: splitting::merge
    modes: converting::convert
    modes: converting::convert_full
    modes: converting::convert_while_others_wait
    modes: converting::convert_cores
    modes: moving::transfer
    modes: moving::transfer_with_vms
    modes: moving::consume_with_left_over
    modes: prolonging::prolong_after_host_loss
    modes: prolonging::prolong_expired
    modes: disturbed::delete_open_change
    modes: disturbed::wrong_clock
    modes: disturbed::client_gone
    served: asking::client_gone_while_it_waits
    served: asking::two_at_once
    served: asking::forwarded
    modes: disturbed::take_over_in_a_change
    modes: disturbed::pause_in_a_change
    modes: disturbed::zone_cluster_away
    served: asking::zone_cluster_away_while_clients_wait
}
