//! Pages of the server (MCP Apps), under addresses that cannot be guessed: a frame cannot send the token.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;

use crate::sync::lock;
use crate::token::random;

/// How many are kept.
const KEPT: usize = 16;

/// Where they are.
const PATH: &str = "/app/";

/// The last pages that were opened.
#[derive(Debug, Default)]
pub(crate) struct AppPages(Mutex<VecDeque<(String, String)>>);

impl AppPages {
    /// Adds a page, and returns its path.
    pub(crate) fn add(&self, html: String) -> io::Result<String> {
        let path = format!("{PATH}{}", random::<16>()?);
        let mut pages = lock(&self.0);
        pages.push_back((path.clone(), html));
        if pages.len() > KEPT {
            pages.pop_front();
        }
        Ok(path)
    }

    pub(crate) fn find(&self, path: &str) -> Option<String> {
        lock(&self.0).iter().find(|(at, _)| at == path).map(|(_, html)| html.clone())
    }
}
