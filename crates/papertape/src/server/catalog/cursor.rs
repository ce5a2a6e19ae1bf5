//! Cursors: where a list goes on, as an opaque string.
//!
//! A cursor is the key of the last item that was sent. It stays valid while items come and go, and in every replica: what
//! comes next is what has a greater key, whether that item is still there or not. A checksum over the list's name and the
//! key refuses what was not made here; it is not a secret, because a key says nothing that the list does not.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

const CHECKSUM: usize = 4;

/// The cursor of a page that ends with `last`.
pub(crate) fn encode(list: &str, last: &str) -> String {
    BASE64URL_NOPAD.encode(&[&checksum(list, last)[..], last.as_bytes()].concat())
}

/// The key of the last item that was sent; `None` if no cursor of this list can read like that.
pub(crate) fn decode(list: &str, cursor: &str) -> Option<String> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
    let (sent, last) = bytes.split_first_chunk::<CHECKSUM>()?;
    let last = std::str::from_utf8(last).ok()?;
    (*sent == checksum(list, last)).then(|| last.to_owned())
}

fn checksum(list: &str, last: &str) -> [u8; CHECKSUM] {
    let digest = Sha256::new().chain_update(list).chain_update([0]).chain_update(last).finalize();
    digest.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn a_cursor_leads_back_to_its_key_in_its_list_only() {
        for key in ["", "a", "file:///notes/b.md", "é\n\u{0}"] {
            let cursor = encode("resources", key);
            assert_eq!(decode("resources", &cursor).as_deref(), Some(key));
            assert_eq!(decode("tools", &cursor), None);
            assert_eq!(decode("resource", &cursor), None);
            for other in [
                format!("{cursor}A"),
                format!("A{cursor}"),
                cursor.chars().skip(1).collect(),
                format!("{cursor}="),
            ] {
                assert_eq!(decode("resources", &other), None, "{other}");
            }
        }
    }
}
