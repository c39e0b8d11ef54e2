//! Predictability of engines: figure 1.1.

use serde_json::Value;

use super::{comparison, unsuccessful};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Claim;

const COMMAND: &str = "evenkeel bench compare --with '--target postgres' --with '--target mariadb' --with '--target sqlite' --with '--target embedded' tpcc --clients 16 --round-trip 500us --no-check";
/// Orders of magnitude.
const ORDER: f64 = 10.0;

/// Figure 1.1.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-1.1",
    item: "Figure 1.1, mean, standard deviation and 99th percentile of three engines",
    says: "Orders of magnitude lie between the mean and high percentiles of MySQL, Postgres and VoltDB.",
    method: "Standard deviation and p99 over the mean. TPC-C with one warehouse and 16 clients in a closed loop, with round trips of 500 us. The interval spans all rounds. Each system has its default isolation: PostgreSQL read committed, MariaDB repeatable read, SQLite and the embedded store serializable. VoltDB is not among them: it is loaded by figure-3.1-voltdb alone.",
    command: COMMAND,
    takes: |effort| super::takes(effort, &[COMMAND]),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let (command, json) = match comparison(context, COMMAND)? {
        Ok(compared) => compared,
        Err(why) => return Ok(Finding::failed(&unsuccessful(COMMAND, &why))),
    };
    let engines = json["configurations"].as_array().into_iter().flatten();
    let claims = engines
        .filter(|engine| engine["aa"] != Value::Bool(true))
        .flat_map(|engine| {
            let name = engine["target"].as_str().unwrap_or("?").to_owned();
            [
                ("p99_ns", "p99", ORDER),
                ("sd_ns", "standard deviation", 1.0),
            ]
            .into_iter()
            .filter_map(move |(field, words, paper)| {
                let over = over_mean(engine, field)?;
                Some(claim(format!("{name}, {words} over mean"), paper, over))
            })
        });
    Ok(Finding {
        claims: claims.collect(),
        commands: vec![command],
        why: "The paper's figure has bars without numbers; `orders of magnitude` is taken as ten."
            .to_owned(),
        ..Finding::default()
    })
}

fn claim(what: String, paper: f64, [low, middle, high]: [f64; 3]) -> Claim {
    if paper > 1.0 {
        Claim::factor(what, paper, middle, [low, high])
    } else {
        Claim::more(what, middle, [low, high])
    }
}

/// Least, median and greatest over rounds of a quantity over the mean.
fn over_mean(engine: &Value, field: &str) -> Option<[f64; 3]> {
    let values = |name: &str| {
        let rounds = engine["values"][name].as_array()?;
        rounds
            .iter()
            .map(Value::as_f64)
            .collect::<Option<Vec<f64>>>()
    };
    let means = values("mean_ns")?;
    let mut over: Vec<f64> = values(field)?
        .iter()
        .zip(means)
        .map(|(value, mean)| value / mean)
        .collect();
    over.sort_by(f64::total_cmp);
    Some([*over.first()?, over[over.len() / 2], *over.last()?])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quantity_is_related_to_the_mean_of_its_round() {
        let engine = json!({"values": {"mean_ns": [2.0, 4.0, 1.0], "p99_ns": [20.0, 4.0, 5.0]}});
        assert_eq!(over_mean(&engine, "p99_ns"), Some([1.0, 5.0, 10.0]));
        assert_eq!(over_mean(&engine, "sd_ns"), None);
    }
}
