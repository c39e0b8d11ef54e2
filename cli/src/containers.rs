//! Containers of this machine: their main processes, and in which one a process is.
//!
//! Engines are asked by their own commands. Other containers are found by the cgroups of processes, whose paths hold
//! the container's id: podman's under another root directory, or those of an engine without a command.

use std::collections::BTreeMap;
use std::process::Command;

use evenkeel_attach::process;

use crate::output::Failure;

/// Characters of an id that engines show.
const SHORT_ID: usize = 12;

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The engine, from the cgroup or from the command that listed it.
    pub engine: String,
    /// The full id.
    pub id: String,
}

impl Container {
    /// The container that a process is in.
    pub fn of(pid: i32) -> Option<Container> {
        let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        cgroups.lines().find_map(|line| {
            let (_, path) = line.split_once(":/")?;
            Container::in_path(path)
        })
    }

    /// Finds the container in a cgroup's path; the innermost one counts.
    fn in_path(path: &str) -> Option<Container> {
        let parts: Vec<&str> = path.split('/').collect();
        parts.iter().enumerate().rev().find_map(|(at, part)| {
            let name = part.strip_suffix(".scope").unwrap_or(part);
            // conmon watches the container from outside of it.
            let (engine, id) = name.rsplit_once('-').unwrap_or(("", name));
            if !is_id(id) || engine.ends_with("conmon") {
                return None;
            }
            let above = at.checked_sub(1).map_or("", |above| parts[above]);
            let engine = match (engine, above) {
                ("libpod", _) => "podman",
                ("cri-containerd", _) => "containerd",
                ("crio", _) => "CRI-O",
                ("", "docker") => "docker",
                ("", _) if path.contains("kubepods") => "kubernetes",
                ("", _) => "a container engine",
                (engine, _) => engine,
            };
            Some(Container {
                engine: engine.to_owned(),
                id: id.to_owned(),
            })
        })
    }
}

impl std::fmt::Display for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "container {} of {}", &self.id[..SHORT_ID], self.engine)
    }
}

/// 64 hexadecimal digits, as all engines have them.
fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The container that the user named, and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    container: Container,
    name: String,
    /// Its main process; 0 if the container does not run.
    pid: i32,
}

/// The main process of the container with this name or id prefix.
pub fn main_process(wanted: &str) -> Result<i32, Failure> {
    let mut asked = Vec::new();
    let mut found: Vec<Candidate> = Vec::new();
    for engine in ["podman", "docker", "nerdctl"] {
        if let Some(answer) = inspect(engine, wanted) {
            asked.push(engine);
            found.extend(answer);
        }
    }
    if let Some(answer) = ask_kubernetes(wanted) {
        asked.push("crictl");
        found.extend(answer);
    }
    found.extend(by_cgroup(wanted));
    // podman's `docker` command says what podman says, and cgroups say all of it once more.
    let mut by_id = BTreeMap::new();
    for candidate in found {
        by_id
            .entry(candidate.container.id.clone())
            .or_insert(candidate);
    }
    chosen(wanted, &by_id.into_values().collect::<Vec<_>>(), &asked)
}

fn chosen(wanted: &str, found: &[Candidate], asked: &[&str]) -> Result<i32, Failure> {
    let running: Vec<&Candidate> = found.iter().filter(|found| found.pid > 0).collect();
    match (&running[..], found) {
        ([one], _) => Ok(one.pid),
        ([], [ended, ..]) => Err(Failure::Usage(format!(
            "the container {wanted} ({}) does not run; start it, and attach then",
            ended.container
        ))),
        ([], []) => {
            let asked = match asked {
                [] => "no podman, docker, nerdctl or crictl is on the path".to_owned(),
                asked => format!("asked: {}", asked.join(", ")),
            };
            Err(Failure::Usage(format!(
                "no container is named {wanted}, and no process is in one whose id begins so ({asked}); see `podman ps`, `docker ps` or `crictl ps`, or give the number of its process"
            )))
        }
        (several, _) => {
            let lines: Vec<String> = several
                .iter()
                .map(|one| {
                    let command = process::command_line(one.pid);
                    format!(
                        "  {}  {} {}  {command}",
                        one.container.id, one.name, one.pid
                    )
                })
                .collect();
            Err(Failure::Usage(format!(
                "several containers are meant by {wanted}; give the id of one:\n{}",
                lines.join("\n")
            )))
        }
    }
}

/// The processes that have this number in their own namespace, and another one here.
pub fn numbered_inside(number: i32) -> Vec<i32> {
    let mut found = process::all();
    found.retain(|&pid| {
        let numbers = numbers(pid);
        numbers.len() > 1 && numbers.last() == Some(&number)
    });
    found
}

/// The answer of an engine's command; `None` where the command does not exist.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let answer = Command::new(program).args(arguments).output().ok()?;
    Some(match answer.status.success() {
        true => String::from_utf8_lossy(&answer.stdout).into_owned(),
        false => String::new(),
    })
}

fn inspect(engine: &str, wanted: &str) -> Option<Vec<Candidate>> {
    let format = "{{.State.Pid}} {{.Id}} {{.Name}}";
    let answer = ask(
        engine,
        &["container", "inspect", "--format", format, "--", wanted],
    )?;
    Some(
        answer
            .lines()
            .filter_map(|line| candidate(engine, line))
            .collect(),
    )
}

/// A number, an id and a name.
fn candidate(engine: &str, line: &str) -> Option<Candidate> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let id = words.next().filter(|id| is_id(id))?;
    Some(Candidate {
        container: Container {
            engine: engine.to_owned(),
            id: id.to_owned(),
        },
        name: words
            .next()
            .unwrap_or_default()
            .trim_start_matches('/')
            .to_owned(),
        pid,
    })
}

/// Containers of Kubernetes: several pods may each have one of this name.
fn ask_kubernetes(wanted: &str) -> Option<Vec<Candidate>> {
    let exactly = format!("^{wanted}$");
    let mut ids = ask("crictl", &["ps", "--quiet", "--name", &exactly])?;
    ids += &ask("crictl", &["ps", "--quiet", "--id", wanted])?;
    let template = "{{.info.pid}} {{.status.id}} {{.status.metadata.name}}";
    let of = |id: &str| {
        let how = [
            "inspect",
            "--output",
            "go-template",
            "--template",
            template,
            id,
        ];
        candidate("containerd", ask("crictl", &how)?.trim())
    };
    Some(ids.split_whitespace().filter_map(of).collect())
}

/// Containers whose ids begin with this text, by the cgroups of their processes.
fn by_cgroup(wanted: &str) -> Vec<Candidate> {
    if wanted.len() < SHORT_ID || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Vec::new();
    }
    let mut found: BTreeMap<String, Candidate> = BTreeMap::new();
    for pid in process::all() {
        let Some(container) = Container::of(pid).filter(|of| of.id.starts_with(wanted)) else {
            continue;
        };
        // The first of its numbers, where it has its own; otherwise the oldest, which has the lowest.
        let is_first = numbers(pid).last() == Some(&1);
        let entry = found.entry(container.id.clone());
        let candidate = entry.or_insert_with(|| Candidate {
            container,
            name: String::new(),
            pid,
        });
        if is_first && numbers(candidate.pid).last() != Some(&1) {
            candidate.pid = pid;
        }
    }
    found.into_values().collect()
}

fn numbers(pid: i32) -> Vec<i32> {
    let numbers = process::status(pid, "NSpid").unwrap_or_default();
    let numbers = numbers.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4d8d10dd86117d8d620c99a3bd0046fde059efa41a2251ecd01ad9ad053619b4";

    #[test]
    fn the_container_of_a_cgroup() {
        for (path, engine) in [
            ("libpod_parent/libpod-ID", "podman"),
            ("machine.slice/libpod-ID.scope/container", "podman"),
            ("docker/ID", "docker"),
            ("system.slice/docker-ID.scope", "docker"),
            (
                "kubepods.slice/kubepods-pod1.slice/cri-containerd-ID.scope",
                "containerd",
            ),
            ("kubepods/besteffort/pod1/ID", "kubernetes"),
            ("kubepods.slice/crio-ID.scope", "CRI-O"),
        ] {
            let found = Container::in_path(&path.replace("ID", ID)).expect(path);
            assert_eq!((found.engine.as_str(), found.id.as_str()), (engine, ID));
        }
        for path in [
            "system.slice/redis-server.service",
            "machine.slice/libpod-conmon-ID.scope",
            "",
        ] {
            assert_eq!(Container::in_path(&path.replace("ID", ID)), None, "{path}");
        }
    }

    #[test]
    fn one_container_is_chosen_and_others_are_named() {
        let one = |pid, id: &str| candidate("podman", &format!("{pid} {id} /cache")).expect("one");
        let other = ID.replace('4', "5");
        let says = |found: &[Candidate], asked: &[&str]| match chosen("cache", found, asked) {
            Ok(pid) => pid.to_string(),
            Err(Failure::Usage(text)) => text,
            Err(_) => panic!("another failure"),
        };
        assert_eq!(says(&[one(7, ID), one(0, &other)], &["podman"]), "7");
        assert!(says(&[one(0, ID)], &["podman"]).contains("does not run; start it"));
        assert!(says(&[], &["podman"]).contains("(asked: podman)"));
        assert!(says(&[], &[]).contains("no podman, docker, nerdctl or crictl"));
        let several = says(&[one(7, ID), one(8, &other)], &["podman"]);
        assert!(
            several.contains(ID) && several.contains(&other),
            "{several}"
        );
    }
}
