//! Tests of the server without a socket, over the built-in scheduler and a few hosts.

mod after_the_run;
mod answers;
mod bounds;
mod claim_limits;
mod explain;
mod invalid_requests;
mod leading;
mod quota;
mod refusals;
mod setting;
mod token;
