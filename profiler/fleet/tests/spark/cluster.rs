//! A standalone cluster of Spark on loopback: a master and two workers, each a separate process group, on free ports.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
/// Java starts slowly on a machine that does other things.
const START_PATIENCE: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Runs a program until standard input ends, which it does when the test does, however that ends.
const UNTIL_THE_TEST_ENDS: &str =
    r#""$@" </dev/null & cat >/dev/null; kill $! 2>/dev/null; wait $!"#;

/// Ends with the value.
pub struct Cluster {
    /// Workers first: they say goodbye to the master.
    processes: Vec<Process>,
    /// Where the master listens.
    pub address: String,
    log: PathBuf,
}

impl Cluster {
    /// Starts a cluster of the Spark that belongs to a Python; all it writes is below `directory`.
    pub fn start(python: &Path, directory: &Path) -> Cluster {
        let home = home(python);
        let log = directory.join("master.log");
        let master = Process::start(
            &home,
            "org.apache.spark.deploy.master.Master",
            &[],
            directory,
            &log,
        );
        let line = master.said(&log, "Starting Spark master at spark://", 1);
        let (_, address) = line.split_once(" at ").unwrap();
        let mut cluster = Cluster {
            processes: Vec::new(),
            address: address.trim().to_owned(),
            log: log.clone(),
        };
        for number in 0..WORKERS {
            let name = format!("worker-{number}");
            let work = directory.join(&name);
            let words = [
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                work.to_str().unwrap(),
            ];
            let words = [&words[..], &[cluster.address.as_str()]].concat();
            let worker = Process::start(
                &home,
                "org.apache.spark.deploy.worker.Worker",
                &words,
                directory,
                &directory.join(format!("{name}.log")),
            );
            cluster.processes.push(worker);
        }
        master.said(&log, "Registering worker", WORKERS);
        cluster.processes.push(master);
        cluster
    }

    /// On how many workers executors of applications were started.
    pub fn workers_used(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap();
        let launched = log
            .lines()
            .filter(|line| line.contains("Launching executor"));
        let mut workers: Vec<&str> = launched
            .filter_map(|line| Some(line.split_once(" on worker ")?.1))
            .collect();
        workers.sort_unstable();
        workers.dedup();
        workers.len()
    }
}

/// Where a Python's package has Spark.
fn home(python: &Path) -> PathBuf {
    let code = "import os, pyspark; print(os.path.dirname(pyspark.__file__))";
    let output = Command::new(python).args(["-c", code]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

struct Process {
    child: Child,
}

impl Process {
    fn start(home: &Path, class: &str, words: &[&str], directory: &Path, log: &Path) -> Process {
        let log = File::create(log).unwrap();
        let child = Command::new("sh")
            .args(["-c", UNTIL_THE_TEST_ENDS, "sh"])
            .arg(home.join("bin/spark-class"))
            .arg(class)
            .args(["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"])
            .args(words)
            .env("SPARK_HOME", home)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("SPARK_LOCAL_DIRS", directory)
            .env("SPARK_DAEMON_MEMORY", "256m")
            .env(
                "SPARK_DAEMON_JAVA_OPTS",
                format!("-Djava.io.tmpdir={}", directory.display()),
            )
            // The root logger's level of Spark's default configuration hides what the test waits for.
            .env("SPARK_CONF_DIR", configuration(directory))
            .current_dir(directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Process { child }
    }

    /// Waits until this many lines of the log have these words; returns the last of them.
    fn said(&self, log: &Path, words: &str, count: usize) -> String {
        let until = Instant::now() + START_PATIENCE;
        loop {
            let text = fs::read_to_string(log).unwrap();
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(words)).collect();
            if lines.len() >= count {
                return lines[count - 1].to_owned();
            }
            assert!(Instant::now() < until, "no {words:?} in\n{text}");
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// A directory of settings: what is informative is logged.
fn configuration(directory: &Path) -> PathBuf {
    let configuration = directory.join("conf");
    fs::create_dir_all(&configuration).unwrap();
    let log4j = "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = stderr\n\
                 appender.stderr.type = Console\nappender.stderr.name = stderr\nappender.stderr.target = SYSTEM_ERR\n\
                 appender.stderr.layout.type = PatternLayout\nappender.stderr.layout.pattern = %m%n\n";
    fs::write(configuration.join("log4j2.properties"), log4j).unwrap();
    configuration
}

impl Drop for Process {
    fn drop(&mut self) {
        // The shell ends the program, which ends its executors.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let group = format!("-{}", self.child.id());
        let left = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stderr(Stdio::null())
            .status();
        drop(left);
    }
}
