//! Reads JSON with bounded nesting (128) and a bounded number of values.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Json;

/// The bound of values in a body.
const MOST_VALUES: usize = 200_000;
/// Members of larger objects are found by a map.
const FEW: usize = 16;

pub fn read(body: &[u8]) -> Result<Json, String> {
    let left = Cell::new(MOST_VALUES);
    let numbers = RefCell::new(Numbers { body, place: 0 });
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = Value { left: &left, numbers: &numbers };
    let value = value.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// An object of these members; of two with one name the last counts.
pub fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
    let mut object = Members::default();
    for (name, value) in members {
        object.set(name, value);
    }
    Json::Object(object.members)
}

/// Reads one value; shares the count of values that are still allowed, and the numbers as they were written.
#[derive(Clone, Copy)]
struct Value<'a> {
    left: &'a Cell<usize>,
    numbers: &'a RefCell<Numbers<'a>>,
}

/// The numbers of a body in their order: the parser makes floats of integers beyond 64 bits.
struct Numbers<'a> {
    body: &'a [u8],
    place: usize,
}

impl<'a> Numbers<'a> {
    /// The next number; of a body that the parser has accepted so far.
    fn next(&mut self) -> &'a [u8] {
        let mut in_string = false;
        while let Some(byte) = self.body.get(self.place) {
            match byte {
                b'\\' if in_string => self.place += 1,
                b'"' => in_string = !in_string,
                b'-' | b'0'..=b'9' if !in_string => break,
                _ => {}
            }
            self.place += 1;
        }
        let rest = self.body.get(self.place..).unwrap_or_default();
        let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.place += length;
        &rest[..length]
    }
}

/// The integer that was written, if it is one.
fn whole(number: &[u8]) -> Option<Json> {
    let text = std::str::from_utf8(number).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole.then(|| text.parse().map_or_else(|_| Json::Digits(text.to_owned()), Json::Whole))
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let left = self.left.get();
        if left == 0 {
            return Err(D::Error::custom(format!("more than {MOST_VALUES} values")));
        }
        self.left.set(left - 1);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        self.numbers.borrow_mut().next();
        Ok(Json::Whole(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        self.numbers.borrow_mut().next();
        Ok(Json::Whole(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(whole(self.numbers.borrow_mut().next()).unwrap_or(Json::Real(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        plain(value).map(|text| Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        plain(&value)?;
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Members::default();
        while let Some(name) = members.next_key::<String>()? {
            plain(&name)?;
            object.set(name, members.next_value_seed(self)?);
        }
        Ok(Json::Object(object.members))
    }
}

/// No database takes the character U+0000.
fn plain<E: Error>(text: &str) -> Result<&str, E> {
    if text.contains('\0') { Err(E::custom("a string contains the character U+0000")) } else { Ok(text) }
}

/// An object that grows.
#[derive(Default)]
struct Members {
    members: Vec<(String, Json)>,
    places: HashMap<String, usize>,
}

impl Members {
    fn set(&mut self, name: String, value: Json) {
        match self.place(&name) {
            Some(place) => self.members[place].1 = value,
            None => self.push(name, value),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.members.len() > FEW {
            return self.places.get(name).copied();
        }
        self.members.iter().position(|(key, _)| key == name)
    }

    fn push(&mut self, name: String, value: Json) {
        if self.members.len() == FEW {
            self.places = self.members.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        }
        if self.members.len() >= FEW {
            self.places.insert(name.clone(), self.members.len());
        }
        self.members.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_keep_their_order_and_the_last_of_two_counts() {
        let value = read(br#"{"z": 1, "a": [null, true, "x"], "z": 2.0, "b": {}}"#).unwrap();
        let list = Json::List(vec![Json::Null, Json::Bool(true), Json::Text("x".to_owned())]);
        let expected = [("z", Json::Real(2.0)), ("a", list), ("b", Json::Object(Vec::new()))];
        assert_eq!(value, Json::Object(expected.map(|(name, value)| (name.to_owned(), value)).to_vec()));
    }

    #[test]
    fn integers_may_be_written_with_a_fraction() {
        let integers = |text: &str| read(text.as_bytes()).unwrap().as_integer();
        assert_eq!(integers("1.0"), Some(1));
        assert_eq!(integers("18446744073709551615"), Some(u64::MAX.into()));
        assert_eq!(integers("99999999999999999999"), Some(99_999_999_999_999_999_999));
        assert_eq!(integers("1e300"), Some(i128::MAX));
        assert_eq!(integers(&"9".repeat(50)), Some(i128::MAX));
        assert_eq!(integers(&format!("-{}", "9".repeat(50))), Some(i128::MIN));
        assert_eq!(integers("1.5").or(integers("true")).or(integers("\"1\"")), None);
    }

    #[test]
    fn what_is_no_json_or_too_much_of_it_is_reported() {
        for bad in ["", "{", "nope", "[1,]", "{} {}", "\"\\u0000\"", "\"\\ud800\"", "{\"a\\u0000\": 1}", "NaN"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(read(b"\xff").is_err());
        assert!(read("[".repeat(100_000).as_bytes()).unwrap_err().contains("recursion"));
        let long = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert!(read(long.as_bytes()).unwrap_err().contains("more than 200000 values"));
    }

    #[test]
    fn objects_with_many_members_are_read_like_small_ones() {
        let text: Vec<String> = (0..60).map(|one| format!("\"k{}\": {one}", one % 40)).collect();
        let value = read(format!("{{{}}}", text.join(",")).as_bytes()).unwrap();
        assert_eq!(value.members().len(), 40);
        assert_eq!(value.get("k3"), Some(&Json::Whole(43)));
        assert_eq!(value.get("k39"), Some(&Json::Whole(39)));
    }

    proptest! {
        #[test]
        fn each_number_is_the_one_that_was_written(numbers in proptest::collection::vec(any::<i128>(), 0..20), text in ".*") {
            let text = serde_json::to_string(&text).unwrap();
            let body: Vec<String> = numbers.iter().map(|number| format!("{{{text}:[1.5,{number},-2,{text}]}}")).collect();
            let value = read(format!("[{}]", body.join(" , ")).as_bytes());
            prop_assume!(!text.contains("\\u0000"));
            let read: Vec<Json> = value.unwrap().elements().iter().map(|one| one.members()[0].1.elements()[1].clone()).collect();
            prop_assert_eq!(read, numbers.into_iter().map(Json::Whole).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
