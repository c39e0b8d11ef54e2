//! A JVM's answer to `load`: a number on the first line, which is not 0 where the command failed, and text. The text
//! has the number that `Agent_OnAttach` returned, or the reason why the library was not loaded.

use crate::error::Refused;

/// Refuses all but success. `library`: the agent's, as the JVM sees it.
pub(crate) fn check(pid: i32, answer: &str, library: &str) -> Result<(), Refused> {
    let (status, text) = answer.split_once('\n').unwrap_or((answer, ""));
    let text = text.trim();
    if status.trim() == "0" && matches!(text, "" | "0" | "return code: 0") {
        return Ok(());
    }
    if text.contains("Dynamic agent loading is not enabled") {
        let why = format!(
            "its option -XX:-EnableDynamicAgentLoading forbids it; start it without, or with the agent: -agentpath:{library}"
        );
        return Err(Refused::Unfit { pid, why });
    }
    let why = match text.strip_prefix("return code: ") {
        Some(code) => format!("the agent in the JVM ended with code {code}"),
        None if text.is_empty() => format!("the JVM answered {:?}", status.trim()),
        None => format!("the JVM answered: {text}"),
    };
    Err(Refused::Failed {
        pid,
        why: format!("{why}; the JVM runs on"),
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_success_is_success() {
        for fine in ["0\nreturn code: 0\n", "0\n0\n", "0\n"] {
            assert!(check(1, fine, "a.so").is_ok(), "{fine:?}");
        }
        for (answer, told) in [
            ("0\nreturn code: 7\n", "code 7"),
            ("0\n/tmp/x.so was not loaded.\n", "was not loaded"),
            ("100\n", "\"100\""),
            ("", "\"\""),
            (
                "0\nDynamic agent loading is not enabled. Use ...",
                "EnableDynamicAgentLoading forbids it",
            ),
        ] {
            let error = check(1, answer, "a.so").expect_err(answer).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
