//! Classes of the servers that get no SQL: Redis and memcached by command, nginx and Apache by method, path and status, PHP by script.
//! Each server is the distribution's, which has no symbols.
//!
//! Each gets cheap and costly requests. Asserts which classes there are, and that the costly one has the longer mean latency: its
//! requests wait, or do hundreds of times the work.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use evenkeel_servers::{
    Apache, Launch, LoopbackServer, Memcached, Mpm, Nginx, Redis, RunningLoopbackServer,
    ServerError,
};
use serde_json::Value;
use support::run::eventually;
use support::servers::{ProfiledServer, Profiler, installed, skip};

/// Text that requests have where users have their secrets.
const SECRET: &str = "s3cr3t-t0ken";
/// Costly requests, and cheap ones for each.
const COSTLY: usize = 40;
const CHEAP_EACH: usize = 10;

/// Mean latencies by class.
struct Classes(Vec<(String, f64)>);

impl Classes {
    fn of(profile: &Value) -> Classes {
        let warnings = profile["warnings"].to_string();
        assert!(!warnings.contains("could not be read"), "{warnings}");
        let classes = profile["classes"]["classes"].as_array().unwrap();
        let class = |class: &Value| {
            let name = class["name"].as_str().unwrap().to_owned();
            (name, class["mean_ns"].as_f64().unwrap())
        };
        Classes(classes.iter().map(class).collect())
    }

    #[track_caller]
    fn mean_ns(&self, name: &str) -> f64 {
        let found = self.0.iter().find(|(class, _)| class == name);
        found
            .unwrap_or_else(|| panic!("no {name}: {:#?}", self.0))
            .1
    }

    #[track_caller]
    fn assert_costlier(&self, costly: &str, cheap: &str) {
        let (long, short) = (self.mean_ns(costly), self.mean_ns(cheap));
        assert!(long > 2.0 * short, "{:#?}", self.0);
    }
}

/// Profiles what is prepared while `load` runs; `None`, said on standard error, where the server is not installed.
#[track_caller]
fn classes(
    preset: &str,
    prepared: Result<LoopbackServer, ServerError>,
    load: impl Fn(&RunningLoopbackServer),
) -> Option<Classes> {
    let prepared = installed(prepared)?;
    let profiled = ProfiledServer::of(prepared, &options(preset));
    load(&profiled.server);
    let profiled = profiled.finish();
    let profile = profiled.profile();
    assert!(!profile.to_string().contains(SECRET), "{profile:#}");
    Some(Classes::of(profile))
}

/// With one plan and every interval: each is in its class.
fn options(preset: &str) -> [&str; 7] {
    [
        "--preset",
        preset,
        "--waits",
        "--plant",
        "40",
        "--max-overhead",
        "100%",
    ]
}

/// A line is sent, and everything up to the line that ends the answer is read.
fn ask(connection: &mut TcpStream, line: &str, end: &str) {
    connection.write_all(line.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 1 << 16]);
    while !answer.ends_with(end.as_bytes()) {
        let length = connection.read(&mut buffer).unwrap();
        assert!(length > 0, "{line}: {}", String::from_utf8_lossy(&answer));
        answer.extend(&buffer[..length]);
    }
}

#[track_caller]
fn connect(server: &RunningLoopbackServer) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port())).unwrap()
}

/// The status of a request without a body, on a connection of its own.
#[track_caller]
fn request(port: u16, method: &str, target: &str) -> u16 {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!("{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("{answer}"))
}

/// Cheap requests are for things with other numbers, and a secret in their query string.
#[track_caller]
fn request_cheap(port: u16, round: usize) {
    for number in 0..CHEAP_EACH {
        let target = format!("/missing/{round}/{number:08x}0?token={SECRET}");
        assert_eq!(request(port, "GET", &target), 404);
    }
}

#[test]
fn redis_by_command() {
    let classes = classes("redis", Redis::default().prepare(), |server| {
        let connection = &mut connect(server);
        let fill = format!(
            "EVAL \"for i = 1, 20000 do redis.call('set', 'key' .. i, '{SECRET}') end\" 0\r\n"
        );
        ask(connection, &fill, "$-1\r\n");
        for round in 0..COSTLY {
            ask(connection, "Keys nothing*\r\n", "*0\r\n");
            for number in 0..CHEAP_EACH {
                let name = ["GET", "get"][number % 2];
                ask(
                    connection,
                    &format!("{name} key{}\r\n", round + 1),
                    &format!("{SECRET}\r\n"),
                );
            }
        }
    });
    if let Some(classes) = classes {
        classes.assert_costlier("keys", "get");
    }
}

#[test]
fn memcached_by_command() {
    let classes = classes("memcached", Memcached::default().prepare(), |server| {
        let connection = &mut connect(server);
        let value = SECRET.repeat(80);
        ask(
            connection,
            &format!("set a 0 0 {}\r\n{value}\r\n", value.len()),
            "STORED\r\n",
        );
        let many = format!("gets{}\r\n", " a".repeat(900));
        for _ in 0..COSTLY {
            ask(connection, &many, "END\r\n");
            for number in 0..CHEAP_EACH {
                ask(connection, &format!("get missing{number}\r\n"), "END\r\n");
            }
        }
    });
    if let Some(classes) = classes {
        classes.assert_costlier("gets", "get");
    }
}

#[test]
fn nginx_by_method_path_and_status() {
    let nginx = Nginx {
        directives: vec!["location = /1m.txt { limit_rate_after 64k; limit_rate 20m; }".to_owned()],
        ..Nginx::default()
    };
    let classes = classes("nginx", nginx.prepare(), |server| {
        for round in 0..COSTLY {
            assert_eq!(request(server.port(), "GET", "/1m.txt"), 200);
            assert_eq!(request(server.port(), "POST", "/1m.txt"), 405);
            request_cheap(server.port(), round);
        }
        // Large headers are moved to another buffer, and bad ones are no request.
        let long = format!("/missing/1?token={}", SECRET.repeat(200));
        assert_eq!(request(server.port(), "GET", &long), 404);
        assert_eq!(request(server.port(), "?", "/"), 400);
    });
    if let Some(classes) = classes {
        classes.assert_costlier("GET /?m.txt 200", "GET /missing/?/? 404");
        classes.mean_ns("POST /?m.txt 405");
    }
}

#[test]
fn apache_by_method_path_and_status() {
    let script = "#!/bin/sh\nsleep 0.02\nprintf 'Content-Type: text/plain\\n\\n'\necho slow\n";
    let apache = Apache {
        mpm: Mpm::Event,
        scripts: vec![("slow".into(), script.into())],
        ..Apache::in_one_process(8)
    };
    let classes = classes("apache", apache.prepare(), |server| {
        for round in 0..COSTLY {
            assert_eq!(
                request(server.port(), "GET", &format!("/cgi-bin/slow?{SECRET}")),
                200
            );
            request_cheap(server.port(), round);
        }
    });
    if let Some(classes) = classes {
        classes.assert_costlier("GET /cgi-bin/slow 200", "GET /missing/?/? 404");
    }
}

/// The program behind the distribution's links.
fn php() -> Option<PathBuf> {
    let found = std::fs::canonicalize("/usr/bin/php").ok();
    if found.is_none() {
        skip("there is no /usr/bin/php");
    }
    found
}

fn write_script(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn php_by_script() {
    let Some(program) = php() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_script(
        folder.path(),
        "slow.php",
        "<?php usleep(20000); echo 'slow';",
    );
    write_script(folder.path(), "quick.php", "<?php echo 'quick';");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let launch = Launch {
        program,
        args: vec!["-S".into(), format!("127.0.0.1:{port}").into()],
        env: Vec::new(),
        account: None,
        working_directory: folder.path().to_owned(),
    };
    let profiler = Profiler::start(&launch, &options("php"));
    let is_up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    assert!(eventually(is_up), "{}", profiler.log());
    for _ in 0..COSTLY {
        assert_eq!(request(port, "GET", "/slow.php"), 200);
        for _ in 0..CHEAP_EACH {
            let target = format!("/quick.php?token={SECRET}");
            assert_eq!(request(port, "GET", &target), 200);
        }
    }
    let profiled = profiler.interrupt();
    let classes = Classes::of(profiled.profile());
    let script = |name: &str| folder.path().join(name).display().to_string();
    let named = |end: &str| {
        let mut names = classes.0.iter().map(|(name, _)| name);
        let found = names.find(|name| name.ends_with(end));
        found.unwrap_or_else(|| panic!("no {}: {:#?}", script(end), classes.0))
    };
    classes.assert_costlier(named("/slow.php"), named("/quick.php"));
}
