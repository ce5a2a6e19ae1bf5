//! Servers on Unix domain sockets: `unix:PATH`.

use papertape::unix;
use papertape_servers::text;
use tokio::runtime::Runtime;

use crate::process::run;
use crate::{contains, papertape};

#[test]
fn a_server_on_a_socket_is_called() {
    let path = std::env::temp_dir().join(format!("papertape-cli-{}.sock", std::process::id()));
    let runtime = Runtime::new().unwrap();
    let _within = runtime.enter();
    let listener = unix::Listener::bind(&path).unwrap();
    let stop = std::future::pending::<()>();
    runtime.spawn(async move { unix::serve_until(listener, text::server(), stop).await });
    let path = path.to_str().unwrap();
    let target = format!("unix:{path}");
    let end = run(&mut papertape(["call", &target, "word_count", "text=one two"]), "");
    assert_eq!(crate::text(end.is_clean()), "2\n");
    let end = run(&mut papertape(["list", path]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(&end.log, &["is a Unix socket", &format!("unix:{path}")]);
    let end = run(&mut papertape(["list", &target, "--env", "A=b"]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(&end.log, &["--env is for servers that are started as a process"]);
}
