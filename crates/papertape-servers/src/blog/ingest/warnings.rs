//! What was odd, within bounds.

/// How many are told one by one.
const MOST: usize = 100;

/// Lines for whoever indexes.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    lines: Vec<String>,
    more: u64,
}

impl Warnings {
    /// One more.
    pub(super) fn add(&mut self, line: String) {
        if self.lines.len() < MOST {
            self.lines.push(line);
        } else {
            self.more += 1;
        }
    }

    /// All of them, or the first and how many there are beyond.
    pub(super) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines;
        if self.more > 0 {
            lines.push(format!("and {} more warnings", self.more));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Warnings;

    #[test]
    fn warnings_beyond_a_hundred_are_counted() {
        let mut warnings = Warnings::default();
        for n in 0..142 {
            warnings.add(format!("file {n} is odd"));
        }
        let lines = warnings.into_lines();
        assert_eq!(lines.len(), 101);
        assert_eq!(lines.last().unwrap(), "and 42 more warnings");
    }
}
