//! JSON text to a type that holds its numbers, and never to one that would round them without saying so.
//!
//! A field that is a `u128` gets every digit, and one that is an `f64` the nearest double, because that is what its type
//! says. A field of any type (a `Value`, or what serde has to keep aside to find the variant of an enum) would get a
//! rounded number unasked: that is refused.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::protocol::raw_json::InexactNumber;
use crate::wire::number;

/// Reads a type from JSON with numbers that a `Value` cannot hold.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    let rounded: Vec<(f64, &str)> =
        number::inexact(json).filter_map(|token| Some((token.parse().ok()?, token))).collect();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = T::deserialize(Guard { inner: &mut deserializer, rounded: &rounded })?;
    deserializer.end()?;
    Ok(value)
}

/// The numbers that are rounded where no type is requested: what they become, and how they were written.
type Rounded<'r> = &'r [(f64, &'r str)];

/// Forwards calls to the deserializer inside, and watches the values.
struct Guard<'r, T> {
    inner: T,
    rounded: Rounded<'r>,
}

/// The same for a visitor, which may have requested any type.
struct Watch<'r, V> {
    visitor: V,
    rounded: Rounded<'r>,
    anything: bool,
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $kind:ty),*) $anything:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            let watch = Watch { visitor, rounded: self.rounded, anything: $anything };
            self.inner.$method($($argument,)* watch)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Guard<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any() true
        deserialize_bool() false
        deserialize_i8() false
        deserialize_i16() false
        deserialize_i32() false
        deserialize_i64() false
        deserialize_i128() false
        deserialize_u8() false
        deserialize_u16() false
        deserialize_u32() false
        deserialize_u64() false
        deserialize_u128() false
        deserialize_f32() false
        deserialize_f64() false
        deserialize_char() false
        deserialize_str() false
        deserialize_string() false
        deserialize_bytes() false
        deserialize_byte_buf() false
        deserialize_option() false
        deserialize_unit() false
        deserialize_unit_struct(name: &'static str) false
        deserialize_newtype_struct(name: &'static str) false
        deserialize_seq() false
        deserialize_tuple(length: usize) false
        deserialize_tuple_struct(name: &'static str, length: usize) false
        deserialize_map() false
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) false
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) false
        deserialize_identifier() false
        deserialize_ignored_any() false
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! give {
    ($($method:ident($kind:ty))*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.visitor.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watch<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    give! {
        visit_bool(bool)
        visit_i64(i64)
        visit_i128(i128)
        visit_u64(u64)
        visit_u128(u128)
        visit_str(&str)
        visit_borrowed_str(&'de str)
        visit_string(String)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        match self.rounded.iter().find(|(rounded, _)| self.anything && *rounded == value) {
            Some((_, number)) => Err(E::custom(InexactNumber((*number).to_owned()))),
            None => self.visitor.visit_f64(value),
        }
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Guard { inner, rounded: self.rounded })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Guard { inner, rounded: self.rounded })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Guard { inner, rounded: self.rounded })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Guard { inner, rounded: self.rounded })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Guard { inner, rounded: self.rounded })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Guard<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Guard { inner, rounded: self.rounded })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Guard { inner: seed, rounded: self.rounded })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Guard { inner: seed, rounded: self.rounded })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'r, A: EnumAccess<'de>> EnumAccess<'de> for Guard<'r, A> {
    type Error = A::Error;
    type Variant = Guard<'r, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Guard { inner, rounded: self.rounded }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Guard { inner: seed, rounded: self.rounded })
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        let watch = Watch { visitor, rounded: self.rounded, anything: false };
        self.inner.tuple_variant(length, watch)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let watch = Watch { visitor, rounded: self.rounded, anything: false };
        self.inner.struct_variant(fields, watch)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::read;

    const LARGEST: &str = "340282366920938463463374607431768211455";

    #[derive(Debug, PartialEq, Deserialize)]
    enum Outside {
        Unit,
        New(u128),
        Tuple(u128, f64),
        Struct { n: u128 },
        Any(Value),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A { n: f64 },
    }

    fn error<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
        read::<T>(json).unwrap_err().to_string()
    }

    #[test]
    fn types_that_hold_a_number_get_it_digit_for_digit() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Arguments {
            n: u128,
            list: Vec<Option<i128>>,
            pair: (u128, String),
            float: f64,
            any: Value,
        }
        let json = format!(
            r#"{{"n":{LARGEST},"list":[-18446744073709551617,null],"pair":[{LARGEST},"é"],"float":{LARGEST},"any":[1.5,"x"]}}"#
        );
        let read_arguments: Arguments = read(&json).unwrap();
        let right = Arguments {
            n: u128::MAX,
            list: vec![Some(-18_446_744_073_709_551_617), None],
            pair: (u128::MAX, "é".to_owned()),
            float: LARGEST.parse().unwrap(),
            any: serde_json::json!([1.5, "x"]),
        };
        assert_eq!(read_arguments, right);
        let raw: Box<RawValue> = read(&format!("[{LARGEST}]")).unwrap();
        assert_eq!(raw.get(), format!("[{LARGEST}]"));
        for (json, right) in [
            (r#""Unit""#.to_owned(), Outside::Unit),
            (format!(r#"{{"New":{LARGEST}}}"#), Outside::New(u128::MAX)),
            (format!(r#"{{"Tuple":[{LARGEST},0.5]}}"#), Outside::Tuple(u128::MAX, 0.5)),
            (format!(r#"{{"Struct":{{"n":{LARGEST}}}}}"#), Outside::Struct { n: u128::MAX }),
        ] {
            assert_eq!(read::<Outside>(&json).unwrap(), right);
        }
    }

    #[test]
    fn a_number_that_would_be_rounded_is_rejected_for_any_value() {
        for json in [LARGEST.to_owned(), format!("[1,[{LARGEST}]]"), format!(r#"{{"a":{{"b":{LARGEST}}}}}"#)]
        {
            assert!(error::<Value>(&json).contains(LARGEST), "{json}");
        }
        assert!(error::<Outside>(&format!(r#"{{"Any":{LARGEST}}}"#)).contains(LARGEST));
        // serde keeps the members aside until it knows the variant.
        assert!(error::<Tagged>(&format!(r#"{{"kind":"A","n":{LARGEST}}}"#)).contains(LARGEST));
        assert_eq!(read::<Tagged>(r#"{"kind":"A","n":0.1}"#).unwrap(), Tagged::A { n: 0.1 });
        assert!(error::<Vec<u64>>(&format!("[{LARGEST}]")).contains("u64"));
        assert!(error::<Vec<u64>>("[1] 2").contains("trailing"));
    }
}
