//! Writes pieces of JSON into bytes.

pub fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for one in text.chars() {
        match one {
            '"' => raw(out, "\\\""),
            '\\' => raw(out, "\\\\"),
            '\0'..='\x1f' => raw(out, &format!("\\u{:04x}", u32::from(one))),
            _ => raw(out, one.encode_utf8(&mut [0; 4])),
        }
    }
    out.push(b'"');
}

pub fn number(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

pub fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b"0123456789"[usize::try_from(value % 10).unwrap_or(0)];
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends what `write` appends for each item, with commas between.
pub fn joined<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(out, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_written_in_decimal() {
        assert_eq!(text(|out| number(out, 0)), "0");
        assert_eq!(text(|out| number(out, -1024)), "-1024");
        assert_eq!(text(|out| number(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(text(|out| string(out, "a\"b\\c\n☃")), "\"a\\\"b\\\\c\\u000a☃\"");
    }

    #[test]
    fn items_have_commas_between() {
        assert_eq!(text(|out| joined(out, [1, 2, 3], number)), "1,2,3");
        assert_eq!(text(|out| joined(out, [0; 0], number)), "");
    }
}
