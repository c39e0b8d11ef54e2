-- How much of the variance lies between classes of intervals and how much within them:
-- Var(L) = Var(E[L | class]) + E[Var(L | class)]. Each class has its part of both; the last two columns are those of all.
WITH by_clock AS (
    SELECT
        class, ticks_per_ns,
        CAST(SUM(intervals) AS DOUBLE) AS n,
        CAST(SUM(inclusive) AS DOUBLE) / CAST(SUM(intervals) AS DOUBLE) / ticks_per_ns AS latency_ns,
        CAST(SUM(intervals) * SUM(inclusive_squared) - SUM(inclusive) * SUM(inclusive) AS DOUBLE)
            / CAST(SUM(intervals) AS DOUBLE) / ticks_per_ns / ticks_per_ns AS variation
    FROM moments
    WHERE class IS NOT NULL AND intervals IS NOT NULL
    GROUP BY class, ticks_per_ns
),
by_class AS (
    SELECT
        class,
        SUM(n) AS n,
        SUM(n * latency_ns) / SUM(n) AS latency_ns,
        SUM(variation) + SUM(n * latency_ns * latency_ns)
            - SUM(n * latency_ns) * SUM(n * latency_ns) / SUM(n) AS variation
    FROM by_clock
    GROUP BY class
),
beside AS (
    SELECT
        class, n, latency_ns, variation,
        SUM(n * latency_ns) OVER () / SUM(n) OVER () AS mean_ns,
        SUM(variation) OVER () AS within_all
    FROM by_class
),
distances AS (
    SELECT
        class, n, latency_ns, variation, within_all,
        n * (latency_ns - mean_ns) * (latency_ns - mean_ns) AS distance
    FROM beside
),
whole AS (
    SELECT
        class, n, latency_ns, variation, distance,
        within_all + SUM(distance) OVER () AS variation_all
    FROM distances
)
SELECT
    class,
    CAST(n AS BIGINT) AS intervals,
    latency_ns AS mean_ns,
    CASE WHEN n > 1 AND variation > 0 THEN SQRT(variation / (n - 1)) ELSE 0 END AS sd_ns,
    CASE WHEN variation_all > 0 THEN variation / variation_all ELSE 0 END AS within_fraction,
    CASE WHEN variation_all > 0 THEN distance / variation_all ELSE 0 END AS between_fraction,
    CASE WHEN variation_all > 0 THEN SUM(variation) OVER () / variation_all ELSE 0 END AS within_all,
    CASE WHEN variation_all > 0 THEN SUM(distance) OVER () / variation_all ELSE 0 END AS between_all
FROM whole
ORDER BY intervals DESC, class
