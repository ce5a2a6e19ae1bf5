//! The ending of a file's name to what it is written in.

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown, also that of Obsidian, R Markdown and Quarto.
    Markdown,
    /// Markdown with JSX.
    Mdx,
    /// Text without headings.
    Plain,
    /// reStructuredText.
    Rst,
    /// AsciiDoc.
    AsciiDoc,
    /// Org mode.
    Org,
    /// A page of HTML: read as the Markdown it is converted to.
    Html,
    /// A Jupyter notebook: read as the Markdown it is converted to.
    Notebook,
}

/// How the names of files end that are read, in any case.
pub const ENDINGS: [(&str, Format); 16] = [
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("mdown", Format::Markdown),
    ("mkd", Format::Markdown),
    ("mdx", Format::Mdx),
    ("qmd", Format::Markdown),
    ("rmd", Format::Markdown),
    ("txt", Format::Plain),
    ("rst", Format::Rst),
    ("adoc", Format::AsciiDoc),
    ("asciidoc", Format::AsciiDoc),
    ("org", Format::Org),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xhtml", Format::Html),
    ("ipynb", Format::Notebook),
];

impl Format {
    /// That of a file with this name or path; nothing, if such files are not read.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|(_, format)| *format)
    }

    /// Whether its chunks are not text as it stands in the file.
    #[must_use]
    pub fn is_converted(self) -> bool {
        matches!(self, Self::Html | Self::Notebook)
    }

    /// Whether front matter is looked for.
    pub(super) fn has_front_matter(self) -> bool {
        matches!(self, Self::Markdown | Self::Mdx | Self::AsciiDoc | Self::Html)
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn endings_count_in_any_case() {
        for (path, format) in [
            ("a/b.md", Some(Format::Markdown)),
            ("a.RMD", Some(Format::Markdown)),
            ("a.b.Html", Some(Format::Html)),
            ("requirements.txt", Some(Format::Plain)),
            ("md", None),
            ("a.md.bak", None),
            ("a.", None),
            ("", None),
        ] {
            assert_eq!(Format::of(path), format, "{path}");
        }
    }
}
