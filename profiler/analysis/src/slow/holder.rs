//! The process that holds the lock of a file that a slow interval waits for: the last two steps of a path of functions,
//! as in `save > flock > held by cron > pid 812`. Nothing else reads or writes these two steps.

const HELD_BY: &str = "held by ";
const HAS_ENDED: &str = "a process that has ended: a child of it may have the file open";

/// The steps of a process; `name`: `None` if it has ended. The name is before the number: of many processes of one
/// name, the name is what stacks have in common.
pub fn steps(name: Option<&str>, pid: i32) -> [String; 2] {
    let name = name.unwrap_or(HAS_ENDED);
    [format!("{HELD_BY}{name}"), format!("pid {pid}")]
}

/// The functions of a path, and the holder after them, as `process cron (pid 812)`.
pub fn split(path: &[String]) -> (&[String], Option<String>) {
    let holder = path.iter().enumerate();
    let mut holder = holder.filter_map(|(at, step)| Some((at, step.strip_prefix(HELD_BY)?)));
    let Some((at, name)) = holder.next() else {
        return (path, None);
    };
    let process = if name == HAS_ENDED { "" } else { "process " };
    let pid = path.get(at + 1);
    let pid = pid.map_or_else(String::new, |pid| format!(" ({pid})"));
    (&path[..at], Some(format!("{process}{name}{pid}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let read = |name, length: usize| {
            let functions = ["save", "flock"].map(str::to_owned);
            let path: Vec<String> = functions.into_iter().chain(steps(name, 7)).collect();
            let (functions, holder) = split(&path[..length]);
            assert_eq!(functions, ["save", "flock"]);
            holder
        };
        assert_eq!(read(Some("cron"), 2), None);
        assert_eq!(read(Some("cron"), 3).unwrap(), "process cron");
        assert_eq!(read(Some("cron"), 4).unwrap(), "process cron (pid 7)");
        let ended = format!("{HAS_ENDED} (pid 7)");
        assert_eq!(read(None, 4).unwrap(), ended);
    }
}
