//! Experiments on engines under load, by `evenkeel bench`: what clocks say, so that intervals are over rounds.

pub mod engines;
pub mod hybrid;
pub mod logging;
pub mod memory;
pub mod modifications;
pub mod remaining;
pub mod schedules;
pub mod workers;

use std::time::Duration;

use serde_json::Value;

use crate::Error;
use crate::command::{line, printed, words};
use crate::experiment::{Context, Effort, Finding};
use crate::verdict::{Claim, Verdict};

/// Time of a run in addition to its measurement: its warm-up (at least this, or a fifth), its beginning and its end.
const WARM_UP_S: f64 = 1.0;
const WARM_UP_PART: f64 = 0.2;
const BESIDE_A_RUN_S: f64 = 0.2;
/// Time to set up and check a configuration, and the additional time of each warehouse or server.
const SETTING_UP_S: f64 = 1.5;
const WAREHOUSE_S: f64 = 1.0;
const SERVER_S: f64 = 6.0;
/// Least time in which a saturation is measured, and its part of a run.
const SATURATION_S: f64 = 3.0;
const SATURATION_PART: f64 = 1.0 / 3.0;

/// A quantity of two configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Of {
    Mean,
    Variance,
    P99,
}

impl Of {
    /// Name in the comparison's JSON, and the power that makes it the quantity.
    fn named(self) -> (&'static str, i32) {
        match self {
            Of::Mean => ("mean", 1),
            Of::Variance => ("sd", 2),
            Of::P99 => ("p99", 1),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Of::Mean => "mean",
            Of::Variance => "variance",
            Of::P99 => "p99",
        }
    }
}

/// The paper's claim about a configuration: the factor by which a quantity is lower than the baseline's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    /// Place after the baseline, from 1.
    pub(crate) configuration: usize,
    /// `FCFS over VATS`.
    pub(crate) what: &'a str,
    /// Mean, variance, p99.
    pub(crate) factors: [Option<Factor>; 3],
}

/// A factor as the paper gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Factor {
    /// This factor.
    Of(f64),
    /// More than one: drawn, or said, without a number.
    More,
    /// Not in the paper: the finding is reported without a claim.
    Unsaid,
}

/// All three in numbers.
pub(crate) const fn numbers(mean: f64, variance: f64, p99: f64) -> [Option<Factor>; 3] {
    [
        Some(Factor::Of(mean)),
        Some(Factor::Of(variance)),
        Some(Factor::Of(p99)),
    ]
}

/// Comparisons by `evenkeel bench compare`, each with what the paper says of its configurations. One that cannot be made says why, and
/// the others are made.
pub(crate) fn compared(
    context: &Context<'_>,
    comparisons: &[(&str, &[Said])],
) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut remarks = Vec::new();
    for (at, (command, said)) in comparisons.iter().enumerate() {
        let share = |part: f64| (context.progress)((at as f64 + part) / comparisons.len() as f64);
        let context = Context {
            progress: &share,
            ..*context
        };
        match comparison(&context, command)? {
            Ok((command, json)) => {
                finding.commands.push(command);
                let (claims, lacking) = claims(&json, said);
                finding.claims.extend(claims);
                remarks.extend(lacking);
                remarks.push(itself(&json));
            }
            Err(why) => remarks.push(unsuccessful(command, &why)),
        }
    }
    if finding.claims.is_empty() {
        finding.verdict_without = Some(Verdict::CannotTell);
        finding.failed = true;
    }
    finding.why = remarks.join(" ");
    Ok(finding)
}

/// Why a comparison gave nothing.
pub(crate) fn unsuccessful(command: &str, why: &str) -> String {
    format!("`{command}` gave no result: {}.", why.trim_end_matches('.'))
}

/// Rounds of a comparison, and for how long each configuration is measured in one, s, where its command does not say. With five
/// rounds up to four configurations can be told apart from the baseline measured twice.
fn rounds(effort: Effort) -> (u32, f64) {
    effort.pick((5, 2.5), (12, 30.0))
}

/// Place of a comparison's own options in its command, behind `evenkeel bench compare`.
const BEHIND_COMPARE: usize = 3;

/// A command, with `--rounds` and `--for` where it does not say how many and how long.
fn in_rounds(effort: Effort, command: &str) -> Vec<String> {
    let (rounds, length_s) = rounds(effort);
    let mut words = words(command);
    if behind(&words, "--rounds").is_none() {
        let of_comparison = ["--rounds".to_owned(), rounds.to_string()];
        words.splice(BEHIND_COMPARE..BEHIND_COMPARE, of_comparison);
    }
    if behind(&words, "--for").is_none() {
        words.extend(["--for".to_owned(), format!("{length_s}s")]);
    }
    words
}

/// The value of an option in a command.
fn behind<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let mut pairs = words.windows(2);
    let pair = pairs.find(|pair| pair[0] == name)?;
    Some(&pair[1])
}

/// Duration of comparisons by these commands.
pub(crate) fn takes(effort: Effort, commands: &[&str]) -> Duration {
    commands
        .iter()
        .map(|command| taken(&in_rounds(effort, command)))
        .sum()
}

/// Duration of a comparison, from the number and length of rounds in its command.
fn taken(words: &[String]) -> Duration {
    let number = |name: &str| -> Option<f64> {
        let number = behind(words, name)?.trim_end_matches('s').parse();
        number.ok()
    };
    let (rounds, length_s) = (
        number("--rounds").unwrap_or_default(),
        number("--for").unwrap_or_default(),
    );
    let own: Vec<&String> = words
        .windows(2)
        .filter(|pair| pair[0] == "--with")
        .map(|pair| &pair[1])
        .collect();
    let common_server = behind(words, "--target").is_some();
    let servers = own
        .iter()
        .filter(|own| common_server || own.contains("--target"))
        .count() as f64;
    let (configurations, warehouses) = (own.len() as f64, number("--scale").unwrap_or(1.0));
    let run_s = |length_s: f64| length_s + WARM_UP_S.max(WARM_UP_PART * length_s) + BESIDE_A_RUN_S;
    let set_up_s = SETTING_UP_S + WAREHOUSE_S * warehouses;
    // The baseline is measured twice; the saturation is measured on a separate store.
    let saturation_s = if behind(words, "--load").is_some() {
        set_up_s + run_s(SATURATION_S.max(SATURATION_PART * length_s))
    } else {
        0.0
    };
    let round_s = (configurations + 1.0) * run_s(length_s) + saturation_s;
    let all_s = rounds * round_s
        + (configurations + 1.0) * set_up_s
        + (servers + 1.0) * SERVER_S * f64::from(u8::from(servers > 0.0));
    Duration::from_secs_f64(all_s)
}

/// A comparison with as many and as long rounds as the effort allows.
///
/// Returns the command as it was run with what it printed, or why it printed nothing.
pub(crate) fn comparison(
    context: &Context<'_>,
    command: &str,
) -> Result<Result<(String, Value), String>, Error> {
    let mut words = in_rounds(context.effort, command);
    let expected = taken(&words);
    words.insert(BEHIND_COMPARE, "--json".to_owned());
    let answer = printed(context, &words, expected)?;
    Ok(answer.map(|json| (line(&words), json)))
}

/// The claims, and what else there is to say: what is missing for others, and what the paper does not have.
fn claims(json: &Value, said: &[Said]) -> (Vec<Claim>, Vec<String>) {
    let (mut claims, mut remarks) = (Vec::new(), Vec::new());
    for one in said {
        // After the baseline comes its repetition.
        let configuration = &json["configurations"][one.configuration + 1];
        let of = [Of::Mean, Of::Variance, Of::P99].into_iter();
        for (of, factor) in of.zip(one.factors) {
            let Some(factor) = factor else { continue };
            let what = format!("{}, {}", one.what, of.words());
            match (ratio(configuration, of), factor) {
                (Some((found, interval)), Factor::Of(paper)) => {
                    claims.push(Claim::factor(what, paper, found, interval));
                }
                (Some((found, interval)), Factor::More) => {
                    claims.push(Claim::more(what, found, interval));
                }
                (Some((found, [low, high])), Factor::Unsaid) => remarks.push(format!(
                    "Not in the paper: {what} {found:.2} ({low:.2} to {high:.2})."
                )),
                (None, _) => remarks.push(format!(
                    "No result for {what}: the queue of one of the two still grew at the end."
                )),
            }
        }
        if configuration["consistency"].is_array() {
            remarks.push(format!(
                "The data under {} were wrong at the end: {}.",
                configuration["name"], configuration["consistency"]
            ));
        }
    }
    (claims, remarks)
}

/// The baseline over a configuration, with its interval, which reaches 1 if the two are not told apart from the baseline measured
/// twice.
pub(crate) fn ratio(configuration: &Value, of: Of) -> Option<(f64, [f64; 2])> {
    let (name, power) = of.named();
    let ratio = &configuration["ratio"][name];
    let over = |end: &str| ratio[end].as_f64().map(|ratio| ratio.powi(-power));
    let (found, high, low) = (over("median")?, over("low")?, over("high")?);
    Some(if ratio["told_apart"] == Value::Bool(true) {
        (found, [low, high])
    } else {
        (found, [low.min(1.0), high.max(1.0)])
    })
}

/// The baseline compared with itself: the noise.
pub(crate) fn itself(json: &Value) -> String {
    let again = &json["configurations"][1];
    let number = |of: Of| match ratio(again, of) {
        Some((found, _)) => format!("{} {found:.2}", of.words()),
        None => format!("{} unknown", of.words()),
    };
    format!(
        "Noise, `{}` against itself: {}, {}.",
        json["configurations"][0]["name"].as_str().unwrap_or("?"),
        number(Of::Mean),
        number(Of::P99)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measured(told_apart: bool) -> Value {
        let of = |median: f64| json!({"median": median, "low": 0.9 * median, "high": 1.1 * median, "told_apart": told_apart});
        let ratio = json!({"mean": of(0.5), "sd": of(0.5), "p99": Value::Null});
        json!({"configurations": [
            {"name": "--schedule fifo", "ratio": null},
            {"name": "--schedule fifo (again)", "ratio": ratio},
            {"name": "--schedule vats", "ratio": ratio, "consistency": "ok"},
        ]})
    }

    fn said(factors: [Option<Factor>; 3]) -> [Said<'static>; 1] {
        [Said {
            configuration: 1,
            what: "FIFO over VATS",
            factors,
        }]
    }

    /// Three runs of 6 s with 1.2 s before and 0.2 s beside, eight times; and what is set up.
    #[test]
    fn a_command_may_say_its_rounds() {
        let command = "evenkeel bench compare --rounds 8 --with a --with b tpcc --for 6s";
        let words = in_rounds(Effort::Full, command);
        assert_eq!(line(&words), command);
        assert_eq!(taken(&words).as_secs_f64().round(), 185.0);
        let by_effort = in_rounds(Effort::Quick, "evenkeel bench compare --with a tpcc");
        let command = "evenkeel bench compare --rounds 5 --with a tpcc --for 2.5s";
        assert_eq!(line(&by_effort), command);
    }

    #[test]
    fn a_factor_is_the_baseline_over_the_configuration() {
        let (claims, lacking) = claims(&measured(true), &said(numbers(2.0, 8.0, 2.0)));
        let [mean, variance] = &claims[..] else {
            panic!("{claims:?}")
        };
        assert_eq!((mean.found, mean.verdict), (2.0, Verdict::Agrees));
        assert!(
            mean.low < 2.0 && mean.low > 1.8 && mean.high > 2.2,
            "{mean:?}"
        );
        // The standard deviation is halved, the variance a quarter.
        assert_eq!(variance.found, 4.0);
        assert!(lacking[0].contains("p99"), "{lacking:?}");
    }

    #[test]
    fn an_unproven_difference_is_no_sure_effect() {
        let (claims, _) = claims(&measured(false), &said(numbers(2.0, 8.0, 2.0)));
        assert_eq!(claims[0].low, 1.0);
        assert_ne!(claims[0].verdict, Verdict::Differs);
        assert_eq!(claims[1].verdict, Verdict::CannotTell, "{:?}", claims[1]);
    }

    #[test]
    fn a_missing_number_of_the_paper_makes_no_claim() {
        let (claims, remarks) = claims(&measured(true), &said([Some(Factor::Unsaid); 3]));
        assert!(claims.is_empty(), "{claims:?}");
        assert_eq!(
            remarks[0],
            "Not in the paper: FIFO over VATS, mean 2.00 (1.82 to 2.22)."
        );
    }

    #[test]
    fn the_noise_is_reported() {
        let text = itself(&measured(false));
        assert_eq!(
            text,
            "Noise, `--schedule fifo` against itself: mean 2.00, p99 unknown."
        );
    }
}
