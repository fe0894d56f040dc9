//! A vector that is cheap to copy: copies share all chunks, and a change copies one. This makes snapshots of the model
//! cheap.

use std::sync::Arc;

const CHUNK: usize = 64;

/// Values by place; a place without a value has none.
#[derive(Debug, Clone)]
pub struct Column<T> {
    chunks: Arc<Vec<Chunk<T>>>,
    len: usize,
}

type Chunk<T> = Arc<[Option<T>; CHUNK]>;

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<T: Clone> Column<T> {
    pub fn get(&self, place: usize) -> Option<&T> {
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref()
    }

    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.place(place)?.as_mut()
    }

    /// Sets the value at a place that was [added](Self::add).
    pub fn set(&mut self, place: usize, value: Option<T>) {
        if let Some(old) = self.place(place) {
            *old = value;
        }
    }

    fn place(&mut self, place: usize) -> Option<&mut Option<T>> {
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(place / CHUNK)?;
        Arc::make_mut(chunk).get_mut(place % CHUNK)
    }

    pub fn add(&mut self) -> usize {
        if self.len.is_multiple_of(CHUNK) {
            Arc::make_mut(&mut self.chunks).push(Arc::new(std::array::from_fn(|_| None)));
        }
        self.len += 1;
        self.len - 1
    }

    pub fn len(&self) -> usize {
        self.len
    }
}
