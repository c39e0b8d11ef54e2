-- Who differs from the others, and in what: of each host, build, class and period the latency beside that of all others of its kind
-- together, and the call paths whose own time makes up most of the difference of the means. The kind is the column "dimension": ask for one of
-- them with SELECT * FROM (this query) WHERE dimension = 'host', and the others are not computed.
-- Of the periods, "after" begins when the newest build was first seen; with a single build, with the last day. For any other moment, write it
-- as "begins".
-- The boundary is named before the moments that it is joined to: of a join without a condition DataFusion keeps the first table, and makes a batch of
-- each of its rows.
-- z is the difference in standard errors; beyond 3, and with hundreds of members beyond 4, it is hardly chance.
WITH builds AS (
    SELECT build, MIN(minute) AS first_minute FROM moments GROUP BY build
),
boundary AS (
    SELECT CASE
        WHEN (SELECT COUNT(*) FROM builds) > 1 THEN (SELECT MAX(first_minute) FROM builds)
        ELSE (SELECT DATE_TRUNC('day', MAX(minute)) FROM moments)
    END AS begins
),
members AS (
    SELECT 'host' AS dimension, host AS member,
        ticks_per_ns, node, intervals, inclusive, inclusive_squared, exclusive
    FROM moments
    WHERE class IS NULL AND other IS NULL
    UNION ALL
    SELECT 'build' AS dimension, build AS member,
        ticks_per_ns, node, intervals, inclusive, inclusive_squared, exclusive
    FROM moments
    WHERE class IS NULL AND other IS NULL
    UNION ALL
    SELECT 'class' AS dimension, class AS member,
        ticks_per_ns, node, intervals, inclusive, inclusive_squared, exclusive
    FROM moments
    WHERE class IS NOT NULL AND other IS NULL
    UNION ALL
    SELECT 'period' AS dimension, CASE WHEN minute >= begins THEN 'after' ELSE 'before' END AS member,
        ticks_per_ns, node, intervals, inclusive, inclusive_squared, exclusive
    FROM boundary CROSS JOIN moments
    WHERE class IS NULL AND other IS NULL
),
clocks AS (
    SELECT
        dimension, member, ticks_per_ns,
        CAST(SUM(intervals) AS DOUBLE) AS n,
        CAST(SUM(inclusive) AS DOUBLE) / CAST(SUM(intervals) AS DOUBLE) / ticks_per_ns AS latency_ns,
        CAST(SUM(intervals) * SUM(inclusive_squared) - SUM(inclusive) * SUM(inclusive) AS DOUBLE)
            / CAST(SUM(intervals) AS DOUBLE) / ticks_per_ns / ticks_per_ns AS variation
    FROM members
    WHERE intervals IS NOT NULL
    GROUP BY dimension, member, ticks_per_ns
),
totals AS (
    SELECT
        dimension, member,
        SUM(n) AS n,
        SUM(n * latency_ns) AS total_ns,
        SUM(variation) + SUM(n * latency_ns * latency_ns) AS squares
    FROM clocks
    GROUP BY dimension, member
),
beside AS (
    SELECT
        dimension, member, n, total_ns, squares,
        SUM(n) OVER (PARTITION BY dimension) - n AS others_n,
        SUM(total_ns) OVER (PARTITION BY dimension) - total_ns AS others_total_ns,
        SUM(squares) OVER (PARTITION BY dimension) - squares AS others_squares
    FROM totals
),
latencies AS (
    SELECT
        dimension, member, n, others_n,
        total_ns / n AS mean_ns,
        (squares - total_ns * total_ns / n) / (n - 1) AS variance_ns2,
        others_total_ns / others_n AS others_mean_ns,
        (others_squares - others_total_ns * others_total_ns / others_n) / (others_n - 1) AS others_variance_ns2
    FROM beside
    WHERE n > 1 AND others_n > 1
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
own AS (
    SELECT dimension, member, node, SUM(CAST(exclusive AS DOUBLE) / ticks_per_ns) AS x_ns
    FROM members
    GROUP BY dimension, member, node
),
-- Every path of every member: one that it never takes has no row of it.
all_own AS (
    SELECT l.dimension, l.member, p.node, p.all_x_ns, COALESCE(o.x_ns, 0) AS x_ns
    FROM latencies AS l
    JOIN (SELECT dimension, node, SUM(x_ns) AS all_x_ns FROM own GROUP BY dimension, node) AS p ON p.dimension = l.dimension
    LEFT JOIN own AS o ON o.dimension = l.dimension AND o.member = l.member AND o.node = p.node
),
differences AS (
    SELECT
        l.dimension, l.member, o.node,
        o.x_ns / l.n AS x_ns,
        (o.all_x_ns - o.x_ns) / l.others_n AS others_x_ns,
        l.mean_ns - l.others_mean_ns AS difference_ns
    FROM all_own AS o JOIN latencies AS l ON l.dimension = o.dimension AND l.member = o.member
),
ranked AS (
    SELECT
        dimension, member, node, x_ns, others_x_ns, difference_ns,
        ROW_NUMBER() OVER (PARTITION BY dimension, member ORDER BY ABS(x_ns - others_x_ns) DESC, node) AS nth
    FROM differences
)
SELECT
    l.dimension,
    l.member,
    CAST(l.n AS BIGINT) AS intervals,
    l.mean_ns,
    SQRT(l.variance_ns2) AS sd_ns,
    l.others_mean_ns,
    SQRT(l.others_variance_ns2) AS others_sd_ns,
    CASE WHEN l.variance_ns2 + l.others_variance_ns2 > 0
        THEN (l.mean_ns - l.others_mean_ns) / SQRT(l.variance_ns2 / l.n + l.others_variance_ns2 / l.others_n)
    END AS z,
    CAST(r.nth AS BIGINT) AS place,
    CASE WHEN s.has_children = 1 THEN s.own_name ELSE s.path END AS name,
    s.path,
    r.x_ns AS own_ns,
    r.others_x_ns AS others_own_ns,
    CASE WHEN r.difference_ns <> 0 THEN (r.x_ns - r.others_x_ns) / r.difference_ns END AS part_of_difference
FROM ranked AS r
JOIN latencies AS l ON l.dimension = r.dimension AND l.member = r.member
JOIN names AS s ON s.node = r.node
WHERE r.nth <= 5
ORDER BY l.dimension, ABS(l.mean_ns - l.others_mean_ns) DESC, l.member, r.nth
