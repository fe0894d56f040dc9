//! Reads one object of the configuration. Reading a key returns its value or default, reports what is wrong, and
//! records the key for the documentation and its value in effect; keys that were never read are reported as unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::finding::{Finding, Findings, KeyDoc, Severity};
use super::mask::MASK;
use super::token::Token;
pub(super) use super::value::Zero;
use super::{duration, value};

/// Everything that comes out of reading besides the values.
#[derive(Debug, Default)]
pub(super) struct ReadReport {
    pub findings: Findings,
    pub keys: Vec<KeyDoc>,
    /// Every key with its value in effect, in the form of the file.
    pub in_effect: Map<String, Value>,
}

/// One JSON object while it is being read.
pub(super) struct Section<'a> {
    values: Option<&'a Map<String, Value>>,
    path: String,
    /// The path with placeholders for the names of entries; `None` when the keys are documented elsewhere.
    pattern: Option<String>,
    asked: BTreeSet<&'static str>,
    /// The keys that were asked for, with their values in effect.
    in_effect: Map<String, Value>,
    report: &'a mut ReadReport,
}

impl<'a> Section<'a> {
    /// The whole configuration.
    pub fn root(values: Option<&'a Map<String, Value>>, report: &'a mut ReadReport) -> Self {
        let (path, pattern) = (String::new(), Some(String::new()));
        Self { values, path, pattern, asked: BTreeSet::new(), in_effect: Map::new(), report }
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &'static str, default: bool, meaning: &'static str) -> bool {
        let flag = self.value(key, "bool", default.to_string(), meaning, value::flag).unwrap_or(default);
        self.settle(key, flag)
    }

    /// `true` or `false`, or absent. `absent` describes the effect.
    pub fn optional_flag(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<bool> {
        self.value(key, "bool", absent.to_owned(), meaning, value::flag)
    }

    /// Text that is never empty; the empty text is the same as an absent key.
    pub fn text(&mut self, key: &'static str, default: &str, meaning: &'static str) -> String {
        let shown = if default.is_empty() { "none".to_owned() } else { default.to_owned() };
        let found = self.value(key, "text", shown, meaning, value::text).filter(|text| !text.is_empty());
        self.settle(key, found.unwrap_or_else(|| default.to_owned()))
    }

    /// Text whose default counts only when the key is absent: an empty one was set on purpose.
    pub fn text_or_empty(&mut self, key: &'static str, default: &str, meaning: &'static str) -> String {
        let found = self.value(key, "text", default.to_owned(), meaning, value::text);
        self.settle(key, found.unwrap_or_else(|| default.to_owned()))
    }

    /// A file, the URL of a PostgreSQL database, or `:memory:`.
    pub fn database(&mut self, key: &'static str, default: &str, meaning: &'static str) -> String {
        let found = self.value(key, "text", default.to_owned(), meaning, value::database);
        self.settle(key, found.filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned()))
    }

    /// Text that may be missing. `absent` describes the effect.
    pub fn optional(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<String> {
        self.value(key, "text", absent.to_owned(), meaning, value::text).filter(|text| !text.is_empty())
    }

    /// A shared secret that may be missing. `absent` describes the effect. Errors do not show the value.
    pub fn token(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<Token> {
        let found = self.value(key, "text", absent.to_owned(), meaning, |found| Ok(found.clone()))?;
        self.settle(key, MASK);
        Token::read(&found).map_err(|wrong| self.error(key, wrong)).ok().flatten()
    }

    /// An `http` or `https` address that may be missing.
    pub fn url(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<String> {
        self.value(key, "URL", absent.to_owned(), meaning, value::url).filter(|text| !text.is_empty())
    }

    /// An `http` or `https` address.
    pub fn url_or(&mut self, key: &'static str, default: &str, meaning: &'static str) -> String {
        let found = self.url(key, default, meaning);
        self.settle(key, found.unwrap_or_else(|| default.to_owned()))
    }

    /// A whole number within `range`.
    pub fn integer(
        &mut self,
        key: &'static str,
        default: i64,
        range: RangeInclusive<i64>,
        meaning: &'static str,
    ) -> i64 {
        let number = self.optional_integer(key, &default.to_string(), range, meaning).unwrap_or(default);
        self.settle(key, number)
    }

    /// A whole number that may be missing. `absent` says what then happens.
    pub fn optional_integer(
        &mut self,
        key: &'static str,
        absent: &str,
        range: RangeInclusive<i64>,
        meaning: &'static str,
    ) -> Option<i64> {
        self.value(key, "integer", absent.to_owned(), meaning, |found| value::integer(found, &range))
    }

    /// A span of time.
    pub fn duration(&mut self, key: &'static str, default: Duration, zero: Zero, meaning: &'static str) -> Duration {
        let parse = |found: &Value| value::duration(found, zero, default);
        let found = self.value(key, "duration", duration::format(default), meaning, parse).unwrap_or(default);
        self.settle(key, duration::format(found));
        found
    }

    /// A number of something, from `least` on.
    pub fn count(&mut self, key: &'static str, default: u32, least: u32, meaning: &'static str) -> usize {
        let range = i64::from(least)..=i64::from(u32::MAX);
        usize::try_from(self.integer(key, default.into(), range, meaning)).unwrap_or(usize::MAX)
    }

    /// A number of something that may be missing. `absent` says what then happens.
    pub fn optional_count(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<usize> {
        let number = self.optional_integer(key, absent, 0..=i64::from(u32::MAX), meaning);
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// A limit; 0 is none.
    pub fn limit(&mut self, key: &'static str, meaning: &'static str) -> Option<u32> {
        let number = self.integer(key, 0, 0..=i64::from(u32::MAX), meaning);
        u32::try_from(number).ok().filter(|limit| *limit > 0)
    }

    /// One of a few words; `default` is the place of the default among them.
    pub fn choice_or<T: Copy, const N: usize>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T); N],
        default: usize,
        meaning: &'static str,
    ) -> T {
        let (word, choice) = choices[default];
        self.choice(key, choices, word, meaning).unwrap_or(choice)
    }

    /// One of a few words.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
        absent: &str,
        meaning: &'static str,
    ) -> Option<T> {
        let kind = value::words(choices.iter().map(|(word, _)| format!("`{word}`")));
        let chosen = self.value(key, &kind, absent.to_owned(), meaning, |found| value::choice(found, choices));
        if chosen.is_none() && choices.iter().any(|(word, _)| *word == absent) {
            self.settle(key, absent);
        }
        chosen
    }

    /// A list of texts; `None` when the key is absent.
    pub fn list(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<Vec<String>> {
        self.value(key, "list of text", absent.to_owned(), meaning, value::list)
    }

    /// A list of texts, empty when the key is absent. `absent` says what then happens.
    pub fn set<C: FromIterator<String>>(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> C {
        self.list(key, absent, meaning).into_iter().flatten().collect()
    }

    /// A file that may be missing. `absent` says what then happens.
    pub fn file(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<PathBuf> {
        self.optional(key, absent, meaning).map(PathBuf::from)
    }

    /// A map from names to texts.
    pub fn texts(&mut self, key: &'static str, meaning: &'static str) -> BTreeMap<String, String> {
        self.value(key, "map of text", "none".to_owned(), meaning, value::texts).unwrap_or_default()
    }

    /// A map from names to whole numbers; `None` when the key is absent.
    pub fn numbers(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<BTreeMap<String, i64>> {
        self.value(key, "map of integers", absent.to_owned(), meaning, value::numbers)
    }

    /// A key that belongs to another program which reads the same file: any value is fine, and may be secret.
    pub fn foreign(&mut self, key: &'static str, meaning: &'static str) {
        if self.value(key, "any", "none".to_owned(), meaning, |_| Ok(())).is_some() {
            self.settle(key, MASK);
        }
    }

    /// What a key says in effect, where that is another value than the one that was found. `null` is the same as absent.
    pub fn settle<T: Clone + Into<Value>>(&mut self, key: &'static str, value: T) -> T {
        self.in_effect.insert(key.to_owned(), value.clone().into());
        value
    }

    /// An object within this one. When it is absent, all its keys are.
    pub fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'_>) -> T) -> T {
        self.asked.insert(key);
        let values = self.present(key).and_then(|found| self.object(key, found));
        let (path, pattern) = (join(&self.path, key), self.pattern(key));
        let (result, in_effect) = Section::nested(values, path, pattern, self.report, read);
        self.settle(key, in_effect);
        result
    }

    /// An object that was called `former` in the previous release. The former key is read with a warning, unless the new
    /// one is present.
    pub fn renamed_section<T>(
        &mut self,
        former: &'static str,
        key: &'static str,
        read: impl FnOnce(&mut Section<'_>) -> T,
    ) -> T {
        self.asked.insert(former);
        if !self.has(former) {
            return self.section(key, read);
        }
        if self.has(key) {
            self.error(former, format!("is the former name of {key}, which is there as well; remove {former}"));
            return self.section(key, read);
        }
        self.warning(former, format!("is deprecated; rename it to {key}"));
        self.asked.insert(key);
        let result = self.section(former, read);
        let in_effect = self.in_effect.remove(former);
        self.in_effect.extend(in_effect.map(|value| (key.to_owned(), value)));
        result
    }

    /// A map from names that people choose to objects of one shape.
    pub fn entries<T>(
        &mut self,
        key: &'static str,
        placeholder: &str,
        read: impl Fn(&mut Section<'_>) -> T,
    ) -> BTreeMap<String, T> {
        self.asked.insert(key);
        let pattern = self.pattern(key).map(|pattern| join(&pattern, placeholder));
        self.describe(pattern.clone(), &read);
        let (all, in_effect) = self.read_entries(key, pattern.as_ref(), read);
        self.settle(key, in_effect);
        all
    }

    /// The same at an old place: the key is documented, the shape of its entries elsewhere.
    pub fn old_entries<T>(
        &mut self,
        key: &'static str,
        meaning: &'static str,
        read: impl Fn(&mut Section<'_>) -> T,
    ) -> BTreeMap<String, T> {
        self.value(key, "map of objects", "none".to_owned(), meaning, |_| Ok(()));
        self.read_entries(key, None, read).0
    }

    fn read_entries<T>(
        &mut self,
        key: &'static str,
        pattern: Option<&String>,
        read: impl Fn(&mut Section<'_>) -> T,
    ) -> (BTreeMap<String, T>, Map<String, Value>) {
        let (mut all, mut effects) = (BTreeMap::new(), Map::new());
        for (name, entry) in self.present(key).and_then(|found| self.object(key, found)).into_iter().flatten() {
            let path = join(&join(&self.path, key), name);
            let values = self.object_at(&path, entry);
            let (result, in_effect) = Section::nested(values, path, pattern.cloned(), self.report, &read);
            all.insert(name.clone(), result);
            effects.insert(name.clone(), Value::Object(in_effect));
        }
        (all, effects)
    }

    /// A list of objects of one shape.
    pub fn items<T>(&mut self, key: &'static str, read: impl Fn(&mut Section<'_>) -> T) -> Vec<T> {
        self.asked.insert(key);
        let pattern = self.pattern(key).map(|pattern| format!("{pattern}[]"));
        self.describe(pattern.clone(), &read);
        let mut effects = self.settle(key, Vec::new());
        let Some(found) = self.present(key) else { return Vec::new() };
        let Value::Array(items) = found else {
            self.error(key, format!("{} is not a list; write [{{...}}, ...]", value::shown(found)));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", join(&self.path, key));
            let values = self.object_at(&path, item);
            let (result, in_effect) = Section::nested(values, path, pattern.clone(), self.report, &read);
            all.push(result);
            effects.push(Value::Object(in_effect));
        }
        self.settle(key, effects);
        all
    }

    /// Whether the key is there with a value.
    pub fn has(&self, key: &str) -> bool {
        self.present(key).is_some()
    }

    /// Whether the key is there with a text that is not empty.
    pub fn has_text(&self, key: &str) -> bool {
        self.present(key).is_some_and(|found| found.as_str() != Some(""))
    }

    /// Whether nothing was wrong with these keys so far: only then comparing their values makes sense.
    pub fn are_sound(&self, keys: &[&str]) -> bool {
        let errors = self.report.findings.0.iter().filter(|finding| finding.severity == Severity::Error);
        let paths: Vec<_> = keys.iter().map(|key| join(&self.path, key)).collect();
        let is_about = |found: &str, path: &str| {
            found.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !errors.into_iter().any(|error| paths.iter().any(|path| is_about(&error.path, path)))
    }

    /// An error unless the first of two spans of time is shorter than the second; `hint` says what to do.
    pub fn check_shorter(&mut self, (key, one): (&str, Duration), (other, limit): (&str, Duration), hint: &str) {
        if self.are_sound(&[key, other]) && one >= limit {
            let (one, limit) = (duration::format(one), duration::format(limit));
            self.error(key, format!("{one} is not shorter than {other} ({limit}); {hint}"));
        }
    }

    /// Something about a key keeps the process from starting.
    pub fn error(&mut self, key: &str, text: String) {
        self.find(Severity::Error, key, text);
    }

    /// Something about a key has no effect.
    pub fn unknown(&mut self, key: &str, text: String) {
        self.find(Severity::Unknown, key, text);
    }

    /// Something about a key should be changed.
    pub fn warning(&mut self, key: &str, text: String) {
        self.find(Severity::Warning, key, text);
    }

    /// Something about a key is worth a line in the log.
    pub fn info(&mut self, key: &str, text: String) {
        self.find(Severity::Info, key, text);
    }

    /// Ends the reading of the whole configuration.
    pub fn finish_root(mut self) {
        self.report.in_effect = mem::take(&mut self.in_effect);
        self.finish();
    }

    /// Reports every key that was not read.
    fn finish(mut self) {
        let Some(values) = self.values else { return };
        for key in values.keys().filter(|key| !self.asked.contains(key.as_str())).cloned().collect::<Vec<_>>() {
            let text = match self.asked.iter().find(|known| known.eq_ignore_ascii_case(&key)) {
                Some(right) => format!("this spelling is not read; write {right}"),
                None => "unknown key, without effect; correct or remove it".to_owned(),
            };
            self.unknown(&key, text);
        }
    }

    fn nested<T>(
        values: Option<&Map<String, Value>>,
        path: String,
        pattern: Option<String>,
        report: &mut ReadReport,
        read: impl FnOnce(&mut Section<'_>) -> T,
    ) -> (T, Map<String, Value>) {
        let in_effect = Map::new();
        let mut section = Section { values, path, pattern, asked: BTreeSet::new(), in_effect, report };
        let result = read(&mut section);
        let in_effect = mem::take(&mut section.in_effect);
        section.finish();
        (result, in_effect)
    }

    /// Records the keys of an entry's shape, also when there is no entry.
    fn describe<T>(&mut self, pattern: Option<String>, read: impl FnOnce(&mut Section<'_>) -> T) {
        let mut scratch = ReadReport::default();
        Section::nested(None, String::new(), pattern, &mut scratch, read);
        scratch.keys.into_iter().for_each(|key| self.record(key));
    }

    /// Any value, read by `parse`, which says what is wrong in the rest of a sentence that begins with the value.
    pub fn value<T>(
        &mut self,
        key: &'static str,
        kind: &str,
        default: String,
        meaning: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        self.asked.insert(key);
        if let Some(path) = self.pattern(key) {
            self.record(KeyDoc { path, kind: kind.to_owned(), default, meaning: meaning.trim_start() });
        }
        self.settle(key, self.present(key).cloned());
        let found = self.present(key)?;
        parse(found).map_err(|wrong| self.error(key, format!("{} {wrong}", value::shown(found)))).ok()
    }

    fn record(&mut self, key: KeyDoc) {
        if !self.report.keys.iter().any(|known| known.path == key.path) {
            self.report.keys.push(key);
        }
    }

    fn pattern(&self, key: &str) -> Option<String> {
        self.pattern.as_ref().map(|pattern| join(pattern, key))
    }

    /// The value of a key; `null` is the same as absent.
    fn present(&self, key: &str) -> Option<&'a Value> {
        self.values?.get(key).filter(|value| !value.is_null())
    }

    fn object(&mut self, key: &str, found: &'a Value) -> Option<&'a Map<String, Value>> {
        self.object_at(&join(&self.path, key), found)
    }

    fn object_at(&mut self, path: &str, found: &'a Value) -> Option<&'a Map<String, Value>> {
        let object = found.as_object();
        if object.is_none() && !found.is_null() {
            let text = format!("{} is not an object; write {{...}}", value::shown(found));
            self.report.findings.0.push(Finding::new(Severity::Error, path.to_owned(), text));
        }
        object
    }

    fn find(&mut self, severity: Severity, key: &str, text: String) {
        let path = join(&self.path, key);
        self.report.findings.0.push(Finding::new(severity, path, text));
    }
}

/// So many seconds.
pub(super) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn join(path: &str, key: &str) -> String {
    let key = value::key_shown(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
