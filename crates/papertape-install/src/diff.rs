//! A unified diff of two texts that differ in one place.

/// The lines around a change.
const CONTEXT: usize = 3;

/// The diff as `diff -u` prints it, for `patch -p0`; empty if the texts are equal. `None` is no file.
pub(crate) fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    if old == new {
        return String::new();
    }
    let (before, after) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let shortest = before.len().min(after.len());
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = tail.min(shortest - head);
    let first = head.saturating_sub(CONTEXT);
    let most = |lines: &[&str]| (lines.len() - tail + CONTEXT).min(lines.len());
    let (end_before, end_after) = (most(&before), most(&after));
    let name = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" };
    let span = |end: usize| {
        // Of no lines, the line before them is named.
        let count = end - first;
        format!("{},{count}", if count == 0 { first } else { first + 1 })
    };
    let mut diff =
        format!("--- {}\n+++ {}\n@@ -{} +{} @@\n", name(old), name(new), span(end_before), span(end_after));
    let mut push = |sign: char, lines: &[&str], from: usize, to: usize| {
        for line in lines.get(from..to).unwrap_or_default() {
            diff.push(sign);
            diff += line;
            if !line.ends_with('\n') {
                diff += "\n\\ No newline at end of file\n";
            }
        }
    };
    push(' ', &before, first, head);
    push('-', &before, head, before.len() - tail);
    push('+', &after, head, after.len() - tail);
    push(' ', &before, before.len() - tail, end_before);
    diff
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_change_has_three_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let new = "1\n2\n3\n4\nx\n5\n6\n7\n8\n";
        let diff = "--- f\n+++ f\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n";
        assert_eq!(unified("f", Some(old), Some(new)), diff);
        assert_eq!(unified("f", Some(old), Some(old)), "");
        assert_eq!(unified("f", None, Some("a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        let end = "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-{}\n\\ No newline at end of file\n+{1}\n";
        assert_eq!(unified("f", Some("{}"), Some("{1}\n")), end);
        // Lines that are repeated.
        assert_eq!(
            unified("f", Some("a\na\n"), Some("a\na\na\n")),
            "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n a\n+a\n"
        );
    }
}
