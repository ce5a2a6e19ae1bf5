//! SQLite notes: tools, resources, a resource template, a prompt and completion that share one database.
//!
//! ```sh
//! cargo build -p papertape-examples --example notes
//! papertape call 'target/debug/examples/notes notes.db' write_note name=tea text='Water the tea plant.'
//! papertape read 'target/debug/examples/notes notes.db' notes:///tea
//! ```

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use papertape::server::{Prompt, Resource, ResourceTemplate, Resources, Tool};
use papertape::{Cx, Json, Server, ToolError, stdio};
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database. Clones are the same one.
#[derive(Clone)]
struct Notes(Arc<Mutex<Connection>>);

/// What the handlers share.
struct App {
    notes: Notes,
    resources: Resources,
}

impl Notes {
    fn open(path: &str) -> rusqlite::Result<Self> {
        let database = Connection::open(path)?;
        database
            .execute_batch("CREATE TABLE IF NOT EXISTS note (name TEXT PRIMARY KEY, text TEXT NOT NULL)")?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    fn database(&self) -> Result<MutexGuard<'_, Connection>, ToolError> {
        self.0.lock().map_err(|_| ToolError::internal("a handler panicked while it used the database"))
    }

    /// The names that begin like this.
    fn names(&self, beginning: &str) -> Result<Vec<String>, ToolError> {
        let database = self.database()?;
        let mut query = database
            .prepare_cached("SELECT name FROM note WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name")?;
        let names = query.query_map([beginning], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Writes a note; whether it is new.
    fn write(&self, name: &str, text: &str) -> Result<bool, ToolError> {
        let database = self.database()?;
        let is_new = database.execute("UPDATE note SET text = ?2 WHERE name = ?1", [name, text])? == 0;
        if is_new {
            database.execute("INSERT INTO note VALUES (?1, ?2)", [name, text])?;
        }
        Ok(is_new)
    }

    fn read(&self, name: &str) -> Result<String, ToolError> {
        let query = "SELECT text FROM note WHERE name = ?";
        let text = self.database()?.query_row(query, [name], |row| row.get(0)).optional()?;
        text.ok_or_else(|| ToolError::refused(format!("there is no note {name:?}")))
    }
}

/// Write a note, or replace it.
#[derive(Deserialize, JsonSchema)]
struct WriteNote {
    /// Lowercase letters, digits and dashes.
    #[schemars(regex(pattern = "^[a-z0-9-]+$"))]
    name: String,
    /// In Markdown.
    text: String,
}

async fn write_note(args: WriteNote, cx: Cx<App>) -> Result<String, ToolError> {
    let App { notes, resources } = cx.state();
    let is_new = notes.write(&args.name, &args.text)?;
    if is_new {
        resources.list_changed();
    } else {
        resources.updated(&uri(&args.name));
    }
    Ok(uri(&args.name))
}

/// Delete a note.
#[derive(Deserialize, JsonSchema)]
struct DeleteNote {
    name: String,
}

async fn delete_note(args: DeleteNote, cx: Cx<App>) -> Result<String, ToolError> {
    let App { notes, resources } = cx.state();
    if notes.database()?.execute("DELETE FROM note WHERE name = ?", [&args.name])? == 0 {
        return Err(ToolError::failed(format!("there is no note {:?}", args.name)));
    }
    resources.list_changed();
    Ok("deleted".to_owned())
}

/// Search the notes.
#[derive(Deserialize, JsonSchema)]
struct SearchNotes {
    /// Text that they contain.
    query: String,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "ten")]
    limit: u32,
}

fn ten() -> u32 {
    10
}

#[derive(Serialize, JsonSchema)]
struct Hit {
    uri: String,
    text: String,
}

async fn search_notes(args: SearchNotes, cx: Cx<App>) -> Result<Json<Vec<Hit>>, ToolError> {
    let database = cx.state().notes.database()?;
    let mut query = database.prepare_cached(
        "SELECT name, text FROM note WHERE instr(lower(text), lower(?)) ORDER BY name LIMIT ?",
    )?;
    let hits = query.query_map(params![args.query, args.limit], |row| {
        Ok(Hit { uri: uri(&row.get::<_, String>(0)?), text: row.get(1)? })
    })?;
    Ok(Json(hits.collect::<Result<_, _>>()?))
}

/// The variables of the template `notes:///{name}`.
#[derive(Deserialize)]
struct Named {
    name: String,
}

async fn read_note(note: Named, cx: Cx<App>) -> Result<String, ToolError> {
    cx.state().notes.read(&note.name)
}

/// Ask for a summary of a note.
#[derive(Deserialize, JsonSchema)]
struct Summarise {
    name: String,
    /// In one sentence by default.
    length: Option<String>,
}

async fn summarise(args: Summarise, cx: Cx<App>) -> Result<String, ToolError> {
    let text = cx.state().notes.read(&args.name)?;
    Ok(format!("Summarise this note in {}:\n\n{text}", args.length.as_deref().unwrap_or("one sentence")))
}

fn uri(name: &str) -> String {
    format!("notes:///{name}")
}

fn server(notes: Notes) -> Server<App> {
    let mut server = Server::new("notes", "1.0.0").instructions("Short notes, by name.");
    let resources = server.resources();
    let [listed, completed, prompted] = [notes.clone(), notes.clone(), notes.clone()];
    let template = ResourceTemplate::new("notes:///{name}")
        .mime_type("text/markdown")
        .list(move |_| {
            ready(listed.names("").map(|names| names.iter().map(|name| Resource::new(uri(name))).collect()))
        })
        .complete("name", move |so_far| ready(completed.names(&so_far.value)));
    let prompt =
        Prompt::new("summarise").complete("name", move |so_far| ready(prompted.names(&so_far.value)));
    server
        .with_state(App { notes, resources })
        .tool(Tool::new("write_note").idempotent(), write_note)
        .tool(Tool::new("delete_note"), delete_note)
        .tool(Tool::new("search_notes").read_only(), search_notes)
        .resource_template(template, read_note)
        .prompt(prompt, summarise)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "notes.db".to_owned());
    Ok(stdio::serve(server(Notes::open(&path)?)).await?)
}
