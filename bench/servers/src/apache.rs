//! A private Apache with the event module, serving a few static files on a port of 127.0.0.1.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries;
use crate::error::{During, ServerError};
use crate::folder::Folder;
use crate::launch::{Launch, run};
use crate::options::Limits;
use crate::postgresql::free_loopback_port;
use crate::running::{Identity, Running, Stopped};

const NAME: &str = "Apache";
const INSTALL: &str = "scripts/install.sh apache (or: apt-get install apache2)";
/// Accounts the server may run as under root, the first that exists.
const ACCOUNTS: [&str; 2] = ["www-data", "nobody"];
/// Where distributions keep Apache's modules: Debian, Fedora (64 bit), Arch.
const MODULE_FOLDERS: [&str; 3] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
];
/// Modules to load where they are not built in: name in the configuration, file.
const MODULES: [(&str, &str); 5] = [
    ("mpm_event_module", "mod_mpm_event.so"),
    ("authz_core_module", "mod_authz_core.so"),
    ("dir_module", "mod_dir.so"),
    ("mime_module", "mod_mime.so"),
    ("unixd_module", "mod_unixd.so"),
];
/// Files of the document root: name and size in bytes. Small ones are written from memory, large ones by `sendfile`.
const FILES: [(&str, usize); 3] = [
    ("1k.txt", 1 << 10),
    ("64k.txt", 64 << 10),
    ("1m.txt", 1 << 20),
];
/// How long a request of [`RunningApache::get`] may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What may be chosen about a private Apache.
#[derive(Debug, Clone, Default)]
pub struct ApacheOptions {
    /// Lines added to the end of the configuration, e.g. `ThreadsPerChild 8`.
    pub directives: Vec<String>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// How long starting and stopping may take.
    pub limits: Limits,
}

/// An Apache with configuration and documents, not started yet. Dropping it removes the folder.
#[derive(Debug)]
pub struct Apache {
    folder: Folder,
    program: PathBuf,
    port: u16,
    limits: Limits,
}

impl Apache {
    /// Writes a configuration and documents (`/index.html`, `/1k.txt`, `/64k.txt`, `/1m.txt`) into a fresh folder
    /// and has Apache check it.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`], or Apache's own
    /// error about a directive.
    pub fn prepare(options: &ApacheOptions) -> Result<Self, ServerError> {
        let program = binaries::find("apache2")
            .or_else(|| binaries::find("httpd"))
            .ok_or(ServerError::NotInstalled {
                server: NAME,
                program: "apache2".into(),
                install: INSTALL,
            })?;
        let folder = Folder::create(options.parent.as_deref(), Account::for_server(&ACCOUNTS)?)?;
        let port = free_loopback_port()?;
        folder.make("documents")?;
        folder.write(
            "documents/index.html",
            "<!DOCTYPE html><title>Evenkeel</title><p>A private Apache.\n",
        )?;
        for (name, bytes) in FILES {
            folder.write(&format!("documents/{name}"), text(bytes))?;
        }
        folder.write("mime.types", "text/html html\ntext/plain txt\n")?;
        let loaded = run(Command::new(&program).arg("-l").current_dir(folder.path()))?;
        folder.write(
            "httpd.conf",
            configuration(folder.path(), port, &loaded, &options.directives),
        )?;
        let server = Self {
            folder,
            program,
            port,
            limits: options.limits,
        };
        let mut check = server.launch();
        check.args.push("-t".into());
        run(&mut check.command())?;
        Ok(server)
    }

    /// What starts the server in the foreground.
    #[must_use]
    pub fn launch(&self) -> Launch {
        let path = self.folder.path();
        Launch {
            program: self.program.clone(),
            args: [
                "-D".into(),
                "FOREGROUND".into(),
                "-d".into(),
                path.into(),
                "-f".into(),
            ]
            .into_iter()
            .chain([path.join("httpd.conf").into()])
            .collect(),
            env: vec![("LC_ALL".into(), "C".into()), ("TZ".into(), "UTC".into())],
            account: self.folder.account().cloned(),
            working_directory: path.to_owned(),
        }
    }

    /// [`Launch::command`] of [`Self::launch`].
    #[must_use]
    pub fn command(&self) -> Command {
        self.launch().command()
    }

    /// File to which `start` sends the server's output and error streams. Apache writes its own log to `error.log`
    /// beside it.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts the server, behind the command `wrap` if given, and waits until it answers a request.
    ///
    /// # Errors
    /// [`ServerError::EndedAtStart`] or [`ServerError::StartTimeout`], both with the end of the log.
    pub fn start(self, wrap: Option<&[OsString]>) -> Result<RunningApache, ServerError> {
        let (identity, launch, port) = (self.identity(), self.launch(), self.port);
        let running = Running::start(identity, self.folder, launch, wrap, &|| {
            get(port, "/").is_ok()
        })?;
        Ok(RunningApache { running, port })
    }

    /// Takes charge of this server when the caller starts (or has started) its [`Self::launch`] by itself: waits
    /// until it answers a request.
    ///
    /// # Errors
    /// [`ServerError::StartTimeout`].
    pub fn adopt(self) -> Result<RunningApache, ServerError> {
        let (identity, port) = (self.identity(), self.port);
        let running = Running::adopt(identity, self.folder, &|| get(port, "/").is_ok())?;
        Ok(RunningApache { running, port })
    }

    fn identity(&self) -> Identity {
        Identity {
            name: NAME,
            pid_file: self.folder.path().join("pid"),
            log: self.log_path(),
            stop_signal: Signal::TERM,
            limits: self.limits,
        }
    }
}

/// The configuration file. `loaded` is what `apache2 -l` says: modules that are built in cannot be loaded again.
fn configuration(folder: &Path, port: u16, loaded: &str, directives: &[String]) -> String {
    let folder = folder.display();
    let mut text = format!(
        "ServerRoot \"{folder}\"\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile \"{folder}/pid\"\n\
         ErrorLog \"{folder}/error.log\"\nDefaultRuntimeDir \"{folder}\"\nMutex \"file:{folder}\"\n"
    );
    let modules = MODULE_FOLDERS
        .iter()
        .find(|modules| Path::new(modules).is_dir());
    for (name, file) in MODULES {
        let built_in = loaded.contains(&file.replace(".so", ".c"));
        if let (false, Some(modules)) = (built_in, modules) {
            text += &format!("LoadModule {name} \"{modules}/{file}\"\n");
        }
    }
    text += &format!(
        "TypesConfig \"{folder}/mime.types\"\nDocumentRoot \"{folder}/documents\"\nDirectoryIndex index.html\n\
         <Directory \"{folder}/documents\">\n  Require all granted\n</Directory>\n"
    );
    for directive in directives {
        text += directive;
        text.push('\n');
    }
    text
}

/// So many bytes of readable text.
fn text(bytes: usize) -> String {
    "The quick brown fox jumps over the lazy dog.\n"
        .chars()
        .cycle()
        .take(bytes)
        .collect()
}

/// An Apache that answers requests. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct RunningApache {
    running: Running,
    port: u16,
}

impl RunningApache {
    /// Process id of the parent process, `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Folder of the server; the document root is `documents`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.running.folder().path()
    }

    /// TCP port of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The body that answers `GET path`.
    ///
    /// # Errors
    /// [`ServerError::Io`] if there is no answer, [`ServerError::Unreadable`] if it is not `200 OK`.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, ServerError> {
        get(self.port, path)
    }

    /// What the server (and a command it was started behind) wrote to its streams so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Stops the server and waits for it and for a command it was started behind.
    ///
    /// # Errors
    /// [`ServerError::StopTimeout`] if it had to be killed.
    pub fn stop(self) -> Result<Stopped, ServerError> {
        self.running.stop()
    }
}

/// One request on one connection. HTTP/1.0 keeps the body free of chunks and ends it with the connection.
fn get(port: u16, path: &str) -> Result<Vec<u8>, ServerError> {
    let answer = exchange(port, path).during(|| format!("GET http://127.0.0.1:{port}{path}"))?;
    let unreadable = |what| ServerError::Unreadable {
        program: "apache2",
        what,
        output: String::from_utf8_lossy(&answer).into_owned(),
    };
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .ok_or_else(|| unreadable("header"))?;
    let status = answer.split(|&byte| byte == b' ').nth(1);
    if status != Some(b"200") {
        return Err(unreadable("status 200"));
    }
    Ok(answer[end + 4..].to_vec())
}

fn exchange(port: u16, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_modules_are_not_loaded_again() {
        let text = configuration(
            Path::new("/f"),
            8080,
            "Compiled in modules:\n  mod_unixd.c\n",
            &["Timeout 5".into()],
        );
        assert!(!text.contains("LoadModule unixd_module"));
        assert!(text.contains("Listen 127.0.0.1:8080\n") && text.ends_with("Timeout 5\n"));
    }

    #[test]
    fn documents_have_the_size_their_name_says() {
        assert_eq!(text(1 << 10).len(), 1 << 10);
    }
}
