//! The JSON files of a model's directory to what there is to know before its weights are read.

use serde::Deserialize;

use super::distance::CLASSES;
use super::files::Files;

/// What kind of network it is, how it reads, and what it does with the result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) shape: Shape,
    pub(super) pooling: Pooling,
    /// How many tokens it reads of a text.
    pub(super) longest: usize,
    /// What it wants before a text that is to be found, if its maker says so.
    pub(super) document_prefix: Option<String>,
    /// What it wants before a text to find with, if its maker says so.
    pub(super) query_prefix: Option<String>,
}

/// The sizes of the network, from `config.json`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) family: Family,
    pub(super) vocabulary: usize,
    pub(super) positions: usize,
    /// The position of the first token: RoBERTa begins to count after the padding's.
    pub(super) first_position: usize,
    pub(super) types: usize,
    pub(super) hidden: usize,
    pub(super) inner: usize,
    pub(super) heads: usize,
    pub(super) layers: usize,
    pub(super) epsilon: f32,
}

/// What a network is called and how it differs from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Also `RoBERTa`, but for where positions begin.
    Bert,
    /// Other names, no types of tokens, and distances count in attention.
    Mpnet,
}

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    First,
}

/// `config.json`.
#[derive(Debug, Deserialize)]
struct Config {
    model_type: String,
    hidden_act: Option<String>,
    hidden_size: usize,
    intermediate_size: usize,
    layer_norm_eps: f32,
    max_position_embeddings: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    #[serde(default)]
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
    type_vocab_size: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    vocab_size: usize,
}

/// An entry of `modules.json`.
#[derive(Debug, Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// `1_Pooling/config.json`.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
    include_prompt: bool,
}

impl Default for PoolingConfig {
    fn default() -> Self {
        Self {
            pooling_mode_cls_token: false,
            pooling_mode_mean_tokens: true,
            pooling_mode_max_tokens: false,
            pooling_mode_mean_sqrt_len_tokens: false,
            pooling_mode_weightedmean_tokens: false,
            pooling_mode_lasttoken: false,
            include_prompt: true,
        }
    }
}

/// `sentence_bert_config.json`.
#[derive(Debug, Default, Deserialize)]
struct SentenceBertConfig {
    max_seq_length: Option<usize>,
}

/// `config_sentence_transformers.json`.
#[derive(Debug, Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: std::collections::HashMap<String, String>,
}

impl Settings {
    /// Reads them, and says what of them is not supported.
    pub(super) fn read(files: &mut Files) -> Result<Self, String> {
        let config: Config = files
            .json("config.json")?
            .ok_or("there is no config.json: is it the directory of a sentence-transformers model?")?;
        let shape = config.shape()?;
        let modules: Vec<Module> = files.json("modules.json")?.unwrap_or_default();
        let pooling = read_pooling(files, &modules)?;
        let reading: SentenceBertConfig = files.json("sentence_bert_config.json")?.unwrap_or_default();
        let room = shape.positions.saturating_sub(shape.first_position);
        let longest = reading.max_seq_length.unwrap_or(room).min(room);
        if longest < 8 {
            return Err(format!("it would read only {longest} tokens of a text (max_seq_length)"));
        }
        let mut prompts =
            files.json::<Prompts>("config_sentence_transformers.json")?.unwrap_or_default().prompts;
        // The names that sentence-transformers looks for, in its order.
        let document_prefix = ["document", "passage", "corpus"].iter().find_map(|name| prompts.remove(*name));
        Ok(Self { shape, pooling, longest, document_prefix, query_prefix: prompts.remove("query") })
    }
}

impl Config {
    fn shape(&self) -> Result<Shape, String> {
        let after_padding = self.pad_token_id.unwrap_or(1).saturating_add(1);
        let (family, first_position) = match self.model_type.as_str() {
            "bert" => (Family::Bert, 0),
            "roberta" | "xlm-roberta" | "camembert" => (Family::Bert, after_padding),
            "mpnet" => (Family::Mpnet, after_padding),
            other => {
                return Err(format!(
                    "it is a model of the type {other}; supported are bert, roberta, xlm-roberta, camembert and mpnet, \
                     such as all-MiniLM-L6-v2, all-mpnet-base-v2, multilingual-e5-small and bge-small"
                ));
            }
        };
        if let Some(other) = self.hidden_act.as_deref().filter(|name| *name != "gelu") {
            return Err(format!("its hidden_act is {other}; only gelu is supported"));
        }
        if let Some(other) = self.position_embedding_type.as_deref().filter(|name| *name != "absolute") {
            return Err(format!("its position_embedding_type is {other}; only absolute is supported"));
        }
        if let Some(other) = self.relative_attention_num_buckets.filter(|count| *count != CLASSES) {
            return Err(format!(
                "its relative_attention_num_buckets is {other}; only {CLASSES} are supported"
            ));
        }
        let types = self.type_vocab_size.unwrap_or(1);
        let sizes = [
            ("vocab_size", self.vocab_size, 2_000_000),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 16),
            ("type_vocab_size", types, 1 << 10),
            ("hidden_size", self.hidden_size, 1 << 13),
            ("intermediate_size", self.intermediate_size, 1 << 16),
            ("num_attention_heads", self.num_attention_heads, 1 << 10),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 8),
        ];
        if let Some((name, size, most)) = sizes.iter().find(|(_, size, most)| *size == 0 || size > most) {
            return Err(format!("its {name} is {size}; supported is 1 to {most}"));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
            return Err(format!(
                "its hidden_size {hidden} cannot be shared by {heads} heads (num_attention_heads)"
            ));
        }
        Ok(Shape {
            family,
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
            first_position,
            types,
            hidden: self.hidden_size,
            inner: self.intermediate_size,
            heads: self.num_attention_heads,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
        })
    }
}

/// Without `modules.json` it is the mean, as sentence-transformers has it.
fn read_pooling(files: &mut Files, modules: &[Module]) -> Result<Pooling, String> {
    let mut pooling = PoolingConfig::default();
    for module in modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            // Vectors are always brought to length 1.
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if module.path.is_empty() || !module.path.chars().all(plain) {
                    return Err(format!(
                        "modules.json names {:?}, which is not a directory beside it",
                        module.path
                    ));
                }
                pooling = files.json(&format!("{}/config.json", module.path))?.unwrap_or_default();
            }
            other => {
                return Err(format!(
                    "modules.json has a module {other}; supported are Transformer, Pooling and Normalize"
                ));
            }
        }
    }
    let others = pooling.pooling_mode_max_tokens
        || pooling.pooling_mode_mean_sqrt_len_tokens
        || pooling.pooling_mode_weightedmean_tokens
        || pooling.pooling_mode_lasttoken;
    match (pooling.pooling_mode_mean_tokens, pooling.pooling_mode_cls_token) {
        _ if !pooling.include_prompt => {
            Err("its pooling leaves the prompt out, which is not supported".to_owned())
        }
        (true, false) if !others => Ok(Pooling::Mean),
        (false, true) if !others => Ok(Pooling::First),
        _ => {
            Err("of its modes of pooling, only the mean alone or the CLS token alone are supported"
                .to_owned())
        }
    }
}
