//! What a controller reconciles.

use std::fmt;

use crate::ObjectKey;

/// The key that a controller reconciles: the key of an object, or a value without an object, such as a project. Two
/// keys with the same text must be the same key.
pub trait Key: Clone + Ord + fmt::Debug + fmt::Display + Send + Sync + 'static {}

impl Key for ObjectKey {}

#[cfg(test)]
impl Key for u32 {}
