//! How each kind of value is read: numbers, texts, lists, maps, wrapped objects. The objects of the API are in
//! `members`.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use berth_core::HostName;
use berth_core::text::escape_line;
use serde::de::{MapAccess, SeqAccess};
use serde_json::{Map, Number, Value};

use super::fill::{Among, Fill, Reading, Trail, skip_list, skip_object};

/// Characters of the key of a map that are shown.
const SHOWN_KEY: usize = 60;

impl Fill for bool {
    const EXPECTED: &'static str = "true or false";

    fn flag(&mut self, flag: bool) -> bool {
        *self = flag;
        true
    }
}

impl Fill for u64 {
    const EXPECTED: &'static str = "a whole number from 0";

    fn whole(&mut self, number: i128) -> bool {
        u64::try_from(number).map(|number| *self = number).is_ok()
    }
}

impl Fill for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn whole(&mut self, number: i128) -> bool {
        i64::try_from(number).map(|number| *self = number).is_ok()
    }

    /// `-0` is written with plain digits, and a fraction to the parser.
    fn number(&mut self, number: f64) -> bool {
        let zero = number.to_bits() == (-0.0_f64).to_bits();
        if zero {
            *self = 0;
        }
        zero
    }
}

impl Fill for f64 {
    const EXPECTED: &'static str = "a number";

    #[expect(clippy::cast_precision_loss, reason = "any number is written as a double")]
    fn whole(&mut self, number: i128) -> bool {
        *self = number as f64;
        true
    }

    fn number(&mut self, number: f64) -> bool {
        *self = number;
        true
    }
}

impl Fill for String {
    const EXPECTED: &'static str = "a text";

    fn text(&mut self, text: &str) -> bool {
        text.clone_into(self);
        true
    }
}

/// Without a value until there is one, because an empty name costs as much as any other.
impl Fill for Option<HostName> {
    const EXPECTED: &'static str = "a text";

    fn text(&mut self, text: &str) -> bool {
        *self = Some(text.into());
        true
    }
}

impl<T: Fill + Default> Fill for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn absent(&mut self) {
        self.clear();
    }

    fn list<'de, A: SeqAccess<'de>>(&mut self, mut list: A, trail: &Trail) -> Result<(), A::Error> {
        self.clear();
        loop {
            let mut element = T::default();
            let read = list.next_element_seed(Reading(&mut element, trail));
            if trail.step(read, || format!("[{}]", self.len()))?.is_none() {
                return Ok(());
            }
            if self.len() == T::MOST.entries {
                return Err(trail.refuse(T::MOST.text, "more"));
            }
            self.push(element);
        }
    }
}

/// The common interface of both kinds of maps.
trait Entries<V> {
    /// Adds a value, and returns the number of values.
    fn put(&mut self, key: String, value: V) -> usize;
}

impl<V> Entries<V> for BTreeMap<String, V> {
    fn put(&mut self, key: String, value: V) -> usize {
        self.insert(key, value);
        self.len()
    }
}

impl<V, S: BuildHasher> Entries<V> for HashMap<String, V, S> {
    fn put(&mut self, key: String, value: V) -> usize {
        self.insert(key, value);
        self.len()
    }
}

fn fill_map<'de, V: Fill + Default, A: MapAccess<'de>>(
    map: &mut impl Entries<V>,
    mut object: A,
    trail: &Trail,
) -> Result<(), A::Error> {
    while let Some(key) = object.next_key::<String>()? {
        let mut value = V::default();
        let read = object.next_value_seed(Reading(&mut value, trail));
        trail.step(read, || escape_line(&key, SHOWN_KEY))?;
        if map.put(key, value) > V::MOST.entries {
            return Err(trail.refuse(V::MOST.text, "more"));
        }
    }
    Ok(())
}

impl<V: Fill + Default> Fill for BTreeMap<String, V> {
    const EXPECTED: &'static str = "an object";

    fn absent(&mut self) {
        self.clear();
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, object: A, trail: &Trail) -> Result<(), A::Error> {
        fill_map(self, object, trail)
    }
}

impl<V: Fill + Default, S: BuildHasher> Fill for HashMap<String, V, S> {
    const EXPECTED: &'static str = "an object";

    fn absent(&mut self) {
        self.clear();
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, object: A, trail: &Trail) -> Result<(), A::Error> {
        fill_map(self, object, trail)
    }
}

/// An object that may be missing.
#[derive(Debug)]
pub(super) struct Maybe<T>(pub(super) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Fill + Default> Fill for Maybe<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn absent(&mut self) {
        self.0 = None;
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, object: A, trail: &Trail) -> Result<(), A::Error> {
        self.0.get_or_insert_default().object(object, trail)
    }
}

/// An object in Nova's wrapper. Paths do not name the wrapper.
#[derive(Debug, Default)]
pub(super) struct Wrapped<T>(pub(super) T);

impl<T: Fill> Fill for Wrapped<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A, trail: &Trail) -> Result<(), A::Error> {
        while let Some(name) = object.next_key_seed(Among(&["nova_object.data"]))? {
            if name.is_some() {
                object.next_value_seed(Reading(&mut self.0, trail))?;
            } else {
                object.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A value of a map of anything. Of a list only the first element is kept, and of an object nothing, because hints,
/// image properties and rules use nothing else.
impl Fill for Value {
    const EXPECTED: &'static str = "any value";

    fn absent(&mut self) {
        *self = Value::Null;
    }

    fn flag(&mut self, flag: bool) -> bool {
        *self = flag.into();
        true
    }

    fn whole(&mut self, number: i128) -> bool {
        *self = Number::from_i128(number).map_or(Value::Null, Value::Number);
        true
    }

    fn number(&mut self, number: f64) -> bool {
        *self = number.into();
        true
    }

    fn text(&mut self, text: &str) -> bool {
        *self = text.into();
        true
    }

    fn list<'de, A: SeqAccess<'de>>(&mut self, mut list: A, trail: &Trail) -> Result<(), A::Error> {
        let mut first = Scalar::default();
        let any = list.next_element_seed(Reading(&mut first, trail))?;
        skip_list(list)?;
        *self = Value::Array(any.map(|()| first.0).into_iter().collect());
        Ok(())
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, object: A, _: &Trail) -> Result<(), A::Error> {
        skip_object(object)?;
        *self = Value::Object(Map::new());
        Ok(())
    }
}

/// A value of which nothing is kept when it has parts.
#[derive(Debug, Default)]
struct Scalar(Value);

impl Fill for Scalar {
    const EXPECTED: &'static str = "any value";

    fn flag(&mut self, flag: bool) -> bool {
        self.0.flag(flag)
    }

    fn whole(&mut self, number: i128) -> bool {
        self.0.whole(number)
    }

    fn number(&mut self, number: f64) -> bool {
        self.0.number(number)
    }

    fn text(&mut self, text: &str) -> bool {
        self.0.text(text)
    }

    fn list<'de, A: SeqAccess<'de>>(&mut self, list: A, _: &Trail) -> Result<(), A::Error> {
        self.0 = Value::Array(Vec::new());
        skip_list(list)
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, object: A, trail: &Trail) -> Result<(), A::Error> {
        self.0.object(object, trail)
    }
}
