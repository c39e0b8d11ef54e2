//! A program to attach to.
#![allow(dead_code)] // each test binary uses a part

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::support::build::own_program;
use crate::support::run::{Place, Run, eventually, finish, interrupted_once};

/// A program that works until its place has the file `enough`.
pub struct Working {
    pub place: Place,
    pub child: Option<Child>,
}

impl Working {
    pub fn start(program: PathBuf, arguments: &[&str]) -> Working {
        let place = Place::new();
        let mut command = place.command(program);
        let ready = place.file("ready");
        command.args(arguments).env("READY", &ready);
        command.env("UNTIL", place.file("enough"));
        command.env("WHEN", place.file("now"));
        let child = Some(command.spawn().unwrap());
        let working = Working { place, child };
        assert!(eventually(|| ready.exists()), "it has not begun");
        working
    }

    pub fn threads() -> Working {
        Working::threads_with(&["4"])
    }

    pub fn threads_with(arguments: &[&str]) -> Working {
        let program = own_program("threads", include_str!("threads.c"));
        Working::start(program, arguments)
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn attach(&self, options: &[&str]) -> Command {
        let mut command = self.place.evenkeel(["attach", &self.pid().to_string()]);
        command.args(options);
        command
    }

    pub fn attached(&self, options: &[&str]) -> Run {
        finish(self.attach(options).spawn().unwrap())
    }

    /// A session that is interrupted once it says something like this.
    pub fn attached_until(&self, options: &[&str], said: fn(&str) -> bool) -> Run {
        interrupted_once(self.attach(options).spawn().unwrap(), said)
    }

    /// Lets it end.
    pub fn end(mut self) -> Run {
        fs::write(self.place.file("enough"), "").unwrap();
        finish(self.child.take().expect("it runs"))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
