//! Reads JSON into existing values, so that a member that occurs twice merges with the first, as in Go, and `null`
//! leaves the value as it is. One pass; the path to a wrong member is only built for an error.

use std::cell::RefCell;
use std::fmt;

use berth_core::text::escape_line;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Characters of a wrong text that are shown.
const SHOWN: usize = 60;

/// A bound of entries, with the text that follows the word "expected".
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) entries: usize,
    pub(super) text: &'static str,
}

impl Most {
    /// For hosts: ten times as many as the largest region in the benchmarks has.
    pub(super) const HOSTS: Self = Self { entries: 100_000, text: "at most 100000 entries" };
}

/// A value that is read from JSON. A value of a type that it does not accept is refused with [`Fill::EXPECTED`].
pub(super) trait Fill {
    /// The expected type, to follow the word "expected".
    const EXPECTED: &'static str;

    /// The bound of values of this type in one list or map. Without one a body of the permitted size could use many times its
    /// own memory.
    const MOST: Most = Most { entries: 1000, text: "at most 1000 entries" };

    /// `null`: the value is as if the member were not there.
    fn absent(&mut self) {}

    fn flag(&mut self, _: bool) -> bool {
        false
    }

    /// A number in plain digits; whether it is taken.
    fn whole(&mut self, _: i128) -> bool {
        false
    }

    fn number(&mut self, _: f64) -> bool {
        false
    }

    fn text(&mut self, _: &str) -> bool {
        false
    }

    fn list<'de, A: SeqAccess<'de>>(&mut self, _: A, trail: &Trail) -> Result<(), A::Error> {
        Err(trail.refuse(Self::EXPECTED, "a list"))
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, _: A, trail: &Trail) -> Result<(), A::Error> {
        Err(trail.refuse(Self::EXPECTED, "an object"))
    }
}

/// Where reading has failed, and over what.
#[derive(Debug, Default)]
pub(super) struct Trail {
    steps: RefCell<Vec<String>>,
    wrong: RefCell<Option<(&'static str, String)>>,
}

impl Trail {
    /// Records the expected and the found type.
    pub(super) fn refuse<E: Error>(&self, expected: &'static str, found: impl Into<String>) -> E {
        *self.wrong.borrow_mut() = Some((expected, found.into()));
        E::custom(expected)
    }

    /// Records a step of the path to the error.
    pub(super) fn step<T, E>(&self, result: Result<T, E>, step: impl FnOnce() -> String) -> Result<T, E> {
        result.inspect_err(|_| self.steps.borrow_mut().push(step()))
    }

    /// The path to the error, for example `hosts[3].host`; empty at the top.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.borrow().iter().rev() {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    /// The expected and the found type; `None` if the text is not JSON.
    pub(super) fn wrong(self) -> Option<(&'static str, String)> {
        self.wrong.into_inner()
    }
}

/// Reads one JSON value into an existing value.
pub(super) struct Reading<'a, T>(pub(super) &'a mut T, pub(super) &'a Trail);

impl<T: Fill> Reading<'_, T> {
    fn taken<E: Error>(&self, taken: bool, found: impl FnOnce() -> String) -> Result<(), E> {
        if taken { Ok(()) } else { Err(self.1.refuse(T::EXPECTED, found())) }
    }
}

impl<'de, T: Fill> DeserializeSeed<'de> for Reading<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Fill> Visitor<'de> for Reading<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.absent();
        Ok(())
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<(), E> {
        let taken = self.0.flag(flag);
        self.taken(taken, || flag.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        let taken = self.0.whole(number.into());
        self.taken(taken, || number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        let taken = self.0.whole(number.into());
        self.taken(taken, || number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        let taken = self.0.number(number);
        self.taken(taken, || format!("{number:?}"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let taken = self.0.text(text);
        self.taken(taken, || format!("the text \"{}\"", escape_line(text, SHOWN)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.list(list, self.1)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<(), A::Error> {
        self.0.object(object, self.1)
    }
}

/// Reads the name of a member: one of these, exactly or failing that whatever its case.
pub(super) struct Among(pub(super) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Among {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Among {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let exact = self.0.iter().find(|known| **known == name);
        Ok(exact.or_else(|| self.0.iter().find(|known| known.eq_ignore_ascii_case(name))).copied())
    }
}

pub(super) fn skip_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

pub(super) fn skip_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Lets a structure be read from an object: `member name => field`. Other members are passed over unread.
macro_rules! members {
    ($type:ty { $($name:literal => $field:ident),+ $(,)? } $(, $most:expr)?) => {
        impl $crate::wire::fill::Fill for $type {
            const EXPECTED: &'static str = "an object";
            $(const MOST: $crate::wire::fill::Most = $most;)?

            fn object<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                mut object: A,
                trail: &$crate::wire::fill::Trail,
            ) -> Result<(), A::Error> {
                use crate::wire::fill::{Among, Reading};
                while let Some(name) = object.next_key_seed(Among(&[$($name),+]))? {
                    match name {
                        $(Some($name) => {
                            let read = object.next_value_seed(Reading(&mut self.$field, trail));
                            trail.step(read, || $name.to_owned())?;
                        })+
                        _ => drop(object.next_value::<serde::de::IgnoredAny>()?),
                    }
                }
                Ok(())
            }
        }
    };
}
pub(super) use members;
