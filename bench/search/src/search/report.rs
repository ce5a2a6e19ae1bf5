//! Places of relevant results to a table.

use std::fmt;

use super::figures::{Figure, bootstrap, difference, reciprocal, within_five};

/// What was found, by what found it.
#[derive(Debug)]
pub(crate) struct Table {
    seed: u64,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    mrr: Figure,
    recall: Figure,
    is_difference: bool,
}

impl Table {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, rows: Vec::new() }
    }

    /// The places at which the relevant results stood.
    pub(crate) fn add(&mut self, name: &str, places: &[Option<usize>]) {
        let of =
            |metric: fn(Option<usize>) -> f64| places.iter().map(|place| metric(*place)).collect::<Vec<_>>();
        self.rows.push(Row {
            name: name.to_owned(),
            mrr: bootstrap(&of(reciprocal), self.seed),
            recall: bootstrap(&of(within_five), self.seed),
            is_difference: false,
        });
    }

    /// How much better one is than the other, query by query.
    pub(crate) fn compare(&mut self, name: &str, one: &[Option<usize>], other: &[Option<usize>]) {
        let of = |places: &[Option<usize>], metric: fn(Option<usize>) -> f64| {
            places.iter().map(|place| metric(*place)).collect::<Vec<_>>()
        };
        self.rows.push(Row {
            name: name.to_owned(),
            mrr: difference(&of(one, reciprocal), &of(other, reciprocal), self.seed),
            recall: difference(&of(one, within_five), &of(other, within_five), self.seed),
            is_difference: true,
        });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<38} {:^24}  {:^24}", "", "MRR@10 (95%)", "recall@5 (95%)")?;
        for row in &self.rows {
            let show = |figure: &Figure| match row.is_difference {
                true => format!("{:+.3} [{:+.3}, {:+.3}]", figure.mean, figure.low, figure.high),
                false => format!("{:.3} [{:.3}, {:.3}]", figure.mean, figure.low, figure.high),
            };
            writeln!(out, "{:<38} {:>24}  {:>24}", row.name, show(&row.mrr), show(&row.recall))?;
        }
        Ok(())
    }
}
