//! Finding a customer by last name (TPC-C 2.5.2.2, 2.6.2.2).

use super::terminal::{CustomerBy, District};
use crate::interface::declare::{Statements, from, p};
use crate::interface::{Error, StatementId, Transaction};

/// The statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    by_name: StatementId,
}

impl Lookup {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let by_name = from("customer")
            .index("customer_name", [p(0), p(1), p(2)])
            .ascending()
            .columns(["c_id"]);
        Lookup {
            by_name: statements.add("customer_by_name", by_name),
        }
    }

    /// The customer's number. Of n customers with the name, ordered by first name, the one at position n/2
    /// rounded up, counted from 1.
    pub(super) async fn find<T: Transaction>(
        &self,
        transaction: &mut T,
        at: District,
        by: &CustomerBy,
    ) -> Result<i64, Error> {
        let name = match by {
            CustomerBy::Id(c) => return Ok(*c),
            CustomerBy::LastName(name) => name,
        };
        let rows = transaction
            .query(
                self.by_name,
                &[at.w.into(), at.d.into(), name.as_str().into()],
            )
            .await?;
        match middle(rows.len()).map(|at| &rows[at]) {
            Some(row) => row.int(0),
            None => Err(Error::Other(format!(
                "no customer of warehouse {} district {} is called {name}",
                at.w, at.d
            ))),
        }
    }
}

/// The row at position n/2, rounded up and counted from 1, as an index; none of no rows.
fn middle(n: usize) -> Option<usize> {
    n.div_ceil(2).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_rounded_up() {
        let middles: Vec<_> = (0..6).map(middle).collect();
        assert_eq!(middles, [None, Some(0), Some(0), Some(1), Some(1), Some(2)]);
    }
}
