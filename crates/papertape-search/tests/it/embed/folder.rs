//! The directory of a model of eight numbers, whose weights are waves, so that others could be given the same ones.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use half::{bf16, f16};
use papertape_search::embed::{EmbedError, Embedder, Local, Purpose};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

pub(crate) const HIDDEN: usize = 8;
const INNER: usize = 16;
pub(crate) const VOCABULARY: usize = 20;

/// A model's directory. It ends with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

impl Folder {
    pub(crate) fn new(kind: &str, dtype: Dtype) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tiny-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        // A run that was killed may have left something under the same number.
        drop(fs::remove_dir_all(&folder.0));
        fs::create_dir_all(folder.0.join("1_Pooling")).unwrap();
        let (positions, types) = match kind {
            "bert" => (16, Some(2)),
            "mpnet" => (140, None),
            _ => (18, Some(1)),
        };
        folder.write(
            "config.json",
            &json!({
                "model_type": kind, "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": INNER,
                "layer_norm_eps": 1e-5, "max_position_embeddings": positions, "num_attention_heads": 2,
                "num_hidden_layers": 2, "pad_token_id": 1, "type_vocab_size": types, "vocab_size": VOCABULARY,
            }),
        );
        folder.write(
            "modules.json",
            &json!([
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            ]),
        );
        folder.write("1_Pooling/config.json", &json!({"pooling_mode_mean_tokens": true}));
        folder.write("tokenizer.json", &tokenizer(VOCABULARY));
        fs::write(folder.0.join("model.safetensors"), weights(positions, types, dtype)).unwrap();
        folder
    }

    pub(crate) fn write(&self, name: &str, json: &Value) {
        fs::write(self.0.join(name), json.to_string()).unwrap();
    }

    /// Changes a member of a JSON file.
    pub(crate) fn set(&self, name: &str, member: &str, value: Value) {
        let mut json: Value = serde_json::from_slice(&fs::read(self.0.join(name)).unwrap()).unwrap();
        json[member] = value;
        self.write(name, &json);
    }

    pub(crate) async fn embed(&self, text: &str) -> Result<Result<Vec<f32>, String>, EmbedError> {
        let model = Local::new(&self.0);
        Ok(model.embed(&[text.to_owned()], Purpose::Document).await?.pop().unwrap())
    }

    /// Why it cannot be used.
    pub(crate) async fn refusal(&self) -> String {
        let error = self.embed("w4").await.unwrap_err();
        let EmbedError::Rejected(said) = error else { panic!("{error:?}") };
        assert!(!said.contains(env!("CARGO_TARGET_TMPDIR")), "the message has a path: {said}");
        said
    }
}

/// One token for each of the words `w4`, `w5` and so on.
pub(crate) fn tokenizer(size: usize) -> Value {
    let words = (4..size).map(|i| (format!("w{i}"), i));
    let special =
        [("<s>", 0), ("<pad>", 1), ("</s>", 2), ("<unk>", 3)].map(|(word, id)| (word.to_owned(), id));
    let vocabulary: HashMap<String, usize> = special.into_iter().chain(words).collect();
    let piece = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null, "decoder": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [piece("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, piece("</s>")],
            "pair": [piece("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
            },
        },
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    })
}

/// The tensors of `BERT` with so many types of tokens, or of `MPNet`, which has none.
fn shapes(positions: usize, types: Option<usize>) -> Vec<(String, Vec<usize>)> {
    let (attention, attention_norm) = match types {
        Some(_) => (["self.query", "self.key", "self.value", "output.dense"], "output.LayerNorm"),
        None => (["attn.q", "attn.k", "attn.v", "attn.o"], "LayerNorm"),
    };
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![positions, HIDDEN]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![HIDDEN]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![HIDDEN]),
        types.map_or_else(
            || ("encoder.relative_attention_bias.weight".to_owned(), vec![32, 2]),
            |types| ("embeddings.token_type_embeddings.weight".to_owned(), vec![types, HIDDEN]),
        ),
    ];
    for layer in 0..2 {
        let attention = attention.map(|part| (format!("attention.{part}"), HIDDEN, HIDDEN));
        let inner =
            [("intermediate.dense".to_owned(), HIDDEN, INNER), ("output.dense".to_owned(), INNER, HIDDEN)];
        for (part, from, to) in attention.into_iter().chain(inner) {
            shapes.push((format!("encoder.layer.{layer}.{part}.weight"), vec![to, from]));
            shapes.push((format!("encoder.layer.{layer}.{part}.bias"), vec![to]));
        }
        for part in [format!("attention.{attention_norm}"), "output.LayerNorm".to_owned()] {
            shapes.push((format!("encoder.layer.{layer}.{part}.weight"), vec![HIDDEN]));
            shapes.push((format!("encoder.layer.{layer}.{part}.bias"), vec![HIDDEN]));
        }
    }
    shapes
}

/// The waves, as a file.
pub(crate) fn weights(positions: usize, types: Option<usize>, dtype: Dtype) -> Vec<u8> {
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes(positions, types)
        .into_iter()
        .map(|(name, shape)| {
            let phase = f64::from(name.bytes().map(u32::from).sum::<u32>() % 97);
            let base = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
            let bytes = (0..shape.iter().product::<usize>()).flat_map(|i| {
                let x = (base + 0.3 * (0.7 * i as f64 + phase).sin()) as f32;
                match dtype {
                    Dtype::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
                    Dtype::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
                    Dtype::F64 => f64::from(x).to_le_bytes().to_vec(),
                    _ => x.to_le_bytes().to_vec(),
                }
            });
            let bytes = bytes.collect();
            (name, shape, bytes)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (format!("roberta.{name}"), TensorView::new(dtype, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}
