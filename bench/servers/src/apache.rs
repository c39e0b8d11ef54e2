//! A private Apache, serving a few static files and CGI scripts on a port of 127.0.0.1.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::documents;
use crate::error::{During, ServerError};
use crate::folder::Folder;
use crate::launch::run;
use crate::loopback::{LoopbackServer, Software};
use crate::options::Limits;
use crate::requests::http_get;
use crate::server::ServerSpec;

const APACHE: Software = Software {
    kind: ServerSpec {
        name: "Apache",
        install: "scripts/install.sh apache (or: apt-get install apache2 apache2-utils)",
        accounts: &["www-data", "nobody"],
        pid_file: "pid",
        stop_signal: Signal::TERM,
    },
    programs: &["apache2", "httpd"],
    answers: |port| http_get(port, "/").is_ok(),
};
/// Where distributions keep Apache's modules: Debian, Fedora (64 bit), Arch.
const MODULE_FOLDERS: [&str; 3] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
];
/// Modules to load where they are not built in, beside that of the [`Mpm`]: name in the configuration, file.
const MODULES: [(&str, &str); 4] = [
    ("authz_core_module", "mod_authz_core.so"),
    ("dir_module", "mod_dir.so"),
    ("mime_module", "mod_mime.so"),
    ("unixd_module", "mod_unixd.so"),
];
/// And those that scripts need.
const SCRIPT_MODULES: [(&str, &str); 2] = [
    ("alias_module", "mod_alias.so"),
    ("cgid_module", "mod_cgid.so"),
];

/// Apache's multi-processing module, which serves connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mpm {
    /// Processes with threads; a listener keeps idle connections.
    #[default]
    Event,
    /// Processes with threads, each with one connection from its beginning to its end.
    Worker,
}

/// A private Apache.
#[derive(Debug, Clone, Default)]
pub struct Apache {
    /// The module that serves connections.
    pub mpm: Mpm,
    /// CGI scripts, served as `/cgi-bin/<name>`: name and text, whose first line names the interpreter.
    pub scripts: Vec<(String, String)>,
    /// Lines added to the end of the configuration, e.g. `ThreadsPerChild 8`.
    pub directives: Vec<String>,
    /// Folder to make the private folder in; the system's temporary folder if `None`.
    pub parent: Option<PathBuf>,
    /// Time limits of starting and stopping.
    pub limits: Limits,
}

impl Apache {
    /// An Apache that serves all requests in one process, by this many threads.
    pub fn in_one_process(threads: usize) -> Apache {
        let directives = [
            ("StartServers", 1),
            ("ServerLimit", 1),
            ("ThreadsPerChild", threads),
            ("ThreadLimit", threads),
            ("MaxRequestWorkers", threads),
        ];
        let line = |(name, number): (&str, usize)| format!("{name} {number}");
        Apache {
            directives: directives.map(line).to_vec(),
            ..Apache::default()
        }
    }

    /// Writes a configuration and documents (`/index.html`, `/1k.txt`, `/64k.txt`, `/1m.txt`) into a fresh folder
    /// and has Apache check it. Its own log will be `error.log` there.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], [`ServerError::NoAccount`], [`ServerError::Unreachable`], or Apache's own
    /// error about a directive.
    pub fn prepare(&self) -> Result<LoopbackServer, ServerError> {
        let server = LoopbackServer::create(APACHE, self.parent.as_deref(), self.limits)?;
        let folder = server.folder();
        documents::write(folder)?;
        self.write_scripts(folder)?;
        folder.write("mime.types", "text/html html\ntext/plain txt\n")?;
        let built_in = run(Command::new(server.launch().program)
            .arg("-l")
            .current_dir(folder.path()))?;
        let configuration = self.configuration(folder.path(), server.port(), &built_in);
        let file = folder.write("httpd.conf", configuration)?;
        let root = folder.path().to_owned();
        let server = server.with_args(["-D", "FOREGROUND"]);
        let server = server.with_args(["-d".into(), root, "-f".into(), file]);
        run(server.command().arg("-t"))?;
        Ok(server)
    }

    fn write_scripts(&self, folder: &Folder) -> Result<(), ServerError> {
        folder.make("cgi-bin")?;
        for (name, script) in &self.scripts {
            let file = folder.write(&format!("cgi-bin/{name}"), script)?;
            set_permissions(&file, Permissions::from_mode(0o755))
                .during(|| format!("set the mode of {}", file.display()))?;
        }
        Ok(())
    }

    /// The configuration file. `built_in` is what `apache2 -l` says: such modules cannot be loaded again.
    fn configuration(&self, folder: &Path, port: u16, built_in: &str) -> String {
        let folder = folder.display();
        let mut text = format!(
            "ServerRoot \"{folder}\"\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile \"{folder}/pid\"\n\
             ErrorLog \"{folder}/error.log\"\nDefaultRuntimeDir \"{folder}\"\nMutex \"file:{folder}\"\n"
        );
        let module_folder = MODULE_FOLDERS
            .iter()
            .find(|folder| Path::new(folder).is_dir());
        for (name, file) in self.modules() {
            let is_built_in = built_in.contains(&file.replace(".so", ".c"));
            if let (false, Some(module_folder)) = (is_built_in, module_folder) {
                text += &format!("LoadModule {name} \"{module_folder}/{file}\"\n");
            }
        }
        text += &format!(
            "TypesConfig \"{folder}/mime.types\"\nDocumentRoot \"{folder}/documents\"\nDirectoryIndex index.html\n\
             <Directory \"{folder}\">\n  Require all granted\n</Directory>\n"
        );
        if !self.scripts.is_empty() {
            text += &format!(
                "ScriptSock \"{folder}/cgid\"\nScriptAlias \"/cgi-bin/\" \"{folder}/cgi-bin/\"\n"
            );
        }
        for directive in &self.directives {
            text += directive;
            text.push('\n');
        }
        text
    }

    fn modules(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let mpm = match self.mpm {
            Mpm::Event => ("mpm_event_module", "mod_mpm_event.so"),
            Mpm::Worker => ("mpm_worker_module", "mod_mpm_worker.so"),
        };
        let for_scripts = SCRIPT_MODULES
            .into_iter()
            .filter(|_| !self.scripts.is_empty());
        [mpm].into_iter().chain(MODULES).chain(for_scripts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_modules_are_not_loaded_again() {
        let apache = Apache {
            mpm: Mpm::Worker,
            directives: vec!["Timeout 5".into()],
            ..Apache::default()
        };
        let built_in = "Compiled in modules:\n  mod_unixd.c\n";
        let text = apache.configuration(Path::new("/f"), 8080, built_in);
        assert!(!text.contains("LoadModule unixd_module"));
        assert!(text.contains("LoadModule mpm_worker_module") && !text.contains("mpm_event"));
        assert!(text.contains("Listen 127.0.0.1:8080\n") && text.ends_with("Timeout 5\n"));
    }
}
