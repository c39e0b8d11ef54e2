//! The meaning of declarations, worked out by hand, and against plain loops over rows.

use evenkeel_drive::dataset::Dataset;
use evenkeel_workloads::interface::Compare::{GreaterOrEqual, NotEqual};
use evenkeel_workloads::interface::declare::{
    Declaration, Statements, add, average, constant, count, count_distinct, count_values, from,
    insert, max, min, outer, p, set, subtract, sum,
};
use evenkeel_workloads::interface::{
    Batch, Connection, Error, Partition, Row, Schema, Statement, StatementId, Transaction,
    TransactionType, Value, columns, complete,
};
use proptest::prelude::*;

use crate::database::{Client, Database};

fn schema() -> Schema {
    let mut schema = Schema::new();
    let line = columns("l_order bigint, l_number bigint, l_amount bigint null, l_item bigint");
    let line = schema.table("line", line, &["l_order", "l_number"]);
    schema.index(line, "line_item", &["l_item", "l_amount"], false);
    let item = schema.table("item", columns("i_id bigint, i_name text(8)"), &["i_id"]);
    schema.index(item, "item_name", &["i_name"], true);
    schema.table("log", columns("g_value bigint"), &[]);
    schema
}

/// Declared tables with some rows.
struct Declared {
    schema: Schema,
    statements: Vec<Statement>,
    rows: Vec<(&'static str, Vec<Row>)>,
}

impl Dataset for Declared {
    fn name(&self) -> &'static str {
        "declared"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn transactions(&self) -> &[TransactionType] {
        &[]
    }

    fn partitions(&self) -> Vec<Partition> {
        let rows = self.rows.iter().map(|(_, rows)| rows.len() as u64).sum();
        vec![Partition {
            number: 0,
            name: "all".to_owned(),
            rows,
        }]
    }

    fn batches(&self, _: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let batch = |(table, rows): &(&str, Vec<Row>)| Batch {
            table: self.schema.find(table),
            rows: rows.clone(),
        };
        Box::new(self.rows.iter().map(batch))
    }
}

/// Gives a transaction that has begun, on a database of these lines and two items, and a statement.
fn over<R>(
    declaration: Declaration,
    lines: &[(i64, i64, Option<i64>, i64)],
    test: impl FnOnce(&mut Client<'_>, StatementId, &Database) -> R,
) -> R {
    let schema = schema();
    let mut statements = Statements::new(&schema);
    let statement = statements.add("tested", declaration);
    let line = |&(order, number, amount, item): &(i64, i64, Option<i64>, i64)| {
        Row(vec![
            order.into(),
            number.into(),
            amount.into(),
            item.into(),
        ])
    };
    let items = [(7, "seven"), (8, "eight")];
    let item = |(id, name): (i64, &str)| Row(vec![id.into(), name.into()]);
    let data = Declared {
        statements: statements.finish(),
        rows: vec![
            ("line", lines.iter().map(line).collect()),
            ("item", items.map(item).to_vec()),
        ],
        schema,
    };
    let database = Database::of(&data);
    let mut connection = database.connect(&data);
    complete(connection.begin(&TransactionType::reading())).unwrap();
    test(&mut connection, statement, &database)
}

/// The same with five lines of three orders.
fn with<R>(
    declaration: Declaration,
    test: impl FnOnce(&mut Client<'_>, StatementId, &Database) -> R,
) -> R {
    let lines = [
        (1, 1, Some(5), 7),
        (1, 2, None, 8),
        (2, 1, Some(4), 7),
        (2, 2, Some(6), 8),
        (3, 1, Some(5), 7),
    ];
    over(declaration, &lines, test)
}

/// The declaration's result rows as integers, -1 for NULL.
fn query(declaration: Declaration, parameters: &[i64]) -> Vec<Vec<i64>> {
    let parameters: Vec<Value> = parameters.iter().copied().map(Value::Int).collect();
    let rows = with(declaration, |connection, statement, _| {
        complete(connection.query(statement, &parameters)).unwrap()
    });
    let int = |value: &Value| match value {
        Value::Int(value) => *value,
        _ => -1,
    };
    rows.iter()
        .map(|row| row.0.iter().map(int).collect())
        .collect()
}

#[test]
fn prefixes_ranges_order_and_limits() {
    let lines = || from("line");
    assert_eq!(
        query(lines().key([p(0)]).columns(["l_number"]), &[2]),
        [[1], [2]]
    );
    let all = |rows: Declaration| {
        query(rows, &[1, 3])
            .into_iter()
            .map(|row| row[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(
        all(lines().above(p(0)).below(p(1)).columns(["l_order"])),
        [2, 2]
    );
    assert_eq!(
        all(lines().at_least(p(0)).below(p(1)).columns(["l_order"])),
        [1, 1, 2, 2]
    );
    assert_eq!(
        all(lines().above(p(0)).at_most(p(1)).columns(["l_order"])),
        [2, 2, 3]
    );
    assert_eq!(
        all(lines().at_least(p(1)).at_most(p(0)).columns(["l_order"])),
        [0i64; 0]
    );
    let last = lines()
        .key([p(0)])
        .descending()
        .limit(constant(1))
        .columns(["l_number"]);
    assert_eq!(query(last, &[1]), [[2]]);
    // By the secondary index: by amount, NULL first.
    let by_item = lines()
        .index("line_item", [p(0)])
        .ascending()
        .columns(["l_order", "l_amount"]);
    assert_eq!(query(by_item, &[7]), [[2, 4], [1, 5], [3, 5]]);
}

#[test]
fn conditions_do_not_hold_for_null() {
    let five = from("line")
        .filter("l_amount", GreaterOrEqual, p(0))
        .columns(["l_order"]);
    assert_eq!(query(five, &[5]), [[1], [2], [3]]);
    let other = from("line")
        .key([p(0)])
        .filter("l_amount", NotEqual, p(1))
        .columns(["l_number"]);
    assert_eq!(query(other, &[1, 9]), [[1]]);
}

#[test]
fn aggregates_leave_null_out() {
    let all = [
        count(),
        count_values("l_amount"),
        count_distinct("l_amount"),
        sum("l_amount"),
        min("l_amount"),
        max("l_item"),
    ];
    assert_eq!(
        query(from("line").aggregates(all), &[]),
        [[5, 4, 3, 20, 4, 8]]
    );
    // Of nothing: counts are 0, everything else NULL.
    assert_eq!(
        query(from("line").key([p(0)]).aggregates(all), &[9]),
        [[0, 0, 0, -1, -1, -1]]
    );
    let groups = from("line").grouped(["l_item"], [count(), sum("l_amount")]);
    assert_eq!(query(groups, &[]), [[7, 3, 14], [8, 2, 6]]);
    let average = from("line").key([p(0)]).aggregates([average("l_amount")]);
    let mean = with(average, |connection, statement, _| {
        complete(connection.query_one(statement, &[2.into()])).unwrap()
    });
    assert_eq!(mean.float(0), Ok(5.0));
}

#[test]
fn a_join_pairs_rows_through_the_outer_row() {
    let pairs = from("line")
        .key([p(0)])
        .join("item")
        .key([outer("l_item")])
        .columns(["l_number", "i_id"]);
    assert_eq!(query(pairs, &[1]), [[1, 7], [2, 8]]);
    let none = from("item")
        .join("line")
        .key([outer("i_id")])
        .aggregates([count()]);
    assert_eq!(query(none, &[]), [[0]]);
}

#[test]
fn changes_see_the_row_as_it_was_and_are_undone() {
    let change = [set("l_amount", p(2)), add("l_item", p(3))];
    let declared = from("line")
        .key([p(0), p(1)])
        .update_returning(change, ["l_amount", "l_item"]);
    let line = schema().find("line");
    let changed = with(declared, |connection, statement, database| {
        let new = complete(connection.query(statement, &[1, 2, 3, 4].map(Value::Int))).unwrap();
        complete(connection.rollback()).unwrap();
        assert_eq!(database.rows(line)[1].0[2..], [Value::Null, 8.into()]);
        new
    });
    assert_eq!(changed, [Row(vec![3.into(), 12.into()])]);

    with(
        from("line").key([p(0)]).delete(),
        |connection, statement, database| {
            assert_eq!(complete(connection.execute(statement, &[2.into()])), Ok(2));
            complete(connection.commit()).unwrap();
            assert_eq!(database.rows(line).len(), 3);
        },
    );

    let minus = from("line").key([p(0)]);
    let minus = minus.update([subtract("l_item", constant(1))]);
    with(minus, |connection, statement, _| {
        assert_eq!(complete(connection.execute(statement, &[1.into()])), Ok(2));
    });
}

#[test]
fn keys_are_unique_where_they_must_be() {
    with(insert("item"), |connection, statement, _| {
        let mut insert = |id: i64, name: &str| {
            complete(connection.execute(statement, &[id.into(), name.into()]))
        };
        for (id, name) in [(7, "new"), (9, "seven")] {
            assert!(matches!(insert(id, name), Err(Error::DuplicateKey(_))));
        }
        assert_eq!(insert(9, "nine"), Ok(1));
    });
    // A table without a key takes the same row twice.
    with(insert("log"), |connection, statement, database| {
        for _ in 0..2 {
            assert_eq!(complete(connection.execute(statement, &[5.into()])), Ok(1));
        }
        complete(connection.commit()).unwrap();
        assert_eq!(database.rows(schema().find("log")).len(), 2);
        let outside = complete(connection.execute(statement, &[5.into()]));
        assert!(matches!(outside, Err(Error::Other(_))), "not begun");
    });
}

#[test]
fn mistakes_in_declarations_are_found_when_they_are_made() {
    let refused = |declaration: fn() -> Declaration| {
        let schema = schema();
        std::panic::catch_unwind(|| Statements::new(&schema).add("wrong", declaration())).is_err()
    };
    assert!(!refused(|| from("line").key([p(0)]).columns(["l_item"])));
    assert!(
        refused(|| from("nowhere").columns(["l_item"])),
        "no such table"
    );
    assert!(refused(|| from("line").columns(["i_id"])), "no such column");
    assert!(
        refused(|| from("line").index("item_name", [p(0)]).columns(["l_item"])),
        "another table's index"
    );
    assert!(
        refused(|| from("line").key([p(0), p(1), p(2)]).columns(["l_item"])),
        "longer than the key"
    );
    assert!(
        refused(|| from("line").key([p(1)]).columns(["l_item"])),
        "parameter 0 is missing"
    );
    assert!(
        refused(|| from("line").key([p(0)]).update([set("l_number", p(1))])),
        "a key column is set"
    );
    assert!(
        refused(|| from("line").for_update().aggregates([count()])),
        "locks of groups"
    );
    assert!(
        refused(|| from("item")
            .index("item_name", [p(0)])
            .filter("i_id", NotEqual, p(0))
            .columns(["i_id"])),
        "two types"
    );
    assert!(
        refused(|| from("line").key([outer("l_item")]).columns(["l_item"])),
        "nothing is joined"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A range over the secondary index gives what a loop over all rows gives.
    #[test]
    fn ranges_are_those_of_a_loop(
        rows in proptest::collection::btree_map(0i64..20, (0i64..4, 0i64..6), 0..30),
        item in 0i64..4,
        bounds in (0i64..6, 0i64..6),
        inclusive in (any::<bool>(), any::<bool>()),
    ) {
        let mut reached = from("line").index("line_item", [p(0)]);
        reached = if inclusive.0 { reached.at_least(p(1)) } else { reached.above(p(1)) };
        reached = if inclusive.1 { reached.at_most(p(2)) } else { reached.below(p(2)) };
        let lines: Vec<_> = rows.iter().map(|(order, (item, amount))| (*order, 1, Some(*amount), *item)).collect();
        let reached = reached.ascending().columns(["l_amount", "l_order"]);
        let found = over(reached, &lines, |connection, statement, _| {
            complete(connection.query(statement, &[item, bounds.0, bounds.1].map(Value::Int))).unwrap()
        });
        let above = |amount: i64| if inclusive.0 { amount >= bounds.0 } else { amount > bounds.0 };
        let below = |amount: i64| if inclusive.1 { amount <= bounds.1 } else { amount < bounds.1 };
        let mut expected: Vec<(i64, i64)> = rows
            .iter()
            .filter(|(_, (of, amount))| *of == item && above(*amount) && below(*amount))
            .map(|(order, (_, amount))| (*amount, *order))
            .collect();
        expected.sort_unstable();
        let found: Vec<(i64, i64)> = found.iter().map(|row| (row.int(0).unwrap(), row.int(1).unwrap())).collect();
        prop_assert_eq!(found, expected);
    }
}
