//! Which chains of faults are tried.

/// The first seed and how many: EVENKEEL_CHAINS_SEED and EVENKEEL_CHAINS, otherwise the first `count`.
pub fn from_environment(count: u64) -> (u64, u64) {
    (
        number("EVENKEEL_CHAINS_SEED", 1),
        number("EVENKEEL_CHAINS", count),
    )
}

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}
