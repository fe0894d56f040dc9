//! Tests about the house itself are in `tests/`: who may know whom, which files and documents there are, that the
//! documentation names what the code has, and where dependencies come from. There is no code to be used from elsewhere.
