//! A sorted map that is cheap to copy: chunks of pairs, of which a change copies one.

use std::sync::Arc;

const CHUNK: usize = 128;

/// Values by key.
#[derive(Debug, Clone)]
pub struct Sorted<K, V> {
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

type Chunk<K, V> = Arc<Vec<(K, V)>>;

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<K: Ord + Clone, V: Clone> Sorted<K, V> {
    fn chunk_of(&self, key: &K) -> usize {
        self.chunks.partition_point(|chunk| chunk.first().is_some_and(|pair| pair.0 <= *key)).saturating_sub(1)
    }

    fn place(&self, key: &K) -> (usize, Result<usize, usize>) {
        let chunk = self.chunk_of(key);
        let pairs = self.chunks.get(chunk).map_or(&[][..], |pairs| pairs.as_slice());
        (chunk, pairs.binary_search_by(|pair| pair.0.cmp(key)))
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let (chunk, place) = self.place(key);
        let place = place.ok()?;
        self.chunks.get(chunk)?.get(place).map(|pair| &pair.1)
    }

    pub fn insert(&mut self, key: K, value: V) {
        let (chunk, place) = self.place(&key);
        match place {
            Ok(place) => Arc::make_mut(&mut Arc::make_mut(&mut self.chunks)[chunk])[place].1 = value,
            Err(place) => {
                self.len += 1;
                self.insert_at(chunk, place, (key, value));
            }
        }
    }

    fn insert_at(&mut self, chunk: usize, place: usize, pair: (K, V)) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let is_at_end = chunk + 1 >= chunks.len();
        let Some(pairs) = chunks.get_mut(chunk) else { return chunks.push(Arc::new(vec![pair])) };
        if pairs.len() < CHUNK {
            return Arc::make_mut(pairs).insert(place, pair);
        }
        if is_at_end && place == CHUNK {
            return chunks.push(Arc::new(vec![pair]));
        }
        let pairs = Arc::make_mut(pairs);
        pairs.insert(place, pair);
        let upper = pairs.split_off(CHUNK / 2);
        chunks.insert(chunk + 1, Arc::new(upper));
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (chunk, place) = self.place(key);
        let place = place.ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let (_, value) = Arc::make_mut(&mut chunks[chunk]).remove(place);
        if chunks[chunk].is_empty() {
            chunks.remove(chunk);
        }
        self.len -= 1;
        Some(value)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|pair| (&pair.0, &pair.1)))
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|pair| pair.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_and_copies_do_not_change(steps in proptest::collection::vec((any::<bool>(), 0_u16..600), 0..2000)) {
            let (mut map, mut model) = (Sorted::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for (number, (is_insert, key)) in steps.into_iter().enumerate() {
                if is_insert {
                    map.insert(key, number);
                    model.insert(key, number);
                } else {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                }
                if number % 300 == 0 {
                    copies.push((map.clone(), model.clone()));
                }
            }
            copies.push((map, model));
            for (map, model) in copies {
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert_eq!(map.len(), model.len());
                for key in 0..600 {
                    prop_assert_eq!(map.get(&key), model.get(&key));
                }
            }
        }
    }
}
