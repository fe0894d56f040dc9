//! Tests of the server without a socket, over the scheduler itself and a few hosts.

mod after_the_run;
mod answers;
mod bounds;
mod leading;
mod nonsense;
mod refusals;
mod setting;
mod token;
