//! A bag of words to a text that tantivy can take, and that text to its words again.
//!
//! A word that counts three times is three words to tantivy.

use std::fmt::Write;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::blog::words::Bag;

/// `count:bytes:word` for each word, one after the other.
pub(super) fn pack(bag: &Bag) -> String {
    let mut packed = String::new();
    for (word, count) in bag.iter() {
        // Writing to a string cannot fail.
        write!(packed, "{count}:{}:{word}", word.len()).unwrap_or_default();
    }
    packed
}

/// Takes a packed bag apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Unpack {
    token: Token,
}

impl Tokenizer for Unpack {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, packed: &'a str) -> Words<'a> {
        self.token.reset();
        Words { token: &mut self.token, packed, left: 0 }
    }
}

/// The words of a packed bag.
#[derive(Debug)]
pub(super) struct Words<'a> {
    token: &'a mut Token,
    packed: &'a str,
    left: u32,
}

impl Words<'_> {
    fn next_word(&mut self) -> Option<()> {
        let (count, rest) = self.packed.split_once(':')?;
        let (length, rest) = rest.split_once(':')?;
        let (word, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.left = count.parse().ok()?;
        self.packed = rest;
        self.token.text.clear();
        self.token.text.push_str(word);
        Some(())
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        while self.left == 0 {
            if self.next_word().is_none() {
                return false;
            }
        }
        self.left -= 1;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::prop;
    use proptest::{prop_assert_eq, proptest};
    use tantivy::tokenizer::{TokenStream, Tokenizer};

    use super::{Unpack, pack};
    use crate::blog::words::Bag;

    fn unpacked(packed: &str) -> Bag {
        let mut bag = Bag::default();
        let mut unpack = Unpack::default();
        let mut words = unpack.token_stream(packed);
        while words.advance() {
            bag.add(words.token().text.clone(), 1);
        }
        bag
    }

    proptest! {
        #[test]
        fn a_bag_comes_back_as_it_was(words in prop::collection::btree_map(".{0,8}", 1_u32..9, 0..20)) {
            let mut bag = Bag::default();
            for (word, count) in words {
                bag.add(word, count);
            }
            prop_assert_eq!(unpacked(&pack(&bag)), bag);
        }

        #[test]
        fn no_text_breaks_it(text in "[0-9]{0,3}:[0-9]{0,2}:.{0,9}") {
            unpacked(&text);
        }
    }
}
