//! A day as people write it to `YYYY-MM-DD`.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day, if the text names one: `2024-01-31T10:00:00Z`, `20240131`, `2024/1/31`, `Jan 31, 2024`, `31 January 2024`.
///
/// What people read in two ways (`01/02/2024`) names none.
pub(super) fn day(text: &str) -> Option<String> {
    numbers(text).or_else(|| compact(text)).or_else(|| names(text))
}

/// Whether the text is a day as it is kept: `YYYY-MM-DD`, and in the calendar.
#[must_use]
pub fn is_day(text: &str) -> bool {
    numbers(text).as_deref() == Some(text)
}

/// The day that a name begins with, as Jekyll and Zola have it (`2024-05-01-name`, `2024-05-01_name`) or journals of
/// Logseq (`2024_05_01`), and the rest of the name.
pub(super) fn leading_day(name: &str) -> Option<(String, &str)> {
    let (date, rest) = name.split_at_checked(10)?;
    let mark = *date.as_bytes().get(4).filter(|byte| matches!(byte, b'-' | b'_'))?;
    let shaped = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == mark,
        _ => byte.is_ascii_digit(),
    });
    if !shaped || rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    Some((numbers(&date.replace('_', "-"))?, rest.trim_start_matches(['-', '_', ' '])))
}

/// The day that directories say, the nearest first: one whose name begins with a day, or a year above a month, and perhaps
/// a day (`2024/05/01/name.md`, `2024/05/01.md`). A month without a day counts as its first day.
pub(super) fn in_path(path: &str) -> Option<String> {
    let (folders, file) = path.rsplit_once('/')?;
    let day = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let mut below = day;
    let mut deeper = None;
    for name in folders.rsplit('/') {
        if let Some((day, _)) = leading_day(name) {
            return Some(day);
        }
        // `name` is the year, `below` the month and `deeper` the day.
        if let (Some(year), Some(month)) = (of_digits(name, 4), of_digits(below, 2)) {
            let whole = deeper.and_then(|day| written(year, month, of_digits(day, 2)?));
            return whole.or_else(|| (YEARS.contains(&year)).then(|| written(year, month, 1)).flatten());
        }
        deeper = Some(std::mem::replace(&mut below, name));
    }
    None
}

/// What a directory's name of four digits may be.
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2199;

fn of_digits(name: &str, length: usize) -> Option<u32> {
    number(name).filter(|_| name.len() == length)
}

fn numbers(text: &str) -> Option<String> {
    let date = text.trim().split(['T', 't', ' ']).next()?;
    let mut parts = date.split(['-', '/', '.']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    // A zone may follow (`2024-01-31+02:00`); nothing else may.
    let day = day.split(['+', 'Z']).next()?;
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    written(number(year)?, number(month)?, number(day)?)
}

/// Eight digits, as ISO 8601 writes a day in basic format.
fn compact(text: &str) -> Option<String> {
    let date = text.trim().split(['T', 't', ' ']).next().filter(|date| date.len() == 8)?;
    let (year, rest) = date.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    written(number(year)?, number(month)?, number(day)?)
}

fn names(text: &str) -> Option<String> {
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(8);
    let month = words().find_map(month)?;
    let mut numbers =
        words().filter_map(|word| number(word.trim_end_matches(['s', 't', 'h', 'n', 'd', 'r'])));
    let (first, second) = (numbers.next()?, numbers.next()?);
    if first > 31 { written(first, month, second) } else { written(second, month, first) }
}

fn month(word: &str) -> Option<u32> {
    const LONGEST: usize = "september".len();
    let word = word.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| word.starts_with(month) && word.len() <= LONGEST)?;
    u32::try_from(at + 1).ok()
}

fn number(word: &str) -> Option<u32> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

fn written(year: u32, month: u32, day: u32) -> Option<String> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    let sensible = (1000..=9999).contains(&year) && (1..=days).contains(&day);
    sensible.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::{day, in_path, is_day, leading_day};

    #[test]
    fn days_are_read_as_people_write_them() {
        for (text, wanted) in [
            ("2024-01-31", Some("2024-01-31")),
            ("2024-1-5", Some("2024-01-05")),
            (" 2024/02/29 ", Some("2024-02-29")),
            ("2024-01-31T23:59:59.5+09:00", Some("2024-01-31")),
            ("2024-01-31 10:00 -0800", Some("2024-01-31")),
            ("2024-01-31Z", Some("2024-01-31")),
            ("Jul 08 2022", Some("2022-07-08")),
            ("July 8th, 2022", Some("2022-07-08")),
            ("Fri, 08 Jul 2022 10:00:00 GMT", Some("2022-07-08")),
            ("31 December 1999", Some("1999-12-31")),
            ("20240501", Some("2024-05-01")),
            ("20240501T101500Z", Some("2024-05-01")),
            ("20241301", None),
            ("05012024", None),
            ("2024501", None),
            ("202405011", None),
            ("2023-02-29", None),
            ("2024-13-01", None),
            ("2024-00-10", None),
            ("01/02/2024", None),
            ("2024", None),
            ("2024-01", None),
            ("yesterday", None),
            ("", None),
            ("-", None),
            ("99999999999999-01-01", None),
            ("２０２４-01-01", None),
        ] {
            assert_eq!(day(text).as_deref(), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_day_is_in_the_calendar() {
        for day in ["2024-02-29", "1000-01-01", "9999-12-31"] {
            assert!(is_day(day), "{day}");
        }
        for text in [
            "2024-99-99",
            "2024-02-31",
            "2023-02-29",
            "0999-01-01",
            "2024-1-5",
            "20240105",
            "2024/01/05",
            " 2024-01-05",
            "",
        ] {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn a_name_may_begin_with_a_day() {
        assert_eq!(leading_day("2024-01-31-a-day"), Some(("2024-01-31".to_owned(), "a-day")));
        assert_eq!(leading_day("2024-01-31"), Some(("2024-01-31".to_owned(), "")));
        assert_eq!(leading_day("2024-01-31_a-day"), Some(("2024-01-31".to_owned(), "a-day")));
        assert_eq!(leading_day("2024_01_31"), Some(("2024-01-31".to_owned(), "")));
        for name in ["2024-01-311", "2024-02-30-x", "a-day", "2024/01/31-x", "2024_01-31", "", "日本語日本語"]
        {
            assert_eq!(leading_day(name), None, "{name}");
        }
    }

    #[test]
    fn directories_may_be_a_day() {
        for (path, wanted) in [
            ("posts/2024/05/01/name.md", Some("2024-05-01")),
            ("2024/05/01.md", Some("2024-05-01")),
            ("2024/05/name/index.md", Some("2024-05-01")),
            ("2024/05/31-name.md", Some("2024-05-01")),
            ("2024/12/31/deep/er/name.md", Some("2024-12-31")),
            ("a/2024-05-02-trip/b/notes.md", Some("2024-05-02")),
            ("2023/01/2024-05-02/notes.md", Some("2024-05-02")),
            ("2024/02/30/name.md", Some("2024-02-01")),
            ("2024/13/name.md", None),
            ("2024/5/name.md", None),
            ("2024/name.md", None),
            ("0001/02/name.md", None),
            ("rfc/2616/10/name.md", None),
            ("05/2024/name.md", None),
            ("name.md", None),
            ("", None),
        ] {
            assert_eq!(in_path(path).as_deref(), wanted, "{path}");
        }
    }
}
