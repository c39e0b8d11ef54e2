//! What the load and the transactions agree on.

/// When call forwardings begin.
pub const START_TIMES: [i64; 3] = [0, 8, 16];

/// SUB_NBR: the subscriber's id in 15 digits.
pub fn number(s_id: i64) -> String {
    format!("{s_id:015}")
}
