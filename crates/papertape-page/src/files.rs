//! The files of the page, compiled in and served as they are.

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal $name:literal $kind:ident)*) => {
        /// The path, the content type and the text of each file.
        pub(crate) const FILES: &[(&str, &str, &str)] =
            &[$(($path, $kind, include_str!(concat!("../page/", $name)))),*];
    };
}

files! {
    "/" "index.html" HTML
    "/api.js" "api.js" SCRIPT
    "/app.js" "app.js" SCRIPT
    "/content.js" "content.js" SCRIPT
    "/detail.js" "detail.js" SCRIPT
    "/dom.js" "dom.js" SCRIPT
    "/drop.js" "drop.js" SCRIPT
    "/filter.js" "filter.js" SCRIPT
    "/form.js" "form.js" SCRIPT
    "/header.js" "header.js" SCRIPT
    "/icon.svg" "icon.svg" ICON
    "/keys.js" "keys.js" SCRIPT
    "/list.js" "list.js" SCRIPT
    "/main.js" "main.js" SCRIPT
    "/octets.js" "octets.js" SCRIPT
    "/overview.js" "overview.js" SCRIPT
    "/print.js" "print.js" SCRIPT
    "/rows.js" "rows.js" SCRIPT
    "/splitter.js" "splitter.js" SCRIPT
    "/state.js" "state.js" SCRIPT
    "/style.css" "style.css" STYLE
    "/theme.js" "theme.js" SCRIPT
    "/tree.js" "tree.js" SCRIPT
    "/try.js" "try.js" SCRIPT
    "/units.js" "units.js" SCRIPT
}

/// The content type and the text of a file.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(at, ..)| *at == path).map(|(_, kind, text)| (*kind, *text))
}
