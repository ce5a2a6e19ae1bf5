//! Skills: what a server offers of them, from memory and from directories, and what a client makes of them.

mod folders;
mod offered;
mod verified;

use papertape::Server;
use papertape::server::{Limits, Skill, Skills};
use serde_json::json;

/// Three skills, one within another, on pages of two.
pub(crate) fn server() -> Server {
    let pdf = Skill::new("pdf", "Fill in \"forms\": all of them", "# PDF\n\nSee references/FORMS.md.\n")
        .field("license", "MIT")
        .field("metadata", json!({"version": 1.5}))
        .file("references/FORMS.md", "Fields are named é.\n")
        .file("references/deep/er.txt", "")
        .file("a picture.png", b"\x89PNG\r\n\0".to_vec())
        .file_as("data", "application/x-data", "text all the same");
    let skills = Skills::new()
        .skill(pdf)
        .skill(Skill::new("refunds", "Give money back", "Ask first.").under("acme/billing"))
        .skill(Skill::new("partly", "Give some of it back", "Ask twice.").under("acme/billing/refunds"));
    Server::new("librarian", "1.0.0").limits(Limits { page: 2, ..Limits::default() }).skills(skills)
}

/// A server with one skill.
fn with(skill: Skill) -> Server {
    Server::new("librarian", "1.0.0").skills(Skills::new().skill(skill))
}

/// A skill that is right.
fn skill() -> Skill {
    Skill::new("sound", "Nothing is wrong with it", "Do nothing.")
}

/// Why a server cannot start.
#[track_caller]
fn problem(server: &Server) -> String {
    server.check().expect_err("it can start").to_string()
}
