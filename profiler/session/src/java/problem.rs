//! Obstacles to profiling methods of Java, each with what to do.

use std::fmt;

use crate::ending::Ending;

/// Why methods of Java are not profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The JVM does not run any more.
    Gone,
    /// The agent, or the JVM, said no.
    Refused(String),
    /// The session's talk with the agent broke off.
    Broken(String),
    /// An option of the interval is for native functions only.
    Option {
        /// The interval, as typed.
        text: String,
        /// The option.
        option: &'static str,
    },
    /// None of the interval's methods has the argument that is to be the label or key.
    NoArgument {
        /// The method, with its class.
        method: String,
        /// The option, as typed.
        option: String,
        /// Parameters of the methods of this name, as in a class file.
        has: Vec<String>,
    },
    /// An option of the session is for native functions only.
    Setting(&'static str),
    /// No JVM appeared below the command.
    NoJvm,
    /// The command ended before its JVM was profiled.
    Ended(Option<Ending>),
    /// Several JVMs descend from the process.
    Several(Vec<i32>),
    /// The JVM has not loaded the class.
    NoClass {
        /// With dots.
        class: String,
        /// Length of the wait, in seconds.
        seconds: u64,
    },
    /// The class may not be rewritten.
    Fixed {
        /// With dots.
        class: String,
    },
    /// Classes with the interval's beginning or end are there, and not those with the other.
    NoOther {
        /// The methods of the classes that are absent.
        methods: String,
        /// Length of the wait, in seconds.
        seconds: u64,
    },
    /// The class has no code of this name.
    NoMethod {
        /// With dots.
        class: String,
        /// The name.
        method: String,
        /// Methods of the class that have code.
        has: Vec<String>,
    },
    /// The interval's method cannot have probes.
    Unfit {
        /// The method, with its class.
        method: String,
        /// Why.
        why: String,
    },
    /// All intervals began on virtual threads.
    OnlyVirtual {
        /// Number of intervals.
        intervals: u64,
    },
    /// The method was not called, or has not returned.
    NotCalled {
        /// The interval.
        name: String,
    },
}

/// Methods that a message lists.
const LISTED_MAX: usize = 12;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Gone => f.write_str("the Java virtual machine has ended"),
            Problem::Refused(why) => write!(f, "the Java virtual machine is not profiled: {why}"),
            Problem::Broken(why) => write!(
                f,
                "the agent in the Java virtual machine stopped answering ({why}); the JVM goes on, try again"
            ),
            Problem::Option { text, option } => write!(
                f,
                "{text}: {option} is for native functions; an interval of Java is CLASS.METHOD, with ,label=text:N ,label=integer:N or ,name=TEXT at most, or CLASS.METHOD..CLASS.METHOD,key=N:N with ,within=CLASS.METHOD or ,name=TEXT"
            ),
            Problem::NoArgument {
                method,
                option,
                has,
            } => write!(
                f,
                "{method} has no argument for {option}: arguments count from 0 without this, text:N takes a String or an enum, integer:N a number without fraction, key=N either of an object and such a number; its parameters are {}",
                has.join(" and ")
            ),
            Problem::Setting(option) => write!(
                f,
                "{option} is for native functions, and the interval is a method of Java; leave it out"
            ),
            Problem::NoJvm => f.write_str(
                "no Java virtual machine appeared below the command; start it plain, and attach to it (evenkeel attach PID)",
            ),
            Problem::Ended(ending) => {
                let how = match ending {
                    Some(Ending::Exited(code)) => format!("ended with exit code {code}"),
                    Some(Ending::Killed(signal)) => format!("was killed by signal {signal}"),
                    _ => "ended".to_owned(),
                };
                write!(
                    f,
                    "the command {how} before its Java virtual machine could be profiled: see what it printed. If it has left a server in the background, attach to that (evenkeel attach PID)"
                )
            }
            Problem::Several(pids) => {
                let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "several Java virtual machines run there ({}); attach to one of them by its number",
                    pids.join(", ")
                )
            }
            Problem::NoClass { class, seconds } => write!(
                f,
                "the Java virtual machine loaded no class {class} within {seconds} s. Write the whole name, with its package and with $ before inner classes (com.example.Outer$Inner.method), and let the program use the class during the profile"
            ),
            Problem::NoOther { methods, seconds } => write!(
                f,
                "the Java virtual machine loaded no class of {methods} within {seconds} s, and the interval needs a beginning and an end. Write the whole names, with packages, and let the program use these classes during the profile"
            ),
            Problem::Fixed { class } => write!(
                f,
                "the class {class} may not be rewritten (it is hidden, an array or a primitive type); name the class that has the method's source"
            ),
            Problem::NoMethod { class, method, has } if has.is_empty() => write!(
                f,
                "the class {class} has no code in a method {method}: it may be abstract, or native; name a class that implements it"
            ),
            Problem::NoMethod { class, method, has } => {
                let more = has.len().saturating_sub(LISTED_MAX);
                let mut list = has[..has.len().min(LISTED_MAX)].join(", ");
                if more > 0 {
                    list += &format!(" and {more} others");
                }
                write!(
                    f,
                    "the class {class} has no code in a method {method}: it has {list}; where the method is inherited, name the class above that has it"
                )
            }
            Problem::Unfit { method, why } => write!(
                f,
                "{method} cannot be an interval: {why}; name a method that it calls, or one that calls it"
            ),
            Problem::OnlyVirtual { intervals } => write!(
                f,
                "{intervals} intervals began, all on virtual threads, which are not followed; name a method that runs on platform threads"
            ),
            Problem::NotCalled { name } => write!(
                f,
                "{name} was not called, or has not returned, while it was profiled. Put the program under load during the profile, or profile for longer"
            ),
        }
    }
}

impl std::error::Error for Problem {}
