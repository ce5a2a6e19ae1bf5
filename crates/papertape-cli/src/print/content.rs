//! Content blocks of a server: text to stdout, notes to stderr, binary content to files.

use std::io;
use std::path::Path;

use data_encoding::{BASE64, BASE64_NOPAD};
use papertape::protocol::Content;
use papertape::protocol::{ResourceContents, UnknownContent};
use serde::Serialize;

use super::text::{grouped, one_line, safe};
use super::{Look, json, style};
use crate::exit::Failure;
use crate::output_dir;

/// The destination of content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// The look of stdout.
    pub(crate) look: Look,
    /// The directory for binary content.
    pub(crate) folder: Option<&'a Path>,
}

/// What is to be printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// For stdout.
    pub(crate) output: Vec<u8>,
    /// For stderr: notes about content that is not on stdout.
    notes: String,
    /// The notes about saved files.
    saved: String,
}

impl Printed {
    /// Prints to stdout and stderr.
    pub(crate) fn print(&self) -> io::Result<()> {
        super::out(&self.output)?;
        super::err(&self.notes);
        Ok(())
    }

    /// Prints all of it to stderr.
    pub(crate) fn print_to_stderr(&self) {
        super::err(&String::from_utf8_lossy(&self.output));
        super::err(&self.notes);
    }

    /// Prints a JSON document in place of the text, and the notes about saved files.
    pub(crate) fn print_document<T: Serialize>(&self, document: &T) -> io::Result<()> {
        super::document(document)?;
        super::err(&self.saved);
        Ok(())
    }

    /// Adds content blocks.
    pub(crate) fn content(&mut self, blocks: &[Content], place: Destination<'_>) -> Result<(), Failure> {
        for block in blocks {
            match block {
                Content::Text(block) => self.text(&block.text, place.look),
                Content::Image(media) => self.media("image", &media.mime_type, &media.data, place)?,
                Content::Audio(media) => self.media("audio", &media.mime_type, &media.data, place)?,
                Content::ResourceLink(link) => {
                    self.text(&format!("{}: {}", one_line(&link.name), one_line(&link.uri)), place.look);
                }
                Content::Resource(embedded) => self.resource(&embedded.resource, place)?,
                Content::Unknown(block) => self.unknown(block),
                // What this version of papertape does not know is `Unknown`.
                _ => {}
            }
        }
        Ok(())
    }

    /// A block of an unknown type cannot be shown, so there is a note.
    fn unknown(&mut self, block: &UnknownContent) {
        let (kind, size) = (one_line(block.kind()), grouped(block.json().len()));
        let note = format!("[content of the unknown type \"{kind}\", {size} bytes: --output json shows it]");
        self.notes += &(Look::of_stderr().paint(style::DIM, &note) + "\n");
    }

    /// Text, unchanged; on a terminal, with control characters escaped.
    pub(crate) fn text(&mut self, text: &str, look: Look) {
        match look.terminal {
            true => self.output.extend_from_slice(safe(text).as_bytes()),
            false => self.output.extend_from_slice(text.as_bytes()),
        }
        if !text.ends_with('\n') {
            self.output.push(b'\n');
        }
    }

    /// JSON, pretty-printed in its own order.
    pub(crate) fn laid_out(&mut self, text: &str, look: Look) {
        for line in json::laid_out(text) {
            self.output.extend_from_slice(json::line(&safe(&line), look).as_bytes());
            self.output.push(b'\n');
        }
    }

    /// A resource: its text, or a note about its bytes.
    pub(crate) fn resource(
        &mut self,
        resource: &ResourceContents,
        place: Destination<'_>,
    ) -> Result<(), Failure> {
        if let Some(text) = &resource.text {
            self.text(text, place.look);
        } else if let Some(blob) = &resource.blob {
            let mime_type = resource.mime_type.as_deref().unwrap_or("application/octet-stream");
            self.media(&resource.uri, mime_type, blob, place)?;
        }
        Ok(())
    }

    fn media(
        &mut self,
        name: &str,
        mime_type: &str,
        data: &str,
        place: Destination<'_>,
    ) -> Result<(), Failure> {
        let shown = one_line(mime_type);
        let mut saved = false;
        let note = match (decoded(data), place.folder) {
            (Some(bytes), None) => {
                format!("[{shown}, {} bytes: give --out DIR to save it]", grouped(bytes.len()))
            }
            (Some(bytes), Some(folder)) => {
                let path = output_dir::save(folder, name, mime_type, &bytes).map_err(|error| {
                    Failure::Output(format!("cannot write to the directory {}: {error}", folder.display()))
                })?;
                saved = true;
                format!("[{shown}, {} bytes: {}]", grouped(bytes.len()), path.display())
            }
            (None, _) => {
                format!("[{shown}, {} characters of invalid base64: not saved]", grouped(data.len()))
            }
        };
        let note = Look::of_stderr().paint(style::DIM, &note) + "\n";
        self.notes += &note;
        if saved {
            self.saved += &note;
        }
        Ok(())
    }
}

/// The bytes of base64, with or without the padding at its end.
pub(crate) fn decoded(data: &str) -> Option<Vec<u8>> {
    let bytes = data.as_bytes();
    BASE64.decode(bytes).or_else(|_| BASE64_NOPAD.decode(bytes)).ok()
}
