//! How often a word counts, by where it stands.

/// In the title of the document.
pub const TITLE: u32 = 6;

/// In the heading of the chunk itself.
pub const OWN_HEADING: u32 = 3;

/// In a heading above it.
pub const HEADING: u32 = 2;

/// In the path of the file.
pub const PATH: u32 = 3;

/// In the text.
pub const BODY: u32 = 1;

/// As a part of an identifier, at the most: `Status` in a title `PodStatus` is not what it is about.
pub const PART: u32 = 1;
