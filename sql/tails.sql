-- Of the time by which the slowest intervals exceed the mean, how much is spent where:
-- (E[X | L >= q] - E[X]) / (E[L | L >= q] - E[L]) for the 95th, 99th and 99.9th percentile.
-- The tail begins at the boundary of the histogram's buckets (1.6 % wide) that is next below the percentile. Clocks of different speed, exported
-- one by one, have bounds of their own: the tail may then begin as much earlier or later as a bucket is wide.
WITH latencies AS (
    SELECT
        i.run, i.day, i.host, i.interval,
        i.ticks_per_ns,
        COALESCE(i.weight, 1) AS weight,
        CAST(i.latency_ticks AS DOUBLE) / i.ticks_per_ns AS latency_ns,
        CAST(i.bucket_ticks AS DOUBLE) / i.ticks_per_ns AS bucket_ns
    FROM intervals AS i
),
buckets AS (
    SELECT bucket_ns, SUM(weight) AS intervals, SUM(weight * latency_ns) AS latency_ns
    FROM latencies
    GROUP BY bucket_ns
),
ranks AS (
    SELECT
        bucket_ns,
        SUM(intervals) OVER (ORDER BY bucket_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        SUM(intervals) OVER () AS n
    FROM buckets
),
quantiles AS (
    SELECT 'p95' AS tail, CAST('0.95' AS DOUBLE) AS quantile
    UNION ALL SELECT 'p99' AS tail, CAST('0.99' AS DOUBLE) AS quantile
    UNION ALL SELECT 'p999' AS tail, CAST('0.999' AS DOUBLE) AS quantile
),
thresholds AS (
    SELECT q.tail, MIN(r.bucket_ns) AS threshold_ns
    FROM quantiles AS q CROSS JOIN ranks AS r
    WHERE CAST(r.reached AS DOUBLE) >= CEIL(q.quantile * CAST(r.n AS DOUBLE))
    GROUP BY q.tail
),
totals AS (
    SELECT
        t.tail,
        MIN(t.threshold_ns) AS threshold_ns,
        CAST(SUM(b.intervals) AS DOUBLE) AS n,
        SUM(b.latency_ns) AS latency_ns,
        CAST(SUM(CASE WHEN b.bucket_ns >= t.threshold_ns THEN b.intervals ELSE 0 END) AS DOUBLE) AS tail_n,
        SUM(CASE WHEN b.bucket_ns >= t.threshold_ns THEN b.latency_ns ELSE 0 END) AS tail_latency_ns
    FROM thresholds AS t CROSS JOIN buckets AS b
    GROUP BY t.tail
),
names AS (
    SELECT
        node,
        MIN(path) AS path,
        MIN(own_name) AS own_name,
        MAX(CASE WHEN has_children THEN 1 ELSE 0 END) AS has_children
    FROM nodes
    GROUP BY node
),
spent AS (
    SELECT
        s.node,
        l.bucket_ns,
        SUM(l.weight * CAST(s.inclusive_ticks AS DOUBLE) / l.ticks_per_ns) AS inclusive_ns,
        SUM(l.weight * CAST(s.exclusive_ticks AS DOUBLE) / l.ticks_per_ns) AS exclusive_ns
    FROM times AS s
    JOIN latencies AS l
        ON l.run = s.run AND l.interval = s.interval AND l.day = s.day AND l.host = s.host
    GROUP BY s.node, l.bucket_ns
),
parts AS (
    SELECT node, 'all' AS part, bucket_ns, inclusive_ns AS x_ns FROM spent
    UNION ALL
    SELECT s.node, 'own' AS part, s.bucket_ns, s.exclusive_ns AS x_ns
    FROM spent AS s JOIN names AS t ON t.node = s.node
    WHERE t.has_children = 1
),
by_tail AS (
    SELECT
        t.tail, p.node, p.part,
        SUM(p.x_ns) AS x_ns,
        SUM(CASE WHEN p.bucket_ns >= t.threshold_ns THEN p.x_ns ELSE 0 END) AS tail_x_ns
    FROM parts AS p CROSS JOIN thresholds AS t
    GROUP BY t.tail, p.node, p.part
)
SELECT
    b.tail,
    s.path,
    b.part,
    CASE WHEN b.part = 'all' THEN s.path ELSE s.own_name END AS name,
    t.threshold_ns,
    t.tail_n AS intervals,
    b.tail_x_ns / t.tail_n AS tail_mean_ns,
    b.x_ns / t.n AS mean_ns,
    (b.tail_x_ns / t.tail_n - b.x_ns / t.n) / (t.tail_latency_ns / t.tail_n - t.latency_ns / t.n) AS tail_share
FROM by_tail AS b
JOIN totals AS t ON t.tail = b.tail
JOIN names AS s ON s.node = b.node
WHERE t.tail_latency_ns / t.tail_n > t.latency_ns / t.n
ORDER BY b.tail, tail_share DESC, s.path, b.part
