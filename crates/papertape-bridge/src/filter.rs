//! Which tools a host sees.

use papertape::protocol::ToolDefinition;

/// Which tools of a server a host sees and can call. By default all.
///
/// A name may end in `*`, which stands for any end.
///
/// ```
/// use papertape_bridge::Filter;
///
/// let filter = Filter::new().only(["read_*", "list_files"]).hide(["read_secret"]).read_only();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Filter {
    only: Vec<String>,
    hide: Vec<String>,
    read_only: bool,
}

impl Filter {
    /// All tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows these tools and no others.
    pub fn only<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.only.extend(names.into_iter().map(Into::into));
        self
    }

    /// Hides these tools, also if they are among those of [`Filter::only`].
    pub fn hide<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.hide.extend(names.into_iter().map(Into::into));
        self
    }

    /// Shows only tools that declare that they modify nothing (`readOnlyHint`), a hint of the server that is not verified.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Whether all tools are shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.hide.is_empty() && !self.read_only
    }

    /// Whether a tool is shown, under the name that the host sees.
    pub(crate) fn shows(&self, name: &str, tool: &ToolDefinition) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| is_match(pattern, name));
        let read_only = tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(true));
        (self.only.is_empty() || matches(&self.only))
            && !matches(&self.hide)
            && (read_only || !self.read_only)
    }
    /// The names that match none of these, which may be typing errors.
    pub(crate) fn unmatched<'a>(&'a self, names: &[String]) -> impl Iterator<Item = &'a str> {
        let patterns = self.only.iter().chain(&self.hide).map(String::as_str);
        patterns.filter(|pattern| !names.iter().any(|name| is_match(pattern, name)))
    }
}

fn is_match(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use papertape::protocol::{ToolAnnotations, ToolDefinition};

    use super::Filter;

    fn shows(filter: &Filter, name: &str) -> bool {
        filter.shows(name, &ToolDefinition::default())
    }

    #[test]
    fn names_are_shown_or_hidden() {
        assert!(shows(&Filter::new(), "echo"));
        let filter = Filter::new().only(["read_*", "echo"]).hide(["read_secret"]);
        assert!(shows(&filter, "echo") && shows(&filter, "read_file"));
        assert!(!shows(&filter, "echoes") && !shows(&filter, "read_secret") && !shows(&filter, "write"));
    }

    #[test]
    fn a_tool_is_read_only_if_it_says_so() {
        let filter = Filter::new().read_only();
        assert!(!shows(&filter, "echo"));
        let mut hints = ToolAnnotations::default();
        hints.read_only_hint = Some(true);
        let mut tool = ToolDefinition::default();
        tool.annotations = Some(hints);
        assert!(filter.shows("echo", &tool));
    }
}
