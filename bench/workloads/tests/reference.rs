//! The meaning of declarations on the reference target, worked out by hand, and against plain loops over
//! rows.

use evenkeel_workloads::interface::ColumnType::{Int64, Text};
use evenkeel_workloads::interface::Compare::{GreaterOrEqual, NotEqual};
use evenkeel_workloads::interface::declare::{
    Declaration, Statements, add, average, constant, count, count_distinct, count_values, from,
    insert, max, min, outer, p, set, subtract, sum,
};
use evenkeel_workloads::interface::{
    Batch, Connection, Error, Row, Schema, StatementId, Transaction, TransactionType, Value,
    column, complete, nullable,
};
use evenkeel_workloads::reference::{Reference, ReferenceConnection};
use proptest::prelude::*;

const ANY: TransactionType = TransactionType {
    name: "any",
    fraction: 1.0,
    read_only: false,
    single_statement: false,
    keying_ns: 0,
    think_mean_ns: 0,
};

fn schema() -> Schema {
    let mut schema = Schema::new();
    let line = vec![
        column("l_order", Int64),
        column("l_number", Int64),
        nullable("l_amount", Int64),
        column("l_item", Int64),
    ];
    let line = schema.table("line", line, &["l_order", "l_number"]);
    schema.index(line, "line_item", &["l_item", "l_amount"], false);
    let item = schema.table(
        "item",
        vec![column("i_id", Int64), column("i_name", Text(8))],
        &["i_id"],
    );
    schema.index(item, "item_name", &["i_name"], true);
    schema.table("log", vec![column("g_value", Int64)], &[]);
    schema
}

/// A database of five lines of three orders and two items, and one statement, in a transaction that has
/// begun.
fn with(declaration: Declaration) -> (ReferenceConnection, StatementId, Reference) {
    let schema = schema();
    let mut statements = Statements::new(&schema);
    let statement = statements.add("tested", declaration);
    let database = Reference::new(&schema, &statements.finish());
    let line = |order, number, amount: Option<i64>, item| {
        Row(vec![
            Value::Int(order),
            Value::Int(number),
            amount.into(),
            Value::Int(item),
        ])
    };
    let rows = vec![
        line(1, 1, Some(5), 7),
        line(1, 2, None, 8),
        line(2, 1, Some(4), 7),
        line(2, 2, Some(6), 8),
        line(3, 1, Some(5), 7),
    ];
    database
        .load(Batch {
            table: schema.find("line"),
            rows,
        })
        .unwrap();
    let rows = vec![
        Row(vec![7.into(), "seven".into()]),
        Row(vec![8.into(), "eight".into()]),
    ];
    database
        .load(Batch {
            table: schema.find("item"),
            rows,
        })
        .unwrap();
    let mut connection = database.connect();
    complete(connection.begin(&ANY)).unwrap();
    (connection, statement, database)
}

/// The declaration's result rows as integers, -1 for NULL.
fn query(declaration: Declaration, parameters: &[i64]) -> Vec<Vec<i64>> {
    let (mut connection, statement, _) = with(declaration);
    let parameters: Vec<Value> = parameters.iter().copied().map(Value::Int).collect();
    let rows = complete(connection.query(statement, &parameters)).unwrap();
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
    let (mut connection, statement, _) =
        with(from("line").key([p(0)]).aggregates([average("l_amount")]));
    let mean = complete(connection.query_one(statement, &[2.into()])).unwrap();
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
    let (mut connection, statement, database) = with(declared);
    let before = database.rows(schema().find("line"));
    let new = complete(connection.query(statement, &[1, 2, 3, 4].map(Value::Int))).unwrap();
    assert_eq!(new, [Row(vec![3.into(), 12.into()])]);
    assert_ne!(database.rows(schema().find("line")), before);
    complete(connection.rollback()).unwrap();
    assert_eq!(database.rows(schema().find("line")), before);

    let (mut connection, statement, database) = with(from("line").key([p(0)]).delete());
    assert_eq!(complete(connection.execute(statement, &[2.into()])), Ok(2));
    complete(connection.commit()).unwrap();
    assert_eq!(database.rows(schema().find("line")).len(), 3);

    let minus = from("line")
        .key([p(0)])
        .update([subtract("l_item", constant(1))]);
    let (mut connection, statement, _) = with(minus);
    assert_eq!(complete(connection.execute(statement, &[1.into()])), Ok(2));
}

#[test]
fn keys_are_unique_where_they_must_be() {
    let (mut connection, statement, _) = with(insert("item"));
    let mut insert_item =
        |id: i64, name: &str| complete(connection.execute(statement, &[id.into(), name.into()]));
    assert!(matches!(insert_item(7, "new"), Err(Error::DuplicateKey(_))));
    assert!(matches!(
        insert_item(9, "seven"),
        Err(Error::DuplicateKey(_))
    ));
    assert_eq!(insert_item(9, "nine"), Ok(1));
    // A table without a key takes the same row twice.
    let (mut connection, statement, database) = with(insert("log"));
    for _ in 0..2 {
        assert_eq!(complete(connection.execute(statement, &[5.into()])), Ok(1));
    }
    assert_eq!(database.rows(schema().find("log")).len(), 2);
}

#[test]
fn a_dropped_connection_rolls_back_and_lets_others_begin() {
    let (mut connection, statement, database) = with(insert("log"));
    complete(connection.execute(statement, &[5.into()])).unwrap();
    drop(connection);
    assert_eq!(database.rows(schema().find("log")).len(), 0);
    let mut other = database.connect();
    assert!(
        matches!(
            complete(other.execute(statement, &[5.into()])),
            Err(Error::Other(_))
        ),
        "not begun"
    );
    complete(other.begin(&ANY)).unwrap();
    assert!(complete(other.begin(&ANY)).is_err(), "begun twice");
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
    /// A range over the secondary index gives what a loop over all rows gives.
    #[test]
    fn ranges_are_those_of_a_loop(
        rows in proptest::collection::btree_map(0i64..20, (0i64..4, 0i64..6), 0..30),
        item in 0i64..4,
        bounds in (0i64..6, 0i64..6),
        inclusive in (any::<bool>(), any::<bool>()),
    ) {
        let schema = schema();
        let mut statements = Statements::new(&schema);
        let mut reached = from("line").index("line_item", [p(0)]);
        reached = if inclusive.0 { reached.at_least(p(1)) } else { reached.above(p(1)) };
        reached = if inclusive.1 { reached.at_most(p(2)) } else { reached.below(p(2)) };
        let statement = statements.add("range", reached.ascending().columns(["l_amount", "l_order"]));
        let database = Reference::new(&schema, &statements.finish());
        let line = |(order, (item, amount)): (&i64, &(i64, i64))| Row([*order, 1, *amount, *item].map(Value::Int).to_vec());
        database.load(Batch { table: schema.find("line"), rows: rows.iter().map(line).collect() }).unwrap();
        let mut connection = database.connect();
        complete(connection.begin(&ANY)).unwrap();
        let found = complete(connection.query(statement, &[item, bounds.0, bounds.1].map(Value::Int))).unwrap();
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
