//! What a server gave to read, see and hear, to what goes to stdout, to stderr and into files.

use std::io;
use std::path::Path;

use data_encoding::{BASE64, BASE64_NOPAD};
use papertape::Content;
use papertape::protocol::{ResourceContents, UnknownContent};
use serde::Serialize;

use super::text::{grouped, one_line, safe};
use super::{Look, json, style};
use crate::exit::Failure;
use crate::save;

/// Where content goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The look of stdout.
    pub(crate) look: Look,
    /// The folder for what is no text.
    pub(crate) folder: Option<&'a Path>,
}

/// What there is to print.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// For stdout.
    pub(crate) output: Vec<u8>,
    /// For stderr: what is not on stdout, and where it is.
    notes: String,
    /// Those of the notes that are about files.
    kept: String,
}

impl Printed {
    /// Each where it belongs.
    pub(crate) fn print(&self) -> io::Result<()> {
        super::out(&self.output)?;
        super::err(&self.notes);
        Ok(())
    }

    /// All of it where errors go.
    pub(crate) fn print_to_stderr(&self) {
        super::err(&String::from_utf8_lossy(&self.output));
        super::err(&self.notes);
    }

    /// A document instead of the text. What was kept is told if anything could be.
    pub(crate) fn print_document<T: Serialize>(&self, document: &T) -> io::Result<()> {
        super::document(document)?;
        super::err(&self.kept);
        Ok(())
    }

    /// One block after the other.
    pub(crate) fn content(&mut self, blocks: &[Content], place: Place<'_>) -> Result<(), Failure> {
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
            }
        }
        Ok(())
    }

    /// A block that cannot be shown, which must not go unnoticed.
    fn unknown(&mut self, block: &UnknownContent) {
        let (kind, size) = (one_line(block.kind()), grouped(block.json().len()));
        let note = format!("[a block of the unknown type \"{kind}\", {size} bytes: --output json shows it]");
        self.notes += &(Look::of_stderr().paint(style::DIM, &note) + "\n");
    }

    /// Text as it is; on a terminal, without what the terminal would obey.
    pub(crate) fn text(&mut self, text: &str, look: Look) {
        match look.terminal {
            true => self.output.extend_from_slice(safe(text).as_bytes()),
            false => self.output.extend_from_slice(text.as_bytes()),
        }
        if !text.ends_with('\n') {
            self.output.push(b'\n');
        }
    }

    /// JSON over several lines, in its own order.
    pub(crate) fn laid_out(&mut self, text: &str, look: Look) {
        for line in json::laid_out(text) {
            self.output.extend_from_slice(json::line(&safe(&line), look).as_bytes());
            self.output.push(b'\n');
        }
    }

    /// A resource: its text, or where its bytes are now.
    pub(crate) fn resource(&mut self, resource: &ResourceContents, place: Place<'_>) -> Result<(), Failure> {
        if let Some(text) = &resource.text {
            self.text(text, place.look);
        } else if let Some(blob) = &resource.blob {
            let mime_type = resource.mime_type.as_deref().unwrap_or("application/octet-stream");
            self.media(&resource.uri, mime_type, blob, place)?;
        }
        Ok(())
    }

    fn media(&mut self, name: &str, mime_type: &str, data: &str, place: Place<'_>) -> Result<(), Failure> {
        let shown = one_line(mime_type);
        let mut kept = false;
        let note = match (decoded(data), place.folder) {
            (Some(bytes), None) => {
                format!("[{shown}, {} bytes: give --out DIR to keep it]", grouped(bytes.len()))
            }
            (Some(bytes), Some(folder)) => {
                let path = save::save(folder, name, mime_type, &bytes).map_err(|error| {
                    Failure::Output(format!("cannot write into the folder {}: {error}", folder.display()))
                })?;
                kept = true;
                format!("[{shown}, {} bytes: {}]", grouped(bytes.len()), path.display())
            }
            (None, _) => {
                format!("[{shown}, {} characters that are not base64: not kept]", grouped(data.len()))
            }
        };
        let note = Look::of_stderr().paint(style::DIM, &note) + "\n";
        self.notes += &note;
        if kept {
            self.kept += &note;
        }
        Ok(())
    }
}

/// The bytes of base64, with or without the padding at its end.
pub(crate) fn decoded(data: &str) -> Option<Vec<u8>> {
    let bytes = data.as_bytes();
    BASE64.decode(bytes).or_else(|_| BASE64_NOPAD.decode(bytes)).ok()
}
