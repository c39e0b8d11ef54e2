//! The size of the database.

/// Districts of a warehouse (TPC-C 1.2.1).
pub const DISTRICTS: i64 = 10;

/// Cardinalities. All but `warehouses` are fixed by the specification (1.2.1); smaller ones make a *scaled-down*
/// database for tests. Its results are marked as not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: i64,
    /// Customers, and initial orders, of a district: 3000.
    pub customers: i64,
    /// Items, and stock rows of a warehouse: 100 000.
    pub items: i64,
}

impl Scale {
    /// The specification's cardinalities.
    pub const fn full(warehouses: i64) -> Self {
        Scale {
            warehouses,
            customers: 3000,
            items: 100_000,
        }
    }

    /// Whether anything is smaller than the specification wants.
    pub(crate) fn is_scaled_down(self) -> bool {
        self != Scale::full(self.warehouses)
    }

    /// Initial orders of a district that are delivered: those with o_id < 2101 of 3000, and the same share of
    /// fewer.
    pub(crate) fn delivered_orders(self) -> i64 {
        self.customers * 7 / 10
    }

    /// Number of last names customers can have: 1000, or as many as there are customers.
    pub(crate) fn last_names(self) -> i64 {
        self.customers.min(1000)
    }

    /// D_YTD at the beginning, in cents: 10.00 for each customer (4.3.3.1: 30 000.00).
    pub(crate) fn district_ytd(self) -> i64 {
        self.customers * 1000
    }
}
