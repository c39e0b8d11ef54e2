//! A private nginx, serving a few static files on a port of 127.0.0.1.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::documents;
use crate::error::ServerError;
use crate::launch::run;
use crate::loopback::{LoopbackServer, Software};
use crate::options::Limits;
use crate::requests::http_get;
use crate::server::ServerSpec;

const NGINX: Software = Software {
    kind: ServerSpec {
        name: "nginx",
        install: "scripts/install.sh nginx (or: apt-get install nginx-light wrk)",
        accounts: &["www-data", "nginx", "nobody"],
        pid_file: "pid",
        stop_signal: Signal::TERM,
    },
    programs: &["nginx"],
    answers: |port| http_get(port, "/").is_ok(),
};
/// Folders that nginx makes at its start, by default where only its package may write.
const TEMPORARY_FOLDERS: [&str; 5] = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/// A private nginx.
#[derive(Debug, Clone)]
pub struct Nginx {
    /// Worker processes, each with an event loop.
    pub workers: u32,
    /// Lines added to the `server` block, e.g. `location /slow { limit_rate 1k; }`.
    pub directives: Vec<String>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// Time limits of starting and stopping.
    pub limits: Limits,
}

impl Default for Nginx {
    /// Has one worker.
    fn default() -> Self {
        Self {
            workers: 1,
            directives: Vec::new(),
            parent: None,
            limits: Limits::default(),
        }
    }
}

impl Nginx {
    /// Writes a configuration and documents (`/index.html`, `/1k.txt`, `/64k.txt`, `/1m.txt`) into a fresh folder
    /// and has nginx check it.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`], or nginx's own
    /// error about a directive.
    pub fn prepare(&self) -> Result<LoopbackServer, ServerError> {
        let server = LoopbackServer::create(NGINX, self.parent.as_deref(), self.limits)?;
        let folder = server.folder();
        documents::write(folder)?;
        let configuration = self.configuration(folder.path(), server.port());
        let file = folder.write("nginx.conf", configuration)?;
        let prefix = folder.path().to_owned();
        let server = server.with_args(["-p".into(), prefix, "-e".into(), "stderr".into()]);
        let server = server.with_args(["-c".into(), file]);
        run(server.command().arg("-t"))?;
        Ok(server)
    }

    fn configuration(&self, folder: &Path, port: u16) -> String {
        let folder = folder.display();
        let mut text = format!(
            "daemon off;\npid {folder}/pid;\nworker_processes {};\nevents {{ worker_connections 1024; }}\nhttp {{\n\
             access_log off;\ntypes {{ text/html html; text/plain txt; }}\n",
            self.workers
        );
        for name in TEMPORARY_FOLDERS {
            let _ = writeln!(text, "{name}_temp_path {folder}/{name};");
        }
        let _ = writeln!(
            text,
            "server {{\nlisten 127.0.0.1:{port};\nroot {folder}/documents;"
        );
        for directive in &self.directives {
            text += directive;
            text.push('\n');
        }
        text + "}\n}\n"
    }
}
