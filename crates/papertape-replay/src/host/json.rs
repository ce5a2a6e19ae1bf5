//! A report as one JSON document.

use serde_json::{Map, Value, json};

use super::report::{Replayed, Report, Verdict};

impl Report {
    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let failure = self.failure.as_ref();
        json!({
            "same": self.is_same(),
            "requests": self.requests.iter().map(request).collect::<Vec<_>>(),
            "others": self.others,
            "violations": self.violations,
            "failure": failure.map(|failure| json!({"cause": failure.cause, "at_start": failure.at_start})),
        })
    }
}

fn request(replayed: &Replayed) -> Value {
    let mut members = Map::new();
    members.insert("number".to_owned(), replayed.number.into());
    members.insert("method".to_owned(), replayed.call.method.as_str().into());
    if let Some(name) = &replayed.call.name {
        members.insert("name".to_owned(), name.as_str().into());
    }
    members.insert("verdict".to_owned(), replayed.verdict.name().into());
    if let Some(time) = replayed.time {
        members.insert("seconds".to_owned(), time.as_secs_f64().into());
    }
    if let Verdict::Different(differences) = &replayed.verdict {
        let differences = differences.iter().map(|difference| {
            let mut members = Map::new();
            members.insert("pointer".to_owned(), difference.pointer.as_str().into());
            members.extend(difference.label.clone().map(|label| ("label".to_owned(), label.into())));
            members.extend(difference.old.clone().map(|value| ("recorded".to_owned(), value)));
            members.extend(difference.new.clone().map(|value| ("new".to_owned(), value)));
            Value::from(members)
        });
        members.insert("differences".to_owned(), differences.collect());
    }
    members.into()
}
