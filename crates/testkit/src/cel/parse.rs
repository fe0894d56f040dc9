//! Parses rules into expressions: the part of CEL that rules of CRDs use. Unknown syntax is an error, so that no rule
//! is ignored.

use regex::Regex;

/// A constant in an expression.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
}

/// Functions and methods; the receiver of a method is the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Type,
    LowerAscii,
    HasValue,
    Value,
    StartsWith,
    EndsWith,
    Contains,
    Timestamp,
    Dyn,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Expression {
    Literal(Literal),
    List(Vec<Self>),
    Name(String),
    Select(Box<Self>, String),
    Index(Box<Self>, Box<Self>),
    Has(Box<Self>, String),
    Matches(Box<Self>, Regex),
    All(Box<Self>, String, Box<Self>),
    Call(Function, Vec<Self>),
    Not(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    Choice(Box<Self>, Box<Self>, Box<Self>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Int(i64),
    Double(f64),
    Text(String),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 22] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}", "*",
];

pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let expression = parser.choice()?;
    match parser.peek() {
        None => Ok(expression),
        Some(rest) => Err(format!("{rest:?} is not expected")),
    }
}

fn tokens(mut text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    loop {
        text = text.trim_start();
        let Some(first) = text.chars().next() else { return Ok(tokens) };
        let (token, length) = match first {
            '\'' | '"' => quoted(text, first)?,
            '0'..='9' => number(text)?,
            'a'..='z' | 'A'..='Z' | '_' => name(text),
            _ => sign(text)?,
        };
        tokens.push(token);
        text = &text[length..];
    }
}

fn quoted(text: &str, quote: char) -> Result<(Token, usize), String> {
    let end = text[1..].find(quote).ok_or("a text has no end")? + 1;
    let inner = &text[1..end];
    if inner.contains('\\') {
        return Err("escapes in texts are not known here".to_owned());
    }
    Ok((Token::Text(inner.to_owned()), end + 1))
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let token = if text[..end].contains('.') {
        text[..end].parse().map(Token::Double).ok()
    } else {
        text[..end].parse().map(Token::Int).ok()
    };
    token.map(|token| (token, end)).ok_or_else(|| format!("{} is no number", &text[..end]))
}

fn name(text: &str) -> (Token, usize) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (Token::Name(text[..end].to_owned()), end)
}

fn sign(text: &str) -> Result<(Token, usize), String> {
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
    sign.map(|sign| (Token::Sign(sign), sign.len())).ok_or_else(|| format!("nothing begins like {text}"))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed = Result<Expression, String>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Sign(is)) if *is == sign);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("{sign} is missing before {:?}", self.peek())) }
    }

    fn identifier(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Name(name)) => Ok(name),
            other => Err(format!("{other:?} is no name")),
        }
    }

    fn choice(&mut self) -> Parsed {
        let condition = self.or()?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.or()?;
        self.expect(":")?;
        let no = self.choice()?;
        Ok(Expression::Choice(condition.into(), yes.into(), no.into()))
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.take("||") {
            left = Expression::Binary(Operator::Or, left.into(), self.and()?.into());
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.relation()?;
        while self.take("&&") {
            left = Expression::Binary(Operator::And, left.into(), self.relation()?.into());
        }
        Ok(left)
    }

    fn relation(&mut self) -> Parsed {
        let mut left = self.sum()?;
        while let Some(operator) = self.comparison() {
            left = Expression::Binary(operator, left.into(), self.sum()?.into());
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Option<Operator> {
        let operator = match self.peek()? {
            Token::Sign("==") => Operator::Equal,
            Token::Sign("!=") => Operator::NotEqual,
            Token::Sign("<") => Operator::Less,
            Token::Sign("<=") => Operator::LessOrEqual,
            Token::Sign(">") => Operator::Greater,
            Token::Sign(">=") => Operator::GreaterOrEqual,
            Token::Name(name) if name == "in" => Operator::In,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("+")) => Operator::Add,
                Some(Token::Sign("-")) => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expression::Binary(operator, left.into(), self.unary()?.into());
        }
    }

    fn unary(&mut self) -> Parsed {
        if self.take("!") {
            return Ok(Expression::Not(self.unary()?.into()));
        }
        let mut expression = self.primary()?;
        loop {
            if self.take(".") {
                let name = self.identifier()?;
                expression = if self.take("(") { self.method(expression, &name)? } else { select(expression, name) };
            } else if self.take("[") {
                let key = self.choice()?;
                self.expect("]")?;
                expression = Expression::Index(expression.into(), key.into());
            } else {
                return Ok(expression);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let literal = |literal| Ok(Expression::Literal(literal));
        match self.next() {
            Some(Token::Int(value)) => literal(Literal::Int(value)),
            Some(Token::Double(value)) => literal(Literal::Double(value)),
            Some(Token::Text(value)) => literal(Literal::Text(value)),
            Some(Token::Name(name)) if name == "true" || name == "false" => literal(Literal::Bool(name == "true")),
            Some(Token::Name(name)) if name == "null" => literal(Literal::Null),
            Some(Token::Name(name)) if self.take("(") => self.function(&name),
            Some(Token::Name(name)) => Ok(Expression::Name(name)),
            Some(Token::Sign("(")) => {
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Sign("[")) => Ok(Expression::List(self.arguments("]")?)),
            other => Err(format!("{other:?} is no beginning of an expression")),
        }
    }

    fn arguments(&mut self, end: &str) -> Result<Vec<Expression>, String> {
        let mut all = Vec::new();
        while !self.take(end) {
            all.push(self.choice()?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(all)
    }

    fn function(&mut self, name: &str) -> Parsed {
        let mut arguments = self.arguments(")")?;
        match (name, arguments.len()) {
            ("has", 1) => match arguments.swap_remove(0) {
                Expression::Select(of, field) => Ok(Expression::Has(of, field)),
                other => Err(format!("has() takes a field, not {other:?}")),
            },
            ("size", 1) => Ok(Expression::Call(Function::Size, arguments)),
            ("type", 1) => Ok(Expression::Call(Function::Type, arguments)),
            ("timestamp", 1) => Ok(Expression::Call(Function::Timestamp, arguments)),
            ("dyn", 1) => Ok(Expression::Call(Function::Dyn, arguments)),
            (name, count) => Err(format!("the function {name} with {count} arguments is not known here")),
        }
    }

    fn method(&mut self, of: Expression, name: &str) -> Parsed {
        let mut arguments = self.arguments(")")?;
        match (name, arguments.as_mut_slice()) {
            ("matches", [Expression::Literal(Literal::Text(pattern))]) => {
                let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
                return Ok(Expression::Matches(of.into(), pattern));
            }
            ("all", [Expression::Name(_), _]) => return all(of, arguments),
            _ => {}
        }
        let function = match (name, arguments.len()) {
            ("size", 0) => Function::Size,
            ("lowerAscii", 0) => Function::LowerAscii,
            ("hasValue", 0) => Function::HasValue,
            ("value", 0) => Function::Value,
            ("startsWith", 1) => Function::StartsWith,
            ("endsWith", 1) => Function::EndsWith,
            ("contains", 1) => Function::Contains,
            (name, count) => return Err(format!("the method {name} with {count} arguments is not known here")),
        };
        arguments.insert(0, of);
        Ok(Expression::Call(function, arguments))
    }
}

fn select(of: Expression, field: String) -> Expression {
    Expression::Select(of.into(), field)
}

fn all(of: Expression, mut arguments: Vec<Expression>) -> Parsed {
    let (Some(holds), Some(Expression::Name(name))) = (arguments.pop(), arguments.pop()) else {
        return Err("all() takes a name and an expression".to_owned());
    };
    Ok(Expression::All(of.into(), name, holds.into()))
}
