//! What is seen of Markdown.
