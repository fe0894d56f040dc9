//! The controllers of the tests that write the capacities of cores by hand.

pub const WITHOUT_CAPACITY: [&str; 4] = [
    "committed-resource-reservations-controller",
    "quota-controller",
    "inflight-reservation-controller",
    "nova-pipeline-controllers",
];
