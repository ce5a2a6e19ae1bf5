//! `papertape check TARGET`: what is wrong with a server, and `--explain`: what a code means.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use papertape::guess;
use papertape_check::{CheckedServer, Code, Options, Report, check_http, check_stdio};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::{Check, ReportFormat};
use crate::connect::{read_files, refuse, until_signal, with_environment};
use crate::credentials;
use crate::exit::Failure;
use crate::print::text::one_line;
use crate::print::{self, Look, check_report, code_page};
use crate::progress_line::ProgressLine;
use crate::servers_file::DEFAULT;
use crate::sync::lock;
use crate::target::{self, Connector, Target};

/// The code of a command that is not found.
const NOT_FOUND: &str = "PT0201";

/// How often the progress line is drawn again.
const TICK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: Check) -> Result<(), Failure> {
    if let Some(code) = args.explain {
        return explain(code.as_deref(), args.output);
    }
    let (target, _) =
        target::split(args.target.clone().into_iter().collect(), args.command.clone(), &args.from_file)?;
    let server = CheckedServer {
        name: target.to_string(),
        file: file(&target, args.from_file.config.as_deref()),
        http: target.http_url().is_some(),
    };
    let options = Options::default()
        .timeout(Duration::from_secs_f64(args.timeout))
        .call(args.call.clone())
        .call_all(args.call_all);
    let report = match target.connector()? {
        Connector::Process(command) => {
            let because = format!("for servers at a URL, and {target} is started as a process");
            refuse(args.http_only_option(), &because)?;
            watched("starting the server", options, async |options| {
                let command = with_environment(command, &args.env_file, &args.env, args.cwd.as_deref());
                let mut report = check_stdio(&command.await?, &options).await;
                // A word that is no program may be meant as a name.
                if let Some(finding) =
                    report.findings.iter_mut().find(|finding| finding.code.name() == NOT_FOUND)
                {
                    finding.remedy += &target.hint();
                }
                Ok(report)
            })?
        }
        Connector::Http { url, headers } => {
            let because = format!("for servers that are started as a process, and {target} is at a URL");
            refuse(args.process_only_option(), &because)?;
            watched("connecting", options, async |options| {
                let (headers, options) = with_credentials(&args, headers, options).await?;
                Ok(check_http(&url, &headers, &options).await)
            })?
        }
        Connector::Unix(_) => {
            return Err(Failure::usage(format!(
                "only servers that are started as a process, or at a URL, can be checked, and {target} is a socket"
            )));
        }
    };
    match args.output {
        ReportFormat::Text => print::out(check_report::as_text(&report, &server, Look::of_stdout()))?,
        ReportFormat::Json => print::document(&report.json(&server))?,
        ReportFormat::Sarif => print::document(&report.sarif(&server))?,
        ReportFormat::Junit => print::out(report.junit(&server))?,
    }
    if report.breaks() { Err(Failure::Unhealthy) } else { Ok(()) }
}

/// The headers of a file of servers with those of options in their place, and the token and the CA certificates of their files.
async fn with_credentials(
    args: &Check,
    mut headers: Vec<(String, String)>,
    mut options: Options,
) -> Result<(Vec<(String, String)>, Options), Failure> {
    let (token, ca) = (args.bearer_file.clone(), args.ca.clone());
    let (token, ca) = read_files(move || {
        let token = token.as_deref().map(credentials::read_token).transpose()?;
        Ok((token, ca.as_deref().map(credentials::read_certificates).transpose()?))
    })
    .await?;
    let token = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
    let given: Vec<_> = args.header.iter().cloned().chain(token).collect();
    headers.retain(|(name, _)| !given.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    headers.extend(given);
    if let Some(pem) = ca {
        options = options.root_certificates(pem);
    }
    Ok((headers, options.allow_http(args.insecure_http)))
}

/// The check, with its steps on a line of the terminal. A signal ends it, and the server.
fn watched(
    first: &str,
    options: Options,
    check: impl AsyncFnOnce(Options) -> Result<Report, Failure>,
) -> Result<Report, Failure> {
    let look = Look::of_stderr();
    let line = ProgressLine::default();
    let write = line.write(look);
    let step = Arc::new(Mutex::new(first.to_owned()));
    let options = options.on_step({
        let step = Arc::clone(&step);
        move |text| *lock(&step) = one_line(text)
    });
    until_signal(async |signals| {
        let began = Instant::now();
        let mut check = pin!(check(options));
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                report = &mut check => return report,
                number = signals.next() => return Err(Failure::Signal(number)),
                _ = ticks.tick(), if look.redraws() => {
                    write(&format!("{} s: {}", began.elapsed().as_secs(), lock(&step)));
                }
            }
        }
    })
}

/// Prints the page of a code, or the list of all.
fn explain(name: Option<&str>, output: ReportFormat) -> Result<(), Failure> {
    let all = || Code::groups().into_iter().flat_map(|(_, codes)| codes).copied();
    let Some(name) = name else {
        match output.of_explanations()? {
            ReportFormat::Json => {
                print::document(&json!({"codes": all().map(code_page::document).collect::<Vec<_>>()}))?
            }
            _ => print::out(code_page::list(Look::of_stdout()))?,
        }
        return Ok(());
    };
    let code = Code::find(name).ok_or_else(|| {
        let hint = guess::hint(name, all().map(Code::name));
        Failure::usage(format!(
            "there is no code \"{name}\"{hint}\n  `papertape check --explain` lists all codes"
        ))
    })?;
    match output.of_explanations()? {
        ReportFormat::Json => print::document(&code_page::document(code))?,
        _ => print::out(code_page::page(code, Look::of_stdout()))?,
    }
    Ok(())
}

impl ReportFormat {
    /// A code is not a report.
    fn of_explanations(self) -> Result<Self, Failure> {
        match self {
            ReportFormat::Text | ReportFormat::Json => Ok(self),
            ReportFormat::Sarif | ReportFormat::Junit => {
                Err(Failure::usage("--explain is printed as text or as JSON: --output text, --output json"))
            }
        }
    }
}

/// The file that a server is, for code scanning: the script or the program of its command, or the file that configures it.
fn file(target: &Target, config: Option<&Path>) -> String {
    match target {
        Target::Bundled { .. } => "papertape".to_owned(),
        Target::Configured(_) => relative(config.unwrap_or_else(|| Path::new(DEFAULT))),
        Target::Command { program, arguments } => {
            let words = std::iter::once(program).chain(arguments).map(Path::new);
            // `python3`, if there is no file of this name, is looked up on the PATH.
            let file = words.into_iter().find(|word| word.is_file()).map(relative);
            file.unwrap_or_else(|| relative(Path::new(program)))
        }
        Target::Unix(path) => relative(path),
        Target::Url(url) => url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).to_owned(),
    }
}

/// A path within the current directory, or the name of a file elsewhere.
fn relative(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let inner = path.strip_prefix(here).unwrap_or(path);
    let inner = if inner.is_absolute() || inner.starts_with("..") {
        inner.file_name().map(Path::new).unwrap_or(inner)
    } else {
        inner
    };
    inner.to_string_lossy().into_owned()
}
