//! Inputs of clients: the mix, the inputs of each transaction, and the law of items.

use std::collections::BTreeSet;

use evenkeel_workloads::interface::Workload;
use evenkeel_workloads::tpcc::{CustomerBy, Line, Mix, NewOrder, Request, Scale, Tpcc};

use super::SMALL;
use crate::assert_fraction;

const DRAWS: usize = 40_000;

fn drawn() -> (Tpcc, Vec<Request>) {
    let tpcc = Tpcc::new(Scale::full(4), Mix::Standard, 11);
    let mut terminal = tpcc.client(0);
    let requests = (0..DRAWS).map(|_| tpcc.next(&mut terminal)).collect();
    (tpcc, requests)
}

#[test]
fn transactions_are_drawn_as_often_as_the_specification_asks() {
    let (tpcc, requests) = drawn();
    for (kind, transaction) in tpcc.transactions().iter().enumerate() {
        let count = requests
            .iter()
            .filter(|request| tpcc.transaction_type(request) == kind)
            .count();
        assert_fraction(transaction.name, count, DRAWS, transaction.fraction);
    }
}

#[test]
fn orders_follow_the_specification() {
    let (_, requests) = drawn();
    let orders = requests.iter().filter_map(|request| match request {
        Request::NewOrder(order) => Some(order),
        _ => None,
    });
    let orders: Vec<&NewOrder> = orders.collect();
    let lines: Vec<&Line> = orders.iter().flat_map(|order| &order.lines).collect();
    let invalid = |order: &&&NewOrder| order.lines.iter().any(|line| line.i > 100_000);
    assert_fraction(
        "rolled back",
        orders.iter().filter(invalid).count(),
        orders.len(),
        0.01,
    );
    for order in orders.iter().filter(invalid) {
        let (last, before) = order.lines.split_last().unwrap();
        assert!(last.i == 100_001 && before.iter().all(|line| line.i <= 100_000));
    }
    let remote = orders
        .iter()
        .flat_map(|order| {
            order
                .lines
                .iter()
                .filter(|line| line.supply_w != order.at.w)
        })
        .count();
    assert_fraction("remote lines", remote, lines.len(), 0.01);
    for count in 5..=15 {
        let with = orders
            .iter()
            .filter(|order| order.lines.len() == count)
            .count();
        assert_fraction(
            &format!("orders of {count} lines"),
            with,
            orders.len(),
            1.0 / 11.0,
        );
    }
    for d in 1..=10 {
        let there = orders.iter().filter(|order| order.at.d == d).count();
        assert_fraction(&format!("orders in district {d}"), there, orders.len(), 0.1);
    }
    assert!(orders.iter().all(
        |order| order.all_local() == order.lines.iter().all(|line| line.supply_w == order.at.w)
    ));
}

#[test]
fn payments_follow_the_specification() {
    let (_, requests) = drawn();
    let payments = requests.iter().filter_map(|request| match request {
        Request::Payment(payment) => Some(payment),
        _ => None,
    });
    let payments: Vec<_> = payments.collect();
    let remote = payments
        .iter()
        .filter(|payment| payment.customer_at.w != payment.at.w)
        .count();
    assert_fraction("remote payments", remote, payments.len(), 0.15);
    assert!(
        payments
            .iter()
            .all(|payment| payment.customer_at.w != payment.at.w
                || payment.customer_at == payment.at)
    );
    let by_name = payments
        .iter()
        .filter(|payment| matches!(payment.customer, CustomerBy::LastName(_)))
        .count();
    assert_fraction("payments by last name", by_name, payments.len(), 0.6);
    assert!(
        payments
            .iter()
            .all(|payment| (100..=500_000).contains(&payment.amount))
    );
}

/// The exact law of NURand(8191, 1, 100000) with C = 0, as the probability of each value less 1.
///
/// A value r = 8192 h + l becomes 8192 h + v if v is the bitwise or of l and a. For each v that contains the bits of
/// l, 2^(ones of l) of the 8192 values of a do that. The sum over all l contained in v is taken bit by bit.
fn item_law() -> Vec<f64> {
    let mut law = vec![0.0; 100_000];
    for high in 0..=100_000 / 8192 {
        let mut ways: Vec<f64> = (0..8192usize)
            .map(|low| {
                if (1..=100_000).contains(&(high * 8192 + low)) {
                    f64::from(1 << low.count_ones())
                } else {
                    0.0
                }
            })
            .collect();
        for bit in 0..13 {
            for v in (0..8192).filter(|v| v >> bit & 1 == 1) {
                ways[v] += ways[v ^ (1 << bit)];
            }
        }
        for (v, ways) in ways.into_iter().enumerate() {
            law[(high * 8192 + v) % 100_000] += ways / (8192.0 * 100_000.0);
        }
    }
    law
}

#[test]
fn items_follow_nurand() {
    let law = item_law();
    assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let mut by_popularity: Vec<usize> = (0..law.len()).collect();
    by_popularity.sort_by(|&a, &b| law[b].total_cmp(&law[a]));
    let tpcc = Tpcc::new(Scale::full(1), Mix::Standard, 3);
    let mut terminal = tpcc.client(0);
    let mut drawn = Vec::new();
    while drawn.len() < 100_000 {
        if let Request::NewOrder(order) = tpcc.next(&mut terminal) {
            drawn.extend(
                order
                    .lines
                    .iter()
                    .filter(|line| line.i <= 100_000)
                    .map(|line| line.i),
            );
        }
    }
    // Without the constant: the values before it was added.
    let plain = |i: i64| (i - 1 - tpcc.constants().item).rem_euclid(100_000) as usize;
    for most in [100, 1000, 10_000] {
        let popular: BTreeSet<usize> = by_popularity[..most].iter().copied().collect();
        let probability = popular.iter().map(|&value| law[value]).sum();
        let count = drawn
            .iter()
            .filter(|&&i| popular.contains(&plain(i)))
            .count();
        assert_fraction(
            &format!("the {most} most popular items"),
            count,
            drawn.len(),
            probability,
        );
    }
}

#[test]
fn one_warehouse_has_no_remote_lines_or_payments() {
    let tpcc = Tpcc::new(
        Scale {
            warehouses: 1,
            ..SMALL
        },
        Mix::Standard,
        2,
    );
    let mut terminal = tpcc.client(0);
    for _ in 0..5000 {
        match tpcc.next(&mut terminal) {
            Request::NewOrder(order) => assert!(order.all_local()),
            Request::Payment(payment) => assert_eq!(payment.customer_at, payment.at),
            _ => {}
        }
    }
}
