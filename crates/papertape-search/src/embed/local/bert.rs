//! Tokens to vectors: the network that BERT, RoBERTa, MPNet and their offspring share.
//!
//! Texts are laid end to end, not padded to the same length: what looks at one token at a time works on all of them at
//! once, and only attention looks at each text for itself.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::distance::{CLASSES, Distances};
use super::math;
use super::settings::{Family, Pooling, Shape};
use super::weights::Weights;

/// How many rows of attention are worked on at once: few enough to stay in the processor's cache.
const ROWS: usize = 64;

/// A network and its weights.
#[derive(Debug)]
pub(super) struct Bert {
    shape: Shape,
    words: Array2<f32>,
    /// With the vector of the one type of token that there is here.
    positions: Array2<f32>,
    norm: Norm,
    distances: Option<Distances>,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

#[derive(Debug)]
struct Linear {
    weight: Array2<f32>,
    bias: Vec<f32>,
}

#[derive(Debug)]
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

/// Several texts, end to end.
#[derive(Debug, Default)]
pub(super) struct Texts {
    tokens: Vec<u32>,
    spans: Vec<Range<usize>>,
}

impl Texts {
    pub(super) fn push(&mut self, tokens: &[u32]) {
        let start = self.tokens.len();
        self.tokens.extend_from_slice(tokens);
        self.spans.push(start..self.tokens.len());
    }
}

impl Bert {
    /// Takes every weight it needs; each must have the shape that the configuration says.
    pub(super) fn new(shape: Shape, weights: &mut Weights) -> Result<Self, String> {
        let Shape { vocabulary, positions, types, hidden, .. } = shape;
        let words = matrix(weights, "embeddings.word_embeddings.weight", vocabulary, hidden)?;
        let mut places = matrix(weights, "embeddings.position_embeddings.weight", positions, hidden)?;
        let mut distances = None;
        match shape.family {
            Family::Bert => {
                let kinds = matrix(weights, "embeddings.token_type_embeddings.weight", types, hidden)?;
                places += &kinds.row(0);
            }
            Family::Mpnet => {
                let counts = matrix(weights, "encoder.relative_attention_bias.weight", CLASSES, shape.heads)?;
                distances = Some(Distances(counts));
            }
        }
        let norm = Norm::new(weights, "embeddings.LayerNorm", shape)?;
        let layers = (0..shape.layers)
            .map(|index| Layer::new(weights, &format!("encoder.layer.{index}"), shape))
            .collect::<Result<_, _>>()?;
        Ok(Self { shape, words, positions: places, norm, distances, layers })
    }

    /// A vector for each text. Every token must be below the size of the vocabulary, every text within the positions.
    pub(super) fn run(&self, texts: &Texts, pooling: Pooling) -> Vec<Vec<f32>> {
        let mut x = self.look_up(texts);
        self.norm.apply(&mut x);
        for layer in &self.layers {
            layer.apply(&mut x, texts, self.shape.heads, self.distances.as_ref());
        }
        texts.spans.iter().map(|span| pool(&rows(&x, span), pooling)).collect()
    }

    fn look_up(&self, texts: &Texts) -> Array2<f32> {
        let mut x = Array2::zeros((texts.tokens.len(), self.shape.hidden));
        let places = texts.spans.iter().flat_map(|span| 0..span.len());
        for ((mut row, token), place) in x.rows_mut().into_iter().zip(&texts.tokens).zip(places) {
            row += &self.words.row(*token as usize);
            row += &self.positions.row(place + self.shape.first_position);
        }
        x
    }
}

impl Layer {
    fn new(weights: &mut Weights, name: &str, shape: Shape) -> Result<Self, String> {
        let Shape { hidden, inner, .. } = shape;
        let [query, key, value, out, attention_norm] = match shape.family {
            Family::Bert => ["self.query", "self.key", "self.value", "output.dense", "output.LayerNorm"],
            Family::Mpnet => ["attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm"],
        };
        let attention_norm = Norm::new(weights, &format!("{name}.attention.{attention_norm}"), shape)?;
        let mut linear = |part: &str, from, to| Linear::new(weights, &format!("{name}.{part}"), from, to);
        Ok(Self {
            query: linear(&format!("attention.{query}"), hidden, hidden)?,
            key: linear(&format!("attention.{key}"), hidden, hidden)?,
            value: linear(&format!("attention.{value}"), hidden, hidden)?,
            out: linear(&format!("attention.{out}"), hidden, hidden)?,
            up: linear("intermediate.dense", hidden, inner)?,
            down: linear("output.dense", inner, hidden)?,
            attention_norm,
            norm: Norm::new(weights, &format!("{name}.output.LayerNorm"), shape)?,
        })
    }

    fn apply(&self, x: &mut Array2<f32>, texts: &Texts, heads: usize, distances: Option<&Distances>) {
        let seen = self.out.apply(&self.attend(x, texts, heads, distances));
        *x += &seen;
        self.attention_norm.apply(x);
        let mut inner = self.up.apply(x);
        math::gelu(flat(&mut inner));
        *x += &self.down.apply(&inner);
        self.norm.apply(x);
    }

    /// What each token takes from the others of its text.
    fn attend(
        &self,
        x: &Array2<f32>,
        texts: &Texts,
        heads: usize,
        distances: Option<&Distances>,
    ) -> Array2<f32> {
        let (query, key, value) = (self.query.apply(x), self.key.apply(x), self.value.apply(x));
        let mut seen = Array2::zeros(x.raw_dim());
        let width = x.ncols() / heads;
        #[expect(clippy::cast_precision_loss, reason = "the width of a head")]
        let scale = 1.0 / (width as f32).sqrt();
        for span in &texts.spans {
            let mut shares = Array2::zeros((span.len().min(ROWS), span.len()));
            for head in 0..heads {
                let columns = Slice::from(head * width..(head + 1) * width);
                let (key, value) = (part(&key, span, columns), part(&value, span, columns));
                let counts = distances.map(|distances| distances.of(span.len(), head));
                for start in span.clone().step_by(ROWS) {
                    let block = start..span.end.min(start + ROWS);
                    let mut shares = shares.slice_axis_mut(Axis(0), Slice::from(..block.len()));
                    general_mat_mul(scale, &part(&query, &block, columns), &key.t(), 0.0, &mut shares);
                    if let Some(counts) = &counts {
                        count_distances(&mut shares, counts, start - span.start);
                    }
                    if let Some(shares) = shares.as_slice_mut() {
                        math::softmax(shares, span.len());
                    }
                    let mut seen = seen.slice_axis_mut(Axis(0), Slice::from(block));
                    let mut seen = seen.slice_axis_mut(Axis(1), columns);
                    general_mat_mul(1.0, &shares, &value, 0.0, &mut seen);
                }
            }
        }
        seen
    }
}

impl Linear {
    fn new(weights: &mut Weights, name: &str, from: usize, to: usize) -> Result<Self, String> {
        Ok(Self {
            weight: matrix(weights, &format!("{name}.weight"), to, from)?,
            bias: weights.take(&format!("{name}.bias"), &[to])?,
        })
    }

    fn apply(&self, x: &Array2<f32>) -> Array2<f32> {
        let mut out = Array2::zeros((x.nrows(), self.bias.len()));
        for row in flat(&mut out).chunks_exact_mut(self.bias.len()) {
            row.copy_from_slice(&self.bias);
        }
        general_mat_mul(1.0, x, &self.weight.t(), 1.0, &mut out);
        out
    }
}

impl Norm {
    fn new(weights: &mut Weights, name: &str, shape: Shape) -> Result<Self, String> {
        Ok(Self {
            scale: weights.take(&format!("{name}.weight"), &[shape.hidden])?,
            shift: weights.take(&format!("{name}.bias"), &[shape.hidden])?,
            epsilon: shape.epsilon,
        })
    }

    fn apply(&self, x: &mut Array2<f32>) {
        math::normalise(flat(x), &self.scale, &self.shift, self.epsilon);
    }
}

/// Adds what distances count to rows of attention, of which the first is that of the text's token `first`.
fn count_distances(rows: &mut ArrayViewMut2<'_, f32>, counts: &[f32], first: usize) {
    let last = rows.ncols().saturating_sub(1);
    for (place, row) in (first..).zip(rows.rows_mut()) {
        let counts = counts.iter().skip(last.saturating_sub(place));
        row.into_iter().zip(counts).for_each(|(x, count)| *x += count);
    }
}

fn matrix(weights: &mut Weights, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, String> {
    let values = weights.take(name, &[rows, columns])?;
    Array2::from_shape_vec((rows, columns), values).map_err(|error| format!("the tensor {name}: {error}"))
}

fn rows<'a>(of: &'a Array2<f32>, span: &Range<usize>) -> ArrayView2<'a, f32> {
    of.slice_axis(Axis(0), Slice::from(span.clone()))
}

fn part<'a>(of: &'a Array2<f32>, span: &Range<usize>, columns: Slice) -> ArrayView2<'a, f32> {
    rows(of, span).slice_axis_move(Axis(1), columns)
}

/// The numbers of a matrix that was made here, so that they stand row by row.
fn flat(of: &mut Array2<f32>) -> &mut [f32] {
    of.as_slice_mut().unwrap_or_default()
}

fn pool(rows: &ArrayView2<'_, f32>, pooling: Pooling) -> Vec<f32> {
    match pooling {
        Pooling::Mean => rows.sum_axis(Axis(0)).to_vec(), // its length will be 1 anyway
        Pooling::First => rows.row(0).to_vec(),
    }
}
