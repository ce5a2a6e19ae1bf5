//! Warnings, within bounds.

/// The warnings of an indexing run: the first hundred, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings {
    lines: Vec<String>,
    more: u64,
}

impl Warnings {
    /// How many are listed one by one.
    pub const MOST: usize = 100;

    /// Those that are listed one by one.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// One more.
    pub(crate) fn add(&mut self, line: String) {
        if self.lines.len() < Self::MOST {
            self.lines.push(line);
        } else {
            self.more += 1;
        }
    }

    /// Adds other warnings, of which some may have been counted only.
    pub(crate) fn append(&mut self, others: Self) {
        for line in others.lines {
            self.add(line);
        }
        self.more += others.more;
    }

    /// The same, with each line changed.
    pub(crate) fn map(self, change: impl FnMut(String) -> String) -> Self {
        Self { lines: self.lines.into_iter().map(change).collect(), ..self }
    }

    /// In an order that does not depend on that of a walk.
    pub(crate) fn sort(&mut self) {
        self.lines.sort_unstable();
    }

    /// All of them, or the first and how many there are beyond.
    pub(crate) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines;
        match self.more {
            0 => {}
            1 => lines.push("and 1 more warning".to_owned()),
            more => lines.push(format!("and {more} more warnings")),
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Warnings;

    fn of(what: &str, count: usize) -> Warnings {
        let mut warnings = Warnings::default();
        for n in 0..count {
            warnings.add(format!("{what} {n} is invalid"));
        }
        warnings
    }

    #[test]
    fn warnings_beyond_a_hundred_are_counted() {
        let lines = of("file", 142).into_lines();
        assert_eq!(lines.len(), 101);
        assert_eq!(lines.last().unwrap(), "and 42 more warnings");
        assert_eq!(of("file", 100).into_lines().len(), 100);
        assert_eq!(of("file", 101).into_lines().last().unwrap(), "and 1 more warning");
    }

    #[test]
    fn appended_warnings_keep_their_count() {
        let mut warnings = of("file", 30);
        warnings.append(of("link", 250));
        warnings.append(of("date", 5));
        let lines = warnings.into_lines();
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[30], "link 0 is invalid");
        assert_eq!(lines[100], "and 185 more warnings");
    }
}
