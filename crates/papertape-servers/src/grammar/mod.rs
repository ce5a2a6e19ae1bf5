//! A tutor for twenty English verbs: forms, principal parts, Spanish readings, agreement and drills.
//!
//! What it knows is in `verbs.txt`, which a linguist can read and edit; the build fails if the table has a slip. There is
//! one file per tool, one for the resources and one for the prompt.

mod agreement;
mod arguments;
#[cfg(test)]
mod check;
mod complete;
mod conjugate;
mod drill;
mod irregular;
mod prompt;
mod quiz;
mod resource;
mod spanish;
mod subject;
mod table;
mod verbs;
mod wordlists;

use std::time::Duration;

use papertape::Server;
use papertape::protocol::CacheScope;
use papertape::server::Tool;

/// The grammar server, ready to be served.
#[must_use]
pub fn server() -> Server {
    Server::new("papertape-grammar", env!("CARGO_PKG_VERSION"))
        .title("English grammar tutor")
        .instructions(
            "Look verb forms up here instead of recalling them: every answer comes from a checked table of twenty \
             English verbs. A verb outside the table is out of scope; say so rather than guess its forms. To practise with \
             the user, start a drill; to read all forms at once, read grammar://table.",
        )
        // What is read never changes and is the same for all clients.
        .cache(Duration::from_secs(3600), CacheScope::Public)
        .tool(table_tool("conjugate", "Conjugate a verb"), conjugate::conjugate)
        .tool(table_tool("lookup_irregular_verb", "Look up an irregular verb"), irregular::lookup_irregular_verb)
        .tool(table_tool("lookup_spanish", "Translate a form into Spanish"), spanish::lookup_spanish)
        .tool(
            table_tool("check_subject_verb_agreement", "Check subject and verb"),
            agreement::check_subject_verb_agreement,
        )
        .app(drill::page())
        .tool(drill::tool().explain(arguments::explain), drill::drill)
        .tool(drill::mark_tool().explain(arguments::explain), drill::mark_answer)
        .resource(resource::whole_table(), resource::read_whole_table)
        .resource_template(resource::one_verb(), resource::read_one_verb)
        .prompt(prompt::prompt(), prompt::explain_tense)
}

/// These tools only read the table.
fn table_tool(name: &'static str, title: &'static str) -> Tool {
    Tool::new(name).title(title).read_only().idempotent().closed_world().explain(arguments::explain)
}
