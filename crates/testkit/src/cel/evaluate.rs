//! The value of an expression. Strings of the format date-time are times, fields may be missing, and `||` and `&&`
//! ignore an error on one side when the other side decides.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use serde_json::Value;

use super::parse::{Expression, Function, Literal, Operator};

/// The parts of a value's schema that expressions depend on.
pub(crate) trait Typed: fmt::Debug {
    fn child(&self, field: &str) -> Option<&dyn Typed>;
    fn item(&self) -> Option<&dyn Typed>;
    /// Whether strings are times.
    fn is_time(&self) -> bool;
    /// Whether numbers may have fractions.
    fn is_number(&self) -> bool;
}

/// The values that a rule is evaluated for.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) this: &'a Value,
    pub(crate) old: Option<&'a Value>,
    pub(crate) schema: &'a dyn Typed,
    /// Whether `oldSelf` may be absent: it is an optional value then.
    pub(crate) optional_old: bool,
}

pub(super) const TYPES: [&str; 6] = ["string", "int", "double", "bool", "list", "map"];

/// A value while a rule is evaluated.
#[derive(Clone, Debug)]
enum Cel<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    Time(Timestamp),
    /// An object or a list with its schema.
    Tree(&'a Value, Option<&'a dyn Typed>),
    List(Vec<Self>),
    Type(&'static str),
    Optional(Option<Box<Self>>),
}

type Evaluated<'a> = Result<Cel<'a>, String>;

/// The values of names.
#[derive(Clone)]
struct Names<'a> {
    scope: Scope<'a>,
    bound: Option<(&'a str, Cel<'a>)>,
}

pub(super) fn truth(expression: &Expression, scope: Scope<'_>) -> Result<bool, String> {
    evaluate(expression, &Names { scope, bound: None }).and_then(|value| boolean(&value))
}

pub(super) fn text(expression: &Expression, scope: Scope<'_>) -> Result<String, String> {
    match evaluate(expression, &Names { scope, bound: None })? {
        Cel::Text(text) => Ok(text.into_owned()),
        other => Err(format!("{other:?} is no text")),
    }
}

/// Collects all names that are not bound in the expression itself.
pub(super) fn free_names(expression: &Expression, names: &mut BTreeSet<String>) {
    use Expression::{All, Binary, Call, Choice, Has, Index, List, Literal, Matches, Name, Not, Select};
    match expression {
        Literal(_) => {}
        Name(name) => drop(names.insert(name.clone())),
        List(all) | Call(_, all) => all.iter().for_each(|one| free_names(one, names)),
        Select(of, _) | Has(of, _) | Matches(of, _) | Not(of) => free_names(of, names),
        Index(a, b) | Binary(_, a, b) => [a, b].iter().for_each(|one| free_names(one, names)),
        Choice(a, b, c) => [a, b, c].iter().for_each(|one| free_names(one, names)),
        All(of, bound, holds) => {
            let mut inner = BTreeSet::new();
            free_names(holds, &mut inner);
            inner.remove(bound);
            names.append(&mut inner);
            free_names(of, names);
        }
    }
}

fn evaluate<'a>(expression: &'a Expression, names: &Names<'a>) -> Evaluated<'a> {
    match expression {
        Expression::Literal(literal) => Ok(constant(literal)),
        Expression::List(all) => all.iter().map(|one| evaluate(one, names)).collect::<Result<_, _>>().map(Cel::List),
        Expression::Name(name) => names.get(name),
        Expression::Select(of, field) => {
            let of = evaluate(of, names)?;
            member(&of, field).ok_or_else(|| format!("no such key: {field}"))
        }
        Expression::Index(of, key) => index(&evaluate(of, names)?, &evaluate(key, names)?),
        Expression::Has(of, field) => Ok(Cel::Bool(member(&evaluate(of, names)?, field).is_some())),
        Expression::Matches(of, pattern) => Ok(Cel::Bool(pattern.is_match(string(&evaluate(of, names)?)?))),
        Expression::All(of, name, holds) => all(&evaluate(of, names)?, name, holds, names),
        Expression::Call(function, arguments) => {
            let arguments: Vec<_> = arguments.iter().map(|one| evaluate(one, names)).collect::<Result<_, _>>()?;
            call(*function, &arguments)
        }
        Expression::Not(of) => Ok(Cel::Bool(!boolean(&evaluate(of, names)?)?)),
        Expression::Binary(Operator::Or, a, b) => either(a, b, true, names),
        Expression::Binary(Operator::And, a, b) => either(a, b, false, names),
        Expression::Binary(operator, a, b) => binary(*operator, evaluate(a, names)?, evaluate(b, names)?),
        Expression::Choice(condition, yes, no) => {
            let chosen = if boolean(&evaluate(condition, names)?)? { yes } else { no };
            evaluate(chosen, names)
        }
    }
}

impl<'a> Names<'a> {
    fn get(&self, name: &str) -> Evaluated<'a> {
        if let Some((bound, value)) = &self.bound
            && *bound == name
        {
            return Ok(value.clone());
        }
        let Scope { this, old, schema, optional_old } = self.scope;
        match name {
            "self" => Ok(typed(this, Some(schema))),
            // The real API server does not convert the times in it.
            "oldSelf" if optional_old => Ok(Cel::Optional(old.map(|old| Box::new(typed(old, None))))),
            "oldSelf" => old.map(|old| typed(old, Some(schema))).ok_or_else(|| "there is no oldSelf".to_owned()),
            name => TYPES
                .iter()
                .find(|known| **known == name)
                .map(|known| Cel::Type(known))
                .ok_or_else(|| format!("{name} is not known here")),
        }
    }
}

fn constant(literal: &Literal) -> Cel<'_> {
    match literal {
        Literal::Null => Cel::Null,
        Literal::Bool(value) => Cel::Bool(*value),
        Literal::Int(value) => Cel::Int(*value),
        Literal::Double(value) => Cel::Double(*value),
        Literal::Text(value) => Cel::Text(Cow::Borrowed(value)),
    }
}

/// A value of an object, typed by its schema.
fn typed<'a>(value: &'a Value, schema: Option<&'a dyn Typed>) -> Cel<'a> {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if !schema.is_some_and(Typed::is_number) => Cel::Int(whole),
            _ => Cel::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => match schema.filter(|schema| schema.is_time()).and_then(|_| time(text)) {
            Some(time) => Cel::Time(time),
            None => Cel::Text(Cow::Borrowed(text)),
        },
        Value::Array(_) | Value::Object(_) => Cel::Tree(value, schema),
    }
}

/// A date; one that is later than our type of times can show is the last one.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    let is_late = || Pieces::parse(text).is_ok_and(|pieces| pieces.offset().is_some() && pieces.date().year() == 9999);
    text.parse().ok().or_else(|| is_late().then_some(Timestamp::MAX))
}

fn member<'a>(of: &Cel<'a>, field: &str) -> Option<Cel<'a>> {
    let Cel::Tree(Value::Object(fields), schema) = of else { return None };
    let value = fields.get(field)?;
    Some(typed(value, schema.and_then(|schema| schema.child(field))))
}

fn index<'a>(of: &Cel<'a>, key: &Cel<'a>) -> Evaluated<'a> {
    let found = match (of, key) {
        (Cel::Tree(Value::Object(_), _), Cel::Text(key)) => member(of, key),
        (Cel::Tree(Value::Array(all), schema), Cel::Int(at)) => {
            let value = usize::try_from(*at).ok().and_then(|at| all.get(at));
            value.map(|value| typed(value, schema.and_then(|schema| schema.item())))
        }
        _ => None,
    };
    found.ok_or_else(|| format!("no such key: {key:?}"))
}

fn all<'a>(of: &Cel<'a>, name: &'a str, holds: &'a Expression, names: &Names<'a>) -> Evaluated<'a> {
    let elements: Vec<Cel<'a>> = match of {
        Cel::Tree(Value::Object(fields), _) => fields.keys().map(|key| Cel::Text(Cow::Borrowed(key))).collect(),
        Cel::Tree(Value::Array(all), schema) => {
            all.iter().map(|one| typed(one, schema.and_then(|schema| schema.item()))).collect()
        }
        other => return Err(format!("{other:?} has no elements")),
    };
    for element in elements {
        let names = Names { scope: names.scope, bound: Some((name, element)) };
        if !boolean(&evaluate(holds, &names)?)? {
            return Ok(Cel::Bool(false));
        }
    }
    Ok(Cel::Bool(true))
}

/// `||` for true and `&&` for false: a side with this value decides, even if the other one is an error.
fn either<'a>(a: &'a Expression, b: &'a Expression, decides: bool, names: &Names<'a>) -> Evaluated<'a> {
    let side = |side| evaluate(side, names).and_then(|value| boolean(&value));
    match side(a) {
        Ok(value) if value == decides => Ok(Cel::Bool(decides)),
        Ok(_) => side(b).map(Cel::Bool),
        Err(error) => match side(b) {
            Ok(value) if value == decides => Ok(Cel::Bool(decides)),
            _ => Err(error),
        },
    }
}

fn binary<'a>(operator: Operator, a: Cel<'a>, b: Cel<'a>) -> Evaluated<'a> {
    let order = |wanted: fn(Ordering) -> bool| {
        let order = compare(&a, &b).ok_or_else(|| format!("{a:?} and {b:?} cannot be compared"))?;
        Ok(Cel::Bool(wanted(order)))
    };
    match operator {
        Operator::Equal => Ok(Cel::Bool(equal(&a, &b))),
        Operator::NotEqual => Ok(Cel::Bool(!equal(&a, &b))),
        Operator::Less => order(Ordering::is_lt),
        Operator::LessOrEqual => order(Ordering::is_le),
        Operator::Greater => order(Ordering::is_gt),
        Operator::GreaterOrEqual => order(Ordering::is_ge),
        Operator::In => contains(&a, &b).map(Cel::Bool),
        Operator::Add => add(a, &b),
        Operator::Subtract => match (a, b) {
            (Cel::Int(a), Cel::Int(b)) => a.checked_sub(b).map(Cel::Int).ok_or_else(|| "overflow".to_owned()),
            (a, b) => Err(format!("{b:?} cannot be taken from {a:?}")),
        },
        Operator::Or | Operator::And => Err("not reached: both are evaluated by their sides".to_owned()),
    }
}

fn add<'a>(a: Cel<'a>, b: &Cel<'a>) -> Evaluated<'a> {
    match (a, b) {
        (Cel::Int(a), Cel::Int(b)) => a.checked_add(*b).map(Cel::Int).ok_or_else(|| "overflow".to_owned()),
        (Cel::Text(a), Cel::Text(b)) => Ok(Cel::Text(Cow::Owned(a.into_owned() + b))),
        (a, b) => Err(format!("{a:?} and {b:?} cannot be added")),
    }
}

/// Numbers are compared by value, whatever their type.
fn compare(a: &Cel<'_>, b: &Cel<'_>) -> Option<Ordering> {
    match (a, b) {
        (Cel::Int(a), Cel::Int(b)) => Some(a.cmp(b)),
        (Cel::Text(a), Cel::Text(b)) => Some(a.cmp(b)),
        (Cel::Time(a), Cel::Time(b)) => Some(a.cmp(b)),
        _ => double(a)?.partial_cmp(&double(b)?),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rules compare small numbers")]
fn double(value: &Cel<'_>) -> Option<f64> {
    match value {
        Cel::Int(value) => Some(*value as f64),
        Cel::Double(value) => Some(*value),
        _ => None,
    }
}

fn equal(a: &Cel<'_>, b: &Cel<'_>) -> bool {
    match (a, b) {
        (Cel::Null, Cel::Null) => true,
        (Cel::Bool(a), Cel::Bool(b)) => a == b,
        (Cel::Type(a), Cel::Type(b)) => a == b,
        (Cel::Tree(a, _), Cel::Tree(b, _)) => a == b,
        _ => compare(a, b) == Some(Ordering::Equal),
    }
}

fn contains(element: &Cel<'_>, all: &Cel<'_>) -> Result<bool, String> {
    match (element, all) {
        (Cel::Text(key), Cel::Tree(Value::Object(fields), _)) => Ok(fields.contains_key(key.as_ref())),
        (_, Cel::Tree(Value::Array(list), schema)) => {
            Ok(list.iter().any(|one| equal(element, &typed(one, schema.and_then(|schema| schema.item())))))
        }
        (_, Cel::List(list)) => Ok(list.iter().any(|one| equal(element, one))),
        (_, other) => Err(format!("{other:?} has no elements")),
    }
}

fn call<'a>(function: Function, arguments: &[Cel<'a>]) -> Evaluated<'a> {
    let two = |test: fn(&str, &str) -> bool| match arguments {
        [a, b] => Ok(Cel::Bool(test(string(a)?, string(b)?))),
        _ => Err("two texts are needed".to_owned()),
    };
    match (function, arguments) {
        (Function::StartsWith, _) => two(|a, b| a.starts_with(b)),
        (Function::EndsWith, _) => two(|a, b| a.ends_with(b)),
        (Function::Contains, _) => two(|a, b| a.contains(b)),
        (Function::Size, [of]) => size(of).map(|size| Cel::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        (Function::Type, [of]) => type_of(of).map(Cel::Type),
        (Function::LowerAscii, [of]) => Ok(Cel::Text(Cow::Owned(string(of)?.to_ascii_lowercase()))),
        (Function::Timestamp, [Cel::Text(text)]) => {
            time(text).map(Cel::Time).ok_or_else(|| format!("{text:?} is no time"))
        }
        (Function::Timestamp, [Cel::Time(time)]) => Ok(Cel::Time(*time)),
        (Function::Dyn, [value]) => Ok(value.clone()),
        (Function::HasValue, [Cel::Optional(value)]) => Ok(Cel::Bool(value.is_some())),
        (Function::Value, [Cel::Optional(Some(value))]) => Ok((**value).clone()),
        (function, arguments) => Err(format!("{function:?} does not take {arguments:?}")),
    }
}

fn size(of: &Cel<'_>) -> Result<usize, String> {
    match of {
        Cel::Text(text) => Ok(text.chars().count()),
        Cel::Tree(Value::Object(fields), _) => Ok(fields.len()),
        Cel::Tree(Value::Array(all), _) => Ok(all.len()),
        Cel::List(all) => Ok(all.len()),
        other => Err(format!("{other:?} has no size")),
    }
}

fn type_of(of: &Cel<'_>) -> Result<&'static str, String> {
    match of {
        Cel::Bool(_) => Ok("bool"),
        Cel::Int(_) => Ok("int"),
        Cel::Double(_) => Ok("double"),
        Cel::Text(_) => Ok("string"),
        Cel::Tree(Value::Object(_), _) => Ok("map"),
        Cel::Tree(..) | Cel::List(_) => Ok("list"),
        other => Err(format!("the type of {other:?} is not known here")),
    }
}

fn boolean(value: &Cel<'_>) -> Result<bool, String> {
    match value {
        Cel::Bool(value) => Ok(*value),
        other => Err(format!("{other:?} is neither true nor false")),
    }
}

fn string<'b>(value: &'b Cel<'_>) -> Result<&'b str, String> {
    match value {
        Cel::Text(text) => Ok(text),
        other => Err(format!("{other:?} is no text")),
    }
}
