//! `model.safetensors` to tensors by name, read in one go from beginning to end.

use std::collections::HashMap;
use std::fs::File;

use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::files::Files;

const NAME: &str = "model.safetensors";

/// The largest weights: those of XLM-RoBERTa-large take 2.3 GB.
const LARGEST: u64 = 4 << 30;

/// The longest list of tensors, in bytes: that of a model with 24 layers takes 50 kB.
const LONGEST_HEAD: u64 = 8 << 20;

/// Found in every model of these families; what stands before it stands before every name.
const FIRST: &str = "embeddings.word_embeddings.weight";

/// How much is read at once; a multiple of the size of every kind of number.
const BLOCK: usize = 1 << 20;

/// Tensors that have not been taken yet.
#[derive(Debug)]
pub(super) struct Weights {
    prefix: String,
    tensors: HashMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Weights {
    /// Reads the file. `model.safetensors` says itself what is in it, and everything it says is checked.
    pub(super) fn read(files: &mut Files) -> Result<Self, String> {
        let Some((mut file, size)) = files.open(NAME, LARGEST)? else {
            return Err(format!("there is no {NAME} (weights in other formats are not read)"));
        };
        let head = read_head(files, &mut file, size)?;
        let mut tensors = HashMap::new();
        for name in head.offset_keys() {
            let Some(info) = head.info(&name) else { continue };
            let keep = !name.contains("pooler.") && !name.contains("cls.");
            let values = read_tensor(files, &mut file, info, keep)?;
            // Old checkpoints call them so.
            let name = name
                .replace("LayerNorm.gamma", "LayerNorm.weight")
                .replace("LayerNorm.beta", "LayerNorm.bias");
            tensors.insert(name, (info.shape.clone(), values));
        }
        let prefix = tensors.keys().find_map(|name| name.strip_suffix(FIRST));
        let prefix = prefix.ok_or_else(|| format!("{NAME} has no tensor {FIRST}"))?.to_owned();
        Ok(Self { prefix, tensors })
    }

    /// A tensor, which must have this shape.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let full = format!("{}{name}", self.prefix);
        let (found, values) =
            self.tensors.remove(&full).ok_or_else(|| format!("{NAME} has no tensor {full}"))?;
        if values.is_empty() {
            return Err(format!(
                "the tensor {full} in {NAME} is of another kind of number than F32, F16 and BF16"
            ));
        }
        if found != shape {
            return Err(format!(
                "the tensor {full} in {NAME} has the shape {found:?}, not {shape:?} as config.json says"
            ));
        }
        Ok(values)
    }
}

fn read_head(files: &mut Files, file: &mut File, size: u64) -> Result<Metadata, String> {
    let mut length = [0; 8];
    files.fill(file, NAME, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEAD {
        return Err(format!(
            "{NAME} is not a safetensors file: its list of tensors would have {length} bytes"
        ));
    }
    let mut head = vec![0; usize::try_from(length).unwrap_or_default()];
    files.fill(file, NAME, &mut head)?;
    let head: Metadata = serde_json::from_slice(&head)
        .map_err(|error| format!("the list of tensors in {NAME} is invalid: {error}"))?;
    let wanted = 8 + length + head.data_len() as u64;
    if size != wanted {
        return Err(format!(
            "{NAME} has {size} bytes, but its list of tensors says {wanted}: was it copied whole?"
        ));
    }
    Ok(head)
}

/// A tensor's numbers. What is not needed is read, for the digest, but not kept.
fn read_tensor(
    files: &mut Files,
    file: &mut File,
    info: &TensorInfo,
    keep: bool,
) -> Result<Vec<f32>, String> {
    let kind = info.dtype;
    let keep = keep && matches!(kind, Dtype::F32 | Dtype::F16 | Dtype::BF16);
    let (from, to) = info.data_offsets;
    let mut left = to.saturating_sub(from);
    let mut values = Vec::with_capacity(if keep { left / if kind == Dtype::F32 { 4 } else { 2 } } else { 0 });
    let mut block = vec![0; left.min(BLOCK)];
    while left > 0 {
        block.truncate(left);
        files.fill(file, NAME, &mut block)?;
        left -= block.len();
        match kind {
            _ if !keep => {}
            Dtype::F32 => values.extend(block.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it))),
            Dtype::F16 => {
                values.extend(block.as_chunks().0.iter().map(|it| f16::from_le_bytes(*it).to_f32()))
            }
            _ => values.extend(block.as_chunks().0.iter().map(|it| bf16::from_le_bytes(*it).to_f32())),
        }
    }
    Ok(values)
}
