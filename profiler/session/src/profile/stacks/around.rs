//! The functions that an interval from one call to another runs in, from the calls that were active at its beginning
//! and at its end.

use crate::location::Location;

/// Callers of the innermost common function that are added where it is not sure to be one call.
const CALLERS_MAX: usize = 3;

/// A call on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveCall {
    /// The function that makes it.
    pub function: Location,
    /// The address of the call.
    pub at: u64,
}

/// The innermost function that is active in one call at both ends, and the functions below it at either end, innermost
/// first. Outer functions do not run the interval. All, if nothing is common: the copies do not go as far.
///
/// `begun`, `ended`: the stacks, innermost call first. They are compared from the outermost call on, because the same
/// helper below `recv` and below `send` is two calls, and the interval lies between them. Where the common function
/// makes the same call at both ends, through a pointer, that call may be one of an interpreter's loop further out. Then
/// some of its callers are added.
pub fn around(begun: &[ActiveCall], ended: &[ActiveCall]) -> Vec<Location> {
    let Some((mut begin, mut end)) = outermost_common(begun, ended) else {
        return distinct(begun.iter().chain(ended));
    };
    while begin > 0
        && end > 0
        && begun[begin] == ended[end]
        && begun[begin - 1].function == ended[end - 1].function
    {
        (begin, end) = (begin - 1, end - 1);
    }
    let callers = match begun[begin] == ended[end] {
        true => CALLERS_MAX,
        false => 0,
    };
    let last = (begin + callers).min(begun.len() - 1);
    distinct(begun[..=last].iter().chain(&ended[..end]))
}

/// Indices of the outermost call of `begun` whose function is active in `ended`, too, and of that.
fn outermost_common(begun: &[ActiveCall], ended: &[ActiveCall]) -> Option<(usize, usize)> {
    let outermost_first = begun.iter().enumerate().rev();
    let mut found = outermost_first.filter_map(|(at, call)| {
        let same = |other: &ActiveCall| other.function == call.function;
        Some((at, ended.iter().rposition(same)?))
    });
    found.next()
}

fn distinct<'a>(calls: impl Iterator<Item = &'a ActiveCall>) -> Vec<Location> {
    let mut functions = Vec::new();
    for call in calls {
        if !functions.contains(&call.function) {
            functions.push(call.function);
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls at these addresses, innermost first, each in the function of its hundred.
    fn stack(calls: &[u64]) -> Vec<ActiveCall> {
        let call = |&at: &u64| ActiveCall {
            function: Location::new(0, at / 100),
            at,
        };
        calls.iter().map(call).collect()
    }

    fn found(begun: &[u64], ended: &[u64]) -> Vec<u64> {
        let found = around(&stack(begun), &stack(ended)).into_iter();
        found.map(|function| function.address).collect()
    }

    #[test]
    fn an_interval_runs_in_what_is_active_at_both_ends_and_below() {
        // main > loop > serve > read > begin, and main > loop > serve > finish > close > end
        let both = found(&[401, 301, 201, 101], &[601, 501, 302, 201, 101]);
        assert_eq!(both, [4, 3, 6, 5]);
        // One function calls both.
        assert_eq!(found(&[301, 201, 101], &[302, 201, 101]), [3]);
        // It began in a call of a function that is active again where it ends.
        assert_eq!(found(&[301, 401, 201], &[501, 402, 201]), [3, 4, 5]);
        // Nothing is known of what is further out.
        assert_eq!(found(&[401, 301], &[601]), [4, 3, 6]);
        assert!(found(&[], &[]).is_empty());
    }

    /// serve > receive > transfer > recv, and serve > send > transfer > send: transfer is called twice.
    #[test]
    fn a_helper_that_both_ends_call_does_not_run_the_interval() {
        let both = found(&[401, 301, 201, 101], &[401, 501, 202, 101]);
        assert_eq!(both, [4, 3, 2, 5]);
    }

    /// The loop of an interpreter calls both from one place, through a function that calls a pointer.
    #[test]
    fn callers_of_a_call_that_may_have_been_made_twice_are_added() {
        let both = found(&[501, 401, 301, 201, 101], &[601, 401, 301, 201, 101]);
        assert_eq!(both, [5, 4, 3, 2, 1, 6]);
    }

    /// One copy reaches further out than the other.
    #[test]
    fn copies_of_different_lengths_are_aligned() {
        let both = found(&[401, 301, 201], &[501, 302, 201, 101]);
        assert_eq!(both, [4, 3, 5]);
        let both = found(&[401, 301, 201, 101], &[501, 302, 201]);
        assert_eq!(both, [4, 3, 5]);
    }
}
