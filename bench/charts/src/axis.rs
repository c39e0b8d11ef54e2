//! From values to places on an axis, and the round values that are written along it.

/// Labels along an axis, about.
const TICKS: f64 = 8.0;
/// Ratio of the greatest to the smallest value from which on [`Axis::covering`] is logarithmic.
const LOGARITHMIC_FROM: f64 = 20.0;

/// From values to places on one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// From the first value to the second.
    Linear(f64, f64),
    /// From one power of ten to another.
    Logarithmic(i32, i32),
}

impl Axis {
    /// From zero to a round number that is not below the greatest value.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Axis {
        let greatest = values.fold(0.0, f64::max).max(1e-9);
        let step = round_step(greatest);
        Axis::Linear(0.0, (greatest / step).ceil() * step)
    }

    /// From the smallest value to the greatest.
    pub fn between(values: impl Iterator<Item = f64>) -> Axis {
        let (least, greatest) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, value| {
            (ends.0.min(value), ends.1.max(value))
        });
        if least < greatest {
            Axis::Linear(least, greatest)
        } else {
            Axis::Linear(0.0, 1.0)
        }
    }

    /// The decades in which the values above zero lie.
    pub fn decades(values: impl Iterator<Item = f64>) -> Axis {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|&value| value > 0.0) {
            (least, greatest) = (least.min(value), greatest.max(value));
        }
        if greatest <= 0.0 {
            return Axis::Logarithmic(0, 1);
        }
        let low = least.log10().floor() as i32;
        Axis::Logarithmic(low, (greatest.log10().ceil() as i32).max(low + 1))
    }

    /// From zero, or where values spread over more than a factor of twenty, the decades they lie in.
    pub fn covering(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let positive = values.clone().filter(|&value| value > 0.0);
        let least = positive.fold(f64::INFINITY, f64::min);
        let greatest = values.clone().fold(0.0, f64::max);
        if least.is_finite() && greatest > LOGARITHMIC_FROM * least {
            Axis::decades(values)
        } else {
            Axis::from_zero(values)
        }
    }

    /// 0 at its beginning, 1 at its end.
    pub fn place(self, value: f64) -> f64 {
        let (value, low, high) = match self {
            Axis::Linear(low, high) => (value, low, high),
            Axis::Logarithmic(low, high) => (value.max(1e-300).log10(), low.into(), high.into()),
        };
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Round values along it.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Axis::Linear(low, high) => {
                let step = round_step(high - low);
                let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
                (first..=last).map(|at| at as f64 * step).collect()
            }
            Axis::Logarithmic(low, high) => (low..=high).map(|power| 10f64.powi(power)).collect(),
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that about [`TICKS`] of it make up `length`.
fn round_step(length: f64) -> f64 {
    let power = 10f64.powf((length / TICKS).log10().floor());
    let times = length / TICKS / power;
    power
        * if times <= 1.0 {
            1.0
        } else if times <= 2.0 {
            2.0
        } else if times <= 5.0 {
            5.0
        } else {
            10.0
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_that_cover_the_values() {
        let axis = Axis::from_zero([3.0, 37.0].into_iter());
        assert_eq!(axis, Axis::Linear(0.0, 40.0));
        assert_eq!(
            axis.ticks(),
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]
        );
        let axis = Axis::decades([0.0, 2.0, 900.0].into_iter());
        assert_eq!((axis, axis.place(1000.0)), (Axis::Logarithmic(0, 3), 1.0));
        assert_eq!(Axis::decades(std::iter::empty()), Axis::Logarithmic(0, 1));
        assert_eq!(Axis::decades([10.0].into_iter()), Axis::Logarithmic(1, 2));
        assert_eq!(
            Axis::Linear(-2.0, 6.0).ticks(),
            [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
    }

    #[test]
    fn values_far_apart_have_a_logarithmic_axis() {
        assert_eq!(
            Axis::covering([3.0, 47.0].into_iter()),
            Axis::Linear(0.0, 50.0)
        );
        assert_eq!(
            Axis::covering([2.0, 900.0].into_iter()),
            Axis::Logarithmic(0, 3)
        );
    }

    #[test]
    fn a_single_value_has_an_axis_too() {
        assert_eq!(Axis::between([5.0].into_iter()), Axis::Linear(0.0, 1.0));
        assert_eq!(Axis::between(std::iter::empty()), Axis::Linear(0.0, 1.0));
        assert_eq!(
            Axis::between([5.0, 2.0].into_iter()),
            Axis::Linear(2.0, 5.0)
        );
    }
}
