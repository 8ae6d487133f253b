//! Places in files at the beginning of lines: `src/cart.rs:3:5: …`, `src/cart.ts(3,5): …`.

/// Parts of a line that begins with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceEnd {
    /// Length of the file's name.
    pub(super) file: usize,
    /// Index of the text behind the place.
    pub(super) text: usize,
    /// A column is given.
    pub(super) has_column: bool,
}

/// Returns the end of the place that a line begins with.
pub(super) fn place_end(line: &str) -> Option<PlaceEnd> {
    let start = line.len() - line.trim_start().len();
    // A drive of Windows: `C:\shop\cart.cs(3,5)`.
    let drive = match line.as_bytes().get(start..start + 3) {
        Some([letter, b':', b'\\' | b'/']) if letter.is_ascii_alphabetic() => 2,
        _ => 0,
    };
    let name_start = start + drive;
    let rest = line.get(name_start..)?;
    let length = rest.find([':', '(', ' '])?;
    let name = &rest[..length];
    let (stem, extension) = name
        .rsplit_once('.')
        .or_else(|| name.ends_with("Dockerfile").then_some((name, "x")))?;
    let is_file = !stem.is_empty()
        && (1..=8).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_file {
        return None;
    }
    let file = name_start + length;
    let behind = line.get(file..)?;
    if let Some(inside) = behind.strip_prefix('(') {
        let close = inside.find(')')?;
        let numbers = &inside[..close];
        let is_place = !numbers.is_empty()
            && numbers
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b',');
        return is_place.then_some(PlaceEnd {
            file,
            text: (file + close + 3).min(line.len()),
            has_column: numbers.contains(','),
        });
    }
    let (number, after) = leading_digits(behind.strip_prefix(':')?)?;
    let mut text = file + 1 + number;
    let column = after.strip_prefix(':').and_then(leading_digits);
    if let Some((column, _)) = column {
        text += 1 + column;
    }
    // A colon, or the ` - ` of tsc, ends it.
    let rest = line.get(text..)?;
    if !(rest.is_empty()
        || rest.starts_with(':')
        || rest.starts_with(" - ")
        || (column.is_some() && rest.starts_with(' ')))
    {
        return None;
    }
    Some(PlaceEnd {
        file,
        text: text + usize::from(rest.starts_with(':')),
        has_column: column.is_some(),
    })
}

/// Returns the length of the number that a text begins with, and the rest.
fn leading_digits(text: &str) -> Option<(usize, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then(|| (length, text.get(length..).unwrap_or_default()))
}
