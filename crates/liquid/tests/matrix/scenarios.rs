//! The scenarios, by what Limes wants.

pub mod asking;
pub mod converting;
pub mod disturbed;
pub mod moving;
pub mod prolonging;
pub mod selling;
pub mod splitting;
