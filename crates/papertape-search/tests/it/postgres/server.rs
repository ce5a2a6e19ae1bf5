//! A PostgreSQL of one's own: made, started and ended by the test that needs it.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use papertape_search::store::postgres::Postgres;
use tokio::net::TcpSocket;
use tokio_postgres::{Client, NoTls};

/// PostgreSQL refuses to run as root; this is `nobody`.
const NOBODY: u32 = 65534;

/// Ends the sessions of stores. A session reports its statistics (how often an index was used) at the latest then, and
/// this waits until each has.
pub(crate) async fn end_sessions(client: &Client) {
    let sql = "SELECT pid, pg_terminate_backend(pid, 20000) FROM pg_stat_activity
               WHERE application_name LIKE 'papertape%'";
    let sessions: Vec<i32> = client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    // A session that had just ended by itself is not reported.
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)";
    let left: i64 = client.query_one(sql, &[&sessions]).await.unwrap().get(0);
    assert_eq!(left, 0, "a session does not end");
}

/// A server that ends with its value.
pub(crate) struct Server {
    binaries: PathBuf,
    folder: PathBuf,
    /// Bound and never listening. While it exists its port is not given to another process, and PostgreSQL may listen
    /// there: both set `SO_REUSEADDR`.
    reserved: TcpSocket,
    as_nobody: bool,
}

impl Server {
    /// A server with an empty database, and these settings more.
    pub(crate) fn start(settings: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let binaries = std::env::var_os("PAPERTAPE_TEST_POSTGRES").expect("interop/blog/run sets it");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("papertape-postgres-{}-{number}", std::process::id()));
        // A run that was killed may have left something under the same number.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir(&folder).unwrap();
        let as_nobody = std::fs::metadata(&folder).unwrap().uid() == 0;
        if as_nobody {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let reserved = TcpSocket::new_v4().unwrap();
        reserved.set_reuseaddr(true).unwrap();
        reserved.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = Self { binaries: PathBuf::from(binaries), folder, reserved, as_nobody };
        let password = server.folder.join("password");
        std::fs::write(&password, "right").unwrap();
        server.run("initdb", |command| {
            command.args(["--username=tester", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
            // A debug build takes long for the usual number, and a store has 2 s for a connection.
            command.arg("--set=scram_iterations=1");
            command.arg("--no-sync").arg("--pwfile").arg(&password).arg("-D").arg(server.data())
        });
        let mut lines = vec![
            format!("port = {}", server.port()),
            "listen_addresses = '127.0.0.1'".to_owned(),
            format!("unix_socket_directories = '{}'", server.folder.display()),
            "fsync = off".to_owned(),
            "log_min_messages = fatal".to_owned(),
        ];
        lines.extend(settings.iter().map(|line| (*line).to_owned()));
        let file = server.data().join("postgresql.conf");
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{before}\n{}\n", lines.join("\n"))).unwrap();
        server.control(&["start"]);
        server
    }

    /// Where the store is.
    pub(crate) fn url(&self) -> String {
        self.url_with("tester", "right", "postgres")
    }

    /// Its URL for another user.
    pub(crate) fn url_with(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port())
    }

    pub(crate) fn port(&self) -> u16 {
        self.reserved.local_addr().unwrap().port()
    }

    /// A store there.
    pub(crate) fn store(&self) -> Postgres {
        Postgres::open(&self.url()).unwrap()
    }

    /// A connection of the test's own.
    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Lets the server have a directory.
    pub(crate) fn give(&self, folder: &Path) {
        if self.as_nobody {
            chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Starts it after its first process was killed: the others take a moment to notice.
    pub(crate) fn start_again(&self) {
        let end = Instant::now() + Duration::from_secs(120);
        while !self.command("pg_ctl", |command| self.controlled(command, &["start"])).status.success() {
            assert!(Instant::now() < end, "it does not start again");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The first process of the server.
    pub(crate) fn postmaster(&self) -> i32 {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    /// `pg_ctl` with these arguments: `start`, `stop`, `restart`, and how.
    pub(crate) fn control(&self, arguments: &[&str]) {
        self.run("pg_ctl", |command| self.controlled(command, arguments));
    }

    fn controlled<'a>(&self, command: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
        command.arg("-D").arg(self.data()).args(["-w", "-s", "-l"]).arg(self.log()).args(arguments)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn run(&self, program: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) {
        let done = self.command(program, arguments);
        let said = [done.stdout, done.stderr].concat();
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        assert!(done.status.success(), "{program}: {}\nits log:\n{log}", String::from_utf8_lossy(&said));
    }

    fn command(&self, program: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Output {
        let mut command = Command::new(self.binaries.join(program));
        arguments(&mut command).current_dir(&self.folder).env_remove("PGDATA");
        if self.as_nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.command("pg_ctl", |command| self.controlled(command, &["-m", "immediate", "stop"]));
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
