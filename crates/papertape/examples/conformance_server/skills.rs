//! The skills that the suite lists, reads and looks through. It asks for no names, but for a directory within a skill.

use papertape::Server;
use papertape::server::{Skill, Skills};
use serde_json::json;

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\x9cc`\0\0\0\x02\0\x01H\xaf\xa4q\0\0\0\0IEND\xaeB`\x82";

pub(crate) fn register(server: Server) -> Server {
    let workflow = Skill::new(
        "git-workflow",
        "Branch, commit and open requests the way this team does",
        "# Git\n\nOne change per commit. Messages: see `references/MESSAGES.md`.\n",
    )
    .field("license", "MIT")
    .field("metadata", json!({"version": "2.1.0"}))
    .file("references/MESSAGES.md", "# Messages\n\nSay why.\n")
    .file("scripts/check.sh", "#!/bin/sh\ngit diff --check\n")
    .file("assets/logo.png", PIXEL);
    let refunds = Skill::from_markdown(
        "---\nname: refunds\ndescription: >-\n  Give money back,\n  as the rules have it\nallowed-tools: Read Grep\n---\n\nAsk first.\n",
    );
    server.skills(Skills::new().skill(workflow).skill(refunds.under("acme/billing")))
}
