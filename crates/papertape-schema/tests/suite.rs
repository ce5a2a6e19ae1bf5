//! The official test suite of JSON Schema, in the directory that `JSON_SCHEMA_TEST_SUITE` names: all required tests of
//! both dialects, and the optional ones but for those of `format` and `content*`, which are annotations here.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use papertape_schema::{Draft, Validator};
use serde_json::Value;

/// Optional tests of what was not chosen: formats and contents that are checked, and a third dialect (2019-09).
const NOT_DONE: [&str; 3] = ["content.json", "cross-draft.json", "format-assertion.json"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::var("JSON_SCHEMA_TEST_SUITE").map_err(
        |_| "JSON_SCHEMA_TEST_SUITE must name a checkout of json-schema-org/JSON-Schema-Test-Suite",
    )?;
    let folder = Path::new(&folder);
    let remotes = folder.join("remotes");
    let mut documents = HashMap::new();
    for path in files(&remotes, true)? {
        let name = path.strip_prefix(&remotes)?.to_string_lossy().into_owned();
        documents.insert(format!("http://localhost:1234/{name}"), read(&path)?);
    }
    let mut failures = Vec::new();
    let mut total = 0;
    for (draft, name) in [(Draft::Draft202012, "draft2020-12"), (Draft::Draft7, "draft7")] {
        let tests = folder.join("tests").join(name);
        let mut paths = files(&tests, false)?;
        paths.extend(files(&tests.join("optional"), false)?);
        for path in paths
            .into_iter()
            .filter(|path| !NOT_DONE.iter().any(|skipped| path.ends_with(format!("optional/{skipped}"))))
        {
            total += run(&path, draft, &documents, &mut failures)?;
        }
    }
    match failures.is_empty() && total > 2_000 {
        true => Ok(()),
        false => Err(format!("{} of {total} failed:\n{}", failures.len(), failures.join("\n")).into()),
    }
}

/// The JSON files of a directory.
fn files(folder: &Path, in_depth: bool) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && in_depth {
            found.extend(files(&path, true)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

fn run(
    path: &Path,
    draft: Draft,
    documents: &HashMap<String, Value>,
    failures: &mut Vec<String>,
) -> Result<usize, Box<dyn Error>> {
    let mut total = 0;
    for group in read(path)?.as_array().into_iter().flatten() {
        let compiled = Validator::with_documents(&group["schema"], draft, documents);
        for test in group["tests"].as_array().into_iter().flatten() {
            total += 1;
            let name = format!("{}: {} / {}", path.display(), group["description"], test["description"]);
            match &compiled {
                Err(error) => failures.push(format!("{name}: {error}")),
                Ok(validator) => {
                    let valid = validator.is_valid(&test["data"]);
                    if Value::Bool(valid) != test["valid"] {
                        failures.push(format!("{name}: valid is {valid}"));
                    }
                    if validator.errors(&test["data"]).is_empty() != valid {
                        failures.push(format!("{name}: valid is {valid}, but not by its errors"));
                    }
                }
            }
        }
    }
    Ok(total)
}
