//! Places of relevant results to tables, and to a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;

use super::contender::{COMPARED, Contender, Kind};
use super::figures::{Figure, bootstrap, difference, reciprocal, within_five};

/// The places at which relevant chunks were found for the queries of one kind in one directory.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) corpus: String,
    pub(crate) queries: Vec<String>,
    /// In the order of the queries.
    pub(crate) places: BTreeMap<Contender, Vec<Option<usize>>>,
}

/// A row of a table.
#[derive(Debug, Serialize)]
struct Row<'a> {
    metric: &'static str,
    contender: Contender,
    minus: Option<Contender>,
    figure: &'a Figure,
}

type Metric = fn(Option<usize>) -> f64;

const METRICS: [(&str, Metric); 2] = [("MRR@10", reciprocal), ("hit@5", within_five)];

impl Measured {
    /// All queries of a kind.
    fn pooled(all: &[&Self]) -> Option<Self> {
        let mut pooled = Self { corpus: "all".to_owned(), ..Self::clone(all.first()?) };
        for one in all.iter().skip(1) {
            pooled.queries.extend_from_slice(&one.queries);
            for (contender, places) in &one.places {
                pooled.places.entry(*contender).or_default().extend_from_slice(places);
            }
        }
        Some(pooled)
    }

    fn values(&self, contender: Contender, metric: Metric) -> Option<Vec<f64>> {
        Some(self.places.get(&contender)?.iter().map(|place| metric(*place)).collect())
    }

    /// The figures of each contender, and how much better one is than the other on the same queries.
    fn figures(&self, metric: Metric, seed: u64) -> Vec<(Contender, Option<Contender>, Figure)> {
        let each = self.places.keys().filter_map(|contender| {
            Some((*contender, None, bootstrap(&self.values(*contender, metric)?, seed)))
        });
        let compared = COMPARED.iter().filter_map(|(one, other)| {
            let figure = difference(&self.values(*one, metric)?, &self.values(*other, metric)?, seed);
            Some((*one, Some(*other), figure))
        });
        each.chain(compared).collect()
    }
}

/// Tables in Markdown: one of each kind and metric, a row for each directory and one for all of them.
pub(crate) fn tables(all: &[Measured], seed: u64) -> Result<String> {
    let mut text = String::new();
    let kinds: BTreeSet<Kind> = all.iter().map(|measured| measured.kind).collect();
    for kind in kinds {
        let of_kind: Vec<&Measured> = all.iter().filter(|measured| measured.kind == kind).collect();
        let pooled = Measured::pooled(&of_kind).filter(|_| of_kind.len() > 1);
        for (name, metric) in METRICS {
            let mut header = true;
            for measured in of_kind.iter().copied().chain(&pooled) {
                let figures = measured.figures(metric, seed);
                if std::mem::take(&mut header) {
                    write!(text, "\n{}, {name} (95% intervals)\n\n| | queries |", kind.title())?;
                    for (contender, minus, _) in &figures {
                        write!(text, " {} |", column(*contender, *minus))?;
                    }
                    writeln!(text, "\n|---|--:|{}", "---|".repeat(figures.len()))?;
                }
                write!(text, "| {} | {} |", measured.corpus, measured.queries.len())?;
                for (_, minus, figure) in &figures {
                    write!(text, " {} |", shown(figure, minus.is_some()))?;
                }
                writeln!(text)?;
            }
        }
    }
    Ok(text)
}

/// Every query with its places, and every figure, for programs.
pub(crate) fn json(all: &[Measured], seed: u64) -> Result<String> {
    let with_figures = all.iter().map(|measured| {
        let mut value = serde_json::to_value(measured)?;
        let mut rows = Vec::new();
        for (name, metric) in METRICS {
            for (contender, minus, figure) in measured.figures(metric, seed) {
                rows.push(serde_json::to_value(Row { metric: name, contender, minus, figure: &figure })?);
            }
        }
        if let Some(members) = value.as_object_mut() {
            members.insert("figures".to_owned(), rows.into());
        }
        Ok(value)
    });
    Ok(serde_json::to_string(&with_figures.collect::<Result<Vec<_>>>()?)?)
}

fn column(contender: Contender, minus: Option<Contender>) -> String {
    let minus = minus.map_or_else(String::new, |minus| format!(" - {}", minus.name()));
    format!("{}{minus}", contender.name())
}

/// A difference that chance hardly explains is bold.
fn shown(Figure { mean, low, high }: &Figure, is_difference: bool) -> String {
    match is_difference {
        false => format!("{mean:.3} [{low:.3}, {high:.3}]"),
        true if *low > 0.0 || *high < 0.0 => format!("**{mean:+.3} [{low:+.3}, {high:+.3}]**"),
        true => format!("{mean:+.3} [{low:+.3}, {high:+.3}]"),
    }
}
