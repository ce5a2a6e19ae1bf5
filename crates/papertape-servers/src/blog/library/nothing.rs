//! Why nothing was found, for whoever asked.

use super::Library;
use crate::blog::store::{Filter, Query, StoreError, Summary};

impl Library {
    /// Why a question has no hits.
    pub(super) async fn why_nothing(
        &self,
        mut query: Query,
        summary: &Summary,
    ) -> Result<String, StoreError> {
        if summary.chunks == 0 {
            return Ok("there is nothing to search: the index has no texts".to_owned());
        }
        if query.filter == Filter::default() {
            return Ok("none of these words is in the texts; try others".to_owned());
        }
        query.filter = Filter::default();
        query.top_k = 1;
        let found = self.store.search(&query).await?;
        Ok(if found.hits.is_empty() {
            "none of these words is in the texts, whatever the filters; try others".to_owned()
        } else {
            "there are hits, but not in files that pass the filters (path_prefix, tag, since, until)"
                .to_owned()
        })
    }
}
