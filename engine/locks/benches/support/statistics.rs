//! Medians and slopes of measurements.

/// The median; sorts `values`.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        0.5 * (values[middle - 1] + values[middle])
    }
}

/// The slope of the least-squares line through points `(x, y)`.
#[allow(dead_code)] // Each benchmark uses a part.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let deviations = points
        .iter()
        .map(|point| (point.0 - mean_x, point.1 - mean_y));
    let (xy, xx) = deviations.fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
    xy / xx
}
