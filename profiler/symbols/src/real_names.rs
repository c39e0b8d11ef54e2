//! Where to get the names that a stripped file lacks: its distribution's package of debug files, and debuginfod's
//! address.
//!
//! Names of packages follow the distributions: Debian and Ubuntu build `PACKAGE-dbgsym` (deb-build-id(7), DebugPackage in Debian's wiki), RPM
//! ones `PACKAGE-debuginfo`. Addresses of servers are those that elfutils lists for each distribution.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::debuginfod::hex;
use crate::module::Module;

/// A file with fewer nameless functions than one in this number gets no remark: compilers leave a few in every file.
const NAMELESS_PART: usize = 20;

impl Module {
    /// The package to install, or the server to ask, for the names of this build. `None` where few functions lack
    /// one. Asks the system's package manager, which takes up to a second.
    pub fn names_elsewhere(&self) -> Option<String> {
        let functions = self.functions();
        let nameless = functions
            .iter()
            .filter(|function| self.symbol(function.entry).is_none())
            .count();
        if self.debug_file().is_some() || NAMELESS_PART * nameless < functions.len() {
            return None;
        }
        let file = self.path().file_name().unwrap_or_default();
        let of_them = format!(
            "{}: {nameless} of {} functions have no symbol",
            file.display(),
            functions.len()
        );
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let package =
            package_of(self.path()).map(|(manager, package)| manager.debug_package(&package));
        let server = debuginfod_of(&release);
        let build = hex(self.build_id());
        let known = match (package, build.is_empty()) {
            (Some(package), true) => format!("install {package}"),
            (None, true) => "it has no build id and is of no package: build it with its symbols, or do not strip it".to_owned(),
            (package, false) => {
                // No word is longer than a narrow terminal: whoever copies one has all of it.
                let package = package.map(|package| format!("are in {package}, or "));
                format!(
                    "those of build {build} {}come from debuginfod: DEBUGINFOD_URLS={server} with debuginfod-find",
                    package.unwrap_or_default()
                )
            }
        };
        Some(format!("{of_them}; {known}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Dpkg,
    Rpm,
}

impl Manager {
    fn debug_package(self, package: &str) -> String {
        match self {
            Manager::Dpkg => {
                format!("package {package}-dbgsym (in the distribution's debug archive)")
            }
            Manager::Rpm => {
                format!("package {package}-debuginfo (dnf debuginfo-install {package})")
            }
        }
    }
}

/// The package that installed a file.
fn package_of(path: &Path) -> Option<(Manager, String)> {
    let path = std::fs::canonicalize(path).ok()?;
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .arg(&path)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then_some(text)
    };
    if let Some(text) = said("dpkg-query", &["-S"]) {
        return owner(&text).map(|package| (Manager::Dpkg, package));
    }
    let text = said("rpm", &["-qf", "--qf", "%{NAME}\n"])?;
    let name = text.lines().next()?.trim();
    (!name.is_empty()).then(|| (Manager::Rpm, name.to_owned()))
}

/// The package in `dpkg-query`'s `postgresql-15: /usr/lib/..` or `libc6:amd64: /lib/..`.
fn owner(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.starts_with("diversion"))?;
    let package = line.split([':', ',']).next()?.trim();
    (!package.is_empty()).then(|| package.to_owned())
}

/// The server of the distribution that `os-release` names, or the one that asks all others.
fn debuginfod_of(release: &str) -> &'static str {
    let id = release.lines().find_map(|line| line.strip_prefix("ID="));
    match id.unwrap_or_default().trim_matches('"') {
        "debian" => "https://debuginfod.debian.net",
        "ubuntu" => "https://debuginfod.ubuntu.com",
        "fedora" => "https://debuginfod.fedoraproject.org",
        "centos" => "https://debuginfod.centos.org",
        "arch" => "https://debuginfod.archlinux.org",
        _ => "https://debuginfod.elfutils.org",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_and_packages() {
        let release =
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(debuginfod_of(release), "https://debuginfod.debian.net");
        assert_eq!(
            debuginfod_of("ID=\"ubuntu\"\n"),
            "https://debuginfod.ubuntu.com"
        );
        assert_eq!(debuginfod_of(""), "https://debuginfod.elfutils.org");
        assert_eq!(
            owner("postgresql-15: /usr/lib/postgresql/15/bin/postgres\n").as_deref(),
            Some("postgresql-15")
        );
        assert_eq!(
            owner("libc6:amd64: /usr/lib/libc.so.6\n").as_deref(),
            Some("libc6")
        );
        assert_eq!(owner(""), None);
        assert_eq!(
            Manager::Dpkg.debug_package("postgresql-15"),
            "package postgresql-15-dbgsym (in the distribution's debug archive)"
        );
    }
}
