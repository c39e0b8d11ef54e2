-- Which call paths make the latency vary: of each its share of the variance, Cov(X, L) / Var(L), over all hosts, builds and days.
-- Shares of the parts of a node add up to the node's, and the interval's own is 1. "part" is all (the call with everything below it)
-- or own (its time outside of timed calls).
--
-- Sums are integers in ticks; clocks of different speed are summed apart, and then taken together: a co-moment of all is the sum of
-- the groups' and of what lies between their means.
WITH clocks AS (
    SELECT
        ticks_per_ns,
        SUM(intervals) AS n,
        SUM(inclusive) AS latency,
        CAST(SUM(inclusive) AS DOUBLE) / CAST(SUM(intervals) AS DOUBLE) / ticks_per_ns AS latency_ns
    FROM moments
    WHERE class IS NULL AND intervals IS NOT NULL
    GROUP BY ticks_per_ns
),
whole AS (
    SELECT
        CAST(SUM(n) AS DOUBLE) AS n,
        SUM(CAST(n AS DOUBLE) * latency_ns) / CAST(SUM(n) AS DOUBLE) AS latency_ns
    FROM clocks
),
names AS (
    SELECT
        node,
        MIN(path) AS path,
        MIN(own_name) AS own_name,
        MIN(depth) AS depth,
        MAX(CASE WHEN has_children THEN 1 ELSE 0 END) AS has_children
    FROM nodes
    GROUP BY node
),
sums AS (
    SELECT
        ticks_per_ns, node,
        SUM(inclusive) AS x_all, SUM(inclusive_squared) AS xx_all, SUM(inclusive_latency) AS xl_all,
        SUM(exclusive) AS x_own, SUM(exclusive_squared) AS xx_own, SUM(exclusive_latency) AS xl_own,
        SUM(calls) AS calls
    FROM moments
    WHERE class IS NULL AND other IS NULL
    GROUP BY ticks_per_ns, node
),
parts AS (
    SELECT ticks_per_ns, node, 'all' AS part, x_all AS x, xx_all AS xx, xl_all AS xl, calls FROM sums
    UNION ALL
    SELECT s.ticks_per_ns, s.node, 'own' AS part, s.x_own AS x, s.xx_own AS xx, s.xl_own AS xl, s.calls
    FROM sums AS s JOIN names AS t ON t.node = s.node
    WHERE t.has_children = 1
),
by_clock AS (
    SELECT
        p.node, p.part,
        CAST(c.n AS DOUBLE) AS n,
        c.latency_ns,
        CAST(p.x AS DOUBLE) / CAST(c.n AS DOUBLE) / c.ticks_per_ns AS x_ns,
        CAST(c.n * p.xx - p.x * p.x AS DOUBLE) / CAST(c.n AS DOUBLE) / c.ticks_per_ns / c.ticks_per_ns AS variation,
        CAST(c.n * p.xl - p.x * c.latency AS DOUBLE) / CAST(c.n AS DOUBLE) / c.ticks_per_ns / c.ticks_per_ns AS covariation,
        CAST(p.calls AS DOUBLE) AS calls
    FROM parts AS p JOIN clocks AS c ON c.ticks_per_ns = p.ticks_per_ns
),
together AS (
    SELECT
        b.node, b.part,
        MAX(w.n) AS n,
        SUM(b.n * b.x_ns) / MAX(w.n) AS x_ns,
        SUM(b.variation) + SUM(b.n * b.x_ns * b.x_ns)
            - SUM(b.n * b.x_ns) * SUM(b.n * b.x_ns) / MAX(w.n) AS variation,
        SUM(b.covariation) + SUM(b.n * b.x_ns * b.latency_ns)
            - SUM(b.n * b.x_ns) * MAX(w.latency_ns) AS covariation,
        SUM(b.calls) / MAX(w.n) AS calls
    FROM by_clock AS b CROSS JOIN whole AS w
    GROUP BY b.node, b.part
),
root AS (
    SELECT t.variation
    FROM together AS t JOIN names AS s ON s.node = t.node
    WHERE s.depth = 0 AND t.part = 'all'
)
SELECT
    s.path,
    t.part,
    CASE WHEN t.part = 'all' THEN s.path ELSE s.own_name END AS name,
    t.x_ns AS mean_ns,
    CASE WHEN t.n > 1 AND t.variation > 0 THEN SQRT(t.variation / (t.n - 1)) ELSE 0 END AS sd_ns,
    CASE WHEN r.variation > 0 THEN t.variation / r.variation ELSE 0 END AS variance_fraction,
    CASE WHEN r.variation > 0 THEN t.covariation / r.variation ELSE 0 END AS share,
    CASE WHEN s.depth = 0 AND t.part = 'all' THEN 1 ELSE t.calls END AS calls_mean
FROM together AS t
JOIN names AS s ON s.node = t.node
CROSS JOIN root AS r
ORDER BY share DESC, s.path, t.part
