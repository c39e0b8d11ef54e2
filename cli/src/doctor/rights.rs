//! Which rights allow what on this machine, and which of them this process has.

use std::fmt::Write;

/// Bits of CapEff in /proc/PID/status (include/uapi/linux/capability.h).
pub const CAP_DAC_OVERRIDE: u64 = 1 << 1;
pub const CAP_SYS_PTRACE: u64 = 1 << 19;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;

/// A capability, and what is lost without it.
struct Right {
    name: &'static str,
    bits: u64,
    without: &'static str,
}

const RIGHTS: [Right; 4] = [
    Right {
        name: "CAP_SYS_PTRACE",
        bits: CAP_SYS_PTRACE,
        without: "only this user's own processes can be attached to, and none whose program changed its rights",
    },
    Right {
        name: "CAP_DAC_OVERRIDE",
        bits: CAP_DAC_OVERRIDE,
        without: "no processes of other users, nor one whose program changed its rights (their files in /proc are their owner's)",
    },
    Right {
        name: "CAP_SYS_ADMIN",
        bits: CAP_SYS_ADMIN,
        without: "no processes in containers (their numbers are not known), and none with a filter of system calls (it cannot be read)",
    },
    Right {
        name: "CAP_PERFMON",
        bits: CAP_PERFMON | CAP_SYS_ADMIN,
        without: "with --waits, run-queue delay and blocking of attached processes are not told apart, and wakers are unknown",
    },
];

/// The line of the report for each capability.
pub fn own(rights: u64) -> (Vec<&'static str>, Vec<String>) {
    let (has, lacks): (Vec<&Right>, Vec<&Right>) =
        RIGHTS.iter().partition(|right| rights & right.bits != 0);
    let lacks = lacks
        .iter()
        .map(|right| format!("without {}: {}", right.name, right.without));
    (
        has.iter().map(|right| right.name).collect(),
        lacks.collect(),
    )
}

/// How to get the missing capabilities.
pub fn remedy() -> &'static str {
    // SAFETY: no arguments.
    match unsafe { libc::geteuid() } {
        // Root without all rights is in a container.
        0 => {
            "run evenkeel on the machine itself, which attaches to processes in containers, or give the rights to this container (--cap-add SYS_PTRACE, --cap-add PERFMON)"
        }
        _ => "run evenkeel as root (sudo)",
    }
}

/// Whether processes of the same user may be traced, by kernel.yama.ptrace_scope.
fn of_same_user(scope: i64) -> &'static str {
    match scope {
        ..=0 => "yes",
        1 => "no: ptrace_scope is 1",
        2 => "no: ptrace_scope is 2",
        _ => "no: ptrace_scope is 3",
    }
}

/// A table of what each kind of user may do here.
pub fn table(scope: i64) -> String {
    let (any, same) = match scope {
        3.. => ("no: ptrace_scope is 3", of_same_user(scope)),
        _ => ("yes", of_same_user(scope)),
    };
    let rows = [
        [
            "who runs evenkeel",
            "own processes",
            "others'",
            "containers, filters",
            "kernel's events",
        ],
        ["root", any, any, any, "yes"],
        ["a user", same, "no", "no", "no"],
        ["with CAP_SYS_PTRACE", any, "no", "no", "no"],
        ["and CAP_DAC_OVERRIDE", any, any, "no", "no"],
        ["and CAP_PERFMON", any, any, "no", "yes"],
        ["and CAP_SYS_ADMIN", any, any, any, "yes"],
    ];
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::from("\n");
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "  {cell:width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text += "\nA group of people gets rights without root by file capabilities: \
        `setcap cap_sys_ptrace,cap_dac_override,cap_perfmon=ep` on a copy of evenkeel that this group alone may execute. \
        Whoever has these rights can do what root can. `evenkeel profile` needs none.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_missing_right_costs() {
        let (has, lacks) = own(CAP_SYS_PTRACE);
        assert_eq!(has, ["CAP_SYS_PTRACE"]);
        assert!(lacks[0].starts_with("without CAP_DAC_OVERRIDE: no processes of other users"));
        assert!(lacks[1].starts_with("without CAP_SYS_ADMIN: no processes in containers"));
        assert!(lacks[2].starts_with("without CAP_PERFMON: with --waits"));
        assert_eq!(own(u64::MAX).1, Vec::<String>::new());
    }

    #[test]
    fn the_table_follows_the_machine() {
        let row = |scope, who: &str| {
            let table = table(scope);
            let row = table.lines().find(|line| line.trim().starts_with(who));
            row.expect(who).to_owned()
        };
        assert!(row(0, "a user").contains("yes"));
        assert!(row(1, "a user").contains("no: ptrace_scope is 1"));
        assert!(!row(1, "root").contains("no"));
        assert!(row(3, "root").contains("no: ptrace_scope is 3"));
    }
}
