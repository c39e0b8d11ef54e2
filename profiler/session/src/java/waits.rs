//! What threads of a JVM wait for (`--waits`): the probes that are reserved for it, and what reports call them.

use evenkeel_analysis::sites::{Kind, Site};
use evenkeel_wire::jvm::JavaWait;

use super::method::dotted;

/// Probes that are reserved: of each kind of wait one for all classes that have none of their own, and these.
pub(super) const PROBES: u32 = 64;
/// The class whose methods park and unpark threads.
pub(super) const PARKER: &str = "java/util/concurrent/locks/LockSupport";

/// A reserved probe, named by the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Its number among those that are reserved.
    pub(super) number: u32,
    /// The kind of wait.
    pub(super) wait: JavaWait,
    /// The class of the object, as the JVM writes it.
    pub(super) signature: String,
}

/// What reports say of a reserved probe that has no name yet.
pub(super) fn unnamed(number: u32) -> Site {
    let wait = u8::try_from(number).ok().and_then(JavaWait::of);
    let (name, kind) = match wait {
        Some(wait) => (of_any(wait).to_owned(), kind(wait)),
        None => (
            "waiting for an object of unknown class".to_owned(),
            Kind::Lock,
        ),
    };
    site(name, kind)
}

/// What reports say of a reserved probe.
pub(super) fn named(named: &Named) -> Site {
    let class = class_name(&named.signature);
    let name = match named.wait {
        JavaWait::Collection => of_any(named.wait).to_owned(),
        JavaWait::Monitor => format!("waiting for the monitor of {class}"),
        JavaWait::Notified => format!("waiting in Object.wait of {class}"),
        JavaWait::Parked => format!("parked for {class}"),
    };
    site(name, kind(named.wait))
}

fn of_any(wait: JavaWait) -> &'static str {
    match wait {
        JavaWait::Collection => "stopped for garbage collection",
        JavaWait::Monitor => "waiting for a monitor",
        JavaWait::Notified => "waiting in Object.wait",
        JavaWait::Parked => "parked",
    }
}

fn kind(wait: JavaWait) -> Kind {
    match wait {
        JavaWait::Collection => Kind::Event,
        JavaWait::Monitor | JavaWait::Notified | JavaWait::Parked => Kind::Lock,
    }
}

fn site(name: String, kind: Kind) -> Site {
    Site {
        site: name.clone(),
        callee: name,
        callee_file: Some(String::new()),
        kind,
        ..Site::default()
    }
}

/// A class as in a source file: `java.lang.Object[]`; `class a.B` where the object is the class itself.
fn class_name(signature: &str) -> String {
    if let Some(own) = signature.strip_prefix('=') {
        return format!("class {}", class_name(own));
    }
    if let Some(element) = signature.strip_prefix('[') {
        return format!("{}[]", class_name(element));
    }
    let primitive = match signature {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => {
            let class = signature.strip_prefix('L');
            let class = class.and_then(|class| class.strip_suffix(';'));
            return dotted(class.unwrap_or(signature));
        }
    };
    primitive.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_name_the_class_of_their_object() {
        let name = |wait, signature: &str| {
            named(&Named {
                number: 9,
                wait,
                signature: signature.to_owned(),
            })
            .callee
        };
        assert_eq!(
            name(JavaWait::Monitor, "La/B$C;"),
            "waiting for the monitor of a.B$C"
        );
        assert_eq!(
            name(JavaWait::Monitor, "[[I"),
            "waiting for the monitor of int[][]"
        );
        assert_eq!(
            name(JavaWait::Monitor, "=La/B;"),
            "waiting for the monitor of class a.B"
        );
        assert_eq!(unnamed(3).callee, "parked");
        assert_eq!(unnamed(0).kind, Kind::Event);
    }
}
