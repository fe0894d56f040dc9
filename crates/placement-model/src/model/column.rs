//! A vector that is cheap to copy: a copy shares all chunks, and a change copies one of them. It is what makes snapshots of
//! the model cheap while writes go on.

use std::sync::Arc;

const CHUNK: usize = 64;

/// Values by place.
#[derive(Debug, Clone)]
pub struct Column<T> {
    chunks: Arc<Vec<Arc<Vec<T>>>>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { chunks: Arc::default() }
    }
}

impl<T: Clone> Column<T> {
    /// What is at `place`.
    pub fn get(&self, place: usize) -> Option<&T> {
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(place / CHUNK)?;
        Arc::make_mut(chunk).get_mut(place % CHUNK)
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        let chunks = Arc::make_mut(&mut self.chunks);
        match chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(value),
            None => chunks.push(Arc::new({
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                chunk
            })),
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }
}
