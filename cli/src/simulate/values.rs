//! Values of arguments.

use std::path::Path;

use evenkeel_locks::{ScheduleKind, Starvation};
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::config::Unit;
use evenkeel_simulate::work::Work;

use crate::output::Failure;
use crate::values;

/// A list of schedules given as one argument.
#[derive(Clone, Debug)]
pub(super) struct Schedules(pub(super) Vec<ScheduleKind>);

/// A starvation policy; ageing is per second (or epoch).
#[derive(Clone, Copy, Debug)]
pub(super) enum Starving {
    As(Starvation),
    Ageing(f64),
}

pub(super) fn schedules(text: &str) -> Result<Schedules, String> {
    if text == "all" {
        return Ok(Schedules(ScheduleKind::ALL.to_vec()));
    }
    text.split(',')
        .map(schedule)
        .collect::<Result<_, _>>()
        .map(Schedules)
}

pub(super) fn schedule(name: &str) -> Result<ScheduleKind, String> {
    ScheduleKind::from_name(name)
        .ok_or_else(|| format!("no schedule `{name}`; there are {}", ScheduleKind::NAMES))
}

pub(super) fn loads(text: &str) -> Result<Axis, String> {
    format!("load={text}").parse()
}

pub(super) fn burst(text: &str) -> Result<(f64, f64), String> {
    let (factor, ms) = text
        .split_once(':')
        .ok_or("write FACTOR:MS, such as 4:50")?;
    Ok((positive(factor)?, positive(ms)?))
}

pub(super) fn starvation(text: &str) -> Result<Starving, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "none" => Ok(Starving::As(Starvation::None)),
        "barrier" => Ok(Starving::As(Starvation::Barrier)),
        "ageing" => positive(value).map(Starving::Ageing),
        "bypass" => {
            let overtakes_max = value
                .parse()
                .map_err(|_| "write bypass:N, N a whole number")?;
            Ok(Starving::As(Starvation::BoundedBypass { overtakes_max }))
        }
        _ => Err("none, barrier, ageing:SIZE_PER_SECOND or bypass:OVERTAKES".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

/// The distribution that `text` describes, or the distribution of the values in the file of this name.
pub(super) fn work(text: &str, unit: Unit) -> Result<Work, Failure> {
    let parts: Vec<&str> = text.split(':').collect();
    let ticks = |text: &str| ticks(text, unit).map_err(Failure::Usage);
    match parts[..] {
        ["constant", value] => Ok(Work::Constant(ticks(value)?)),
        ["exponential", mean] => Ok(Work::Exponential(ticks(mean)?)),
        ["pareto", mean, shape] => {
            let shape = positive(shape).map_err(Failure::Usage)?;
            Ok(Work::Pareto {
                mean: ticks(mean)?,
                shape,
            })
        }
        _ => Ok(Work::read(Path::new(text))?),
    }
}

/// A number of epochs, or a time with its unit.
fn ticks(text: &str, unit: Unit) -> Result<f64, String> {
    if unit == Unit::Epoch {
        return positive(text);
    }
    if text.parse::<f64>().is_ok() {
        return Err(format!("`{text}` needs its unit: ns, us, ms or s"));
    }
    values::duration(text).map(|duration| duration.as_nanos() as f64)
}
