-- Which functions, and which pairs of functions, make the latency vary: a function's variance summed over the call paths that end in it,
-- a pair's covariance (twice) over the nodes of which both are parts, as fractions of Var(L). Several call sites of one caller are one
-- function; of recursive calls the outermost counts. score = (height of the root - height of the function)^2 x contribution.
WITH clocks AS (
    SELECT ticks_per_ns, SUM(intervals) AS n
    FROM moments
    WHERE class IS NULL AND intervals IS NOT NULL
    GROUP BY ticks_per_ns
),
names AS (
    SELECT
        node,
        MIN(parent) AS parent,
        MIN(depth) AS depth,
        MIN(function) AS function,
        MIN(own_function) AS own_function,
        MAX(height) AS height,
        MAX(CASE WHEN is_ranked THEN 1 ELSE 0 END) AS is_ranked,
        MAX(CASE WHEN is_nested THEN 1 ELSE 0 END) AS is_nested,
        MAX(CASE WHEN is_own_ranked THEN 1 ELSE 0 END) AS is_own_ranked
    FROM nodes
    GROUP BY node
),
-- Halves of factors, and the root, whose variance is Var(L).
parts AS (
    SELECT node, 'all' AS part, parent AS above, function, height, is_nested FROM names
    WHERE is_ranked = 1 OR depth = 0
    UNION ALL
    SELECT node, 'own' AS part, node AS above, own_function AS function, CAST(0 AS BIGINT) AS height, 0 AS is_nested FROM names
    WHERE is_own_ranked = 1
),
sums AS (
    SELECT
        ticks_per_ns, node,
        SUM(inclusive) AS x_all, SUM(inclusive_squared) AS xx_all,
        SUM(exclusive) AS x_own, SUM(exclusive_squared) AS xx_own
    FROM moments
    WHERE class IS NULL AND other IS NULL
    GROUP BY ticks_per_ns, node
),
products AS (
    SELECT ticks_per_ns, node, other, SUM(products) AS xy
    FROM moments
    WHERE class IS NULL AND other IS NOT NULL
    GROUP BY ticks_per_ns, node, other
),
-- Each part with itself, and with each other part of the same node: siblings, and a call with the own time of its caller.
pairs AS (
    SELECT node AS a, part AS a_part, node AS b, part AS b_part, function AS a_function, function AS b_function, above
    FROM parts
    WHERE is_nested = 0
    UNION ALL
    SELECT a.node AS a, a.part AS a_part, b.node AS b, b.part AS b_part,
        a.function AS a_function, b.function AS b_function, a.above
    FROM parts AS a JOIN parts AS b ON b.above = a.above
    WHERE a.part = 'all'
        AND ((b.part = 'all' AND b.node < a.node) OR b.part = 'own')
        AND (a.function <> b.function OR a.is_nested = 0)
),
valued AS (
    SELECT
        p.a, p.a_part, p.b, p.b_part,
        CAST(c.n AS DOUBLE) AS n,
        c.ticks_per_ns,
        CASE WHEN p.a_part = 'all' THEN x.x_all ELSE x.x_own END AS x,
        CASE WHEN p.b_part = 'all' THEN y.x_all ELSE y.x_own END AS y,
        c.n AS n_exact,
        CASE
            WHEN p.a = p.b AND p.a_part = p.b_part AND p.a_part = 'all' THEN x.xx_all
            WHEN p.a = p.b AND p.a_part = p.b_part THEN x.xx_own
            ELSE COALESCE(q.xy, CAST(0 AS DECIMAL(38, 0)))
        END AS xy
    FROM pairs AS p
    CROSS JOIN clocks AS c
    JOIN sums AS x ON x.node = p.a AND x.ticks_per_ns = c.ticks_per_ns
    JOIN sums AS y ON y.node = p.b AND y.ticks_per_ns = c.ticks_per_ns
    LEFT JOIN products AS q ON q.node = p.a AND q.other = p.b AND q.ticks_per_ns = c.ticks_per_ns
),
by_clock AS (
    SELECT
        a, a_part, b, b_part, n,
        CAST(x AS DOUBLE) / n / ticks_per_ns AS x_ns,
        CAST(y AS DOUBLE) / n / ticks_per_ns AS y_ns,
        CAST(n_exact * xy - x * y AS DOUBLE) / n / ticks_per_ns / ticks_per_ns AS covariation
    FROM valued
),
-- What each clock's mean is beside that of all: a path that a group of hosts never takes has a mean of zero there.
means AS (
    SELECT
        s.node,
        SUM(CAST(s.x_all AS DOUBLE) / s.ticks_per_ns) / MAX(t.n) AS all_ns,
        SUM(CAST(s.x_own AS DOUBLE) / s.ticks_per_ns) / MAX(t.n) AS own_ns
    FROM sums AS s
    CROSS JOIN (SELECT CAST(SUM(n) AS DOUBLE) AS n FROM clocks) AS t
    GROUP BY s.node
),
together AS (
    SELECT a, a_part, b, b_part, SUM(covariation) AS covariation, SUM(n * x_ns * y_ns) AS between_clocks
    FROM by_clock
    GROUP BY a, a_part, b, b_part
),
terms AS (
    SELECT
        p.a, p.a_part, p.b, p.b_part, p.a_function, p.b_function,
        CASE WHEN p.a = p.b AND p.a_part = p.b_part THEN 1 ELSE 2 END
            * (t.covariation + t.between_clocks
                - w.n * CASE WHEN p.a_part = 'all' THEN x.all_ns ELSE x.own_ns END
                    * CASE WHEN p.b_part = 'all' THEN y.all_ns ELSE y.own_ns END) AS variation
    FROM pairs AS p
    JOIN together AS t ON t.a = p.a AND t.a_part = p.a_part AND t.b = p.b AND t.b_part = p.b_part
    JOIN means AS x ON x.node = p.a
    JOIN means AS y ON y.node = p.b
    CROSS JOIN (SELECT CAST(SUM(n) AS DOUBLE) AS n FROM clocks) AS w
),
root AS (
    SELECT t.variation, s.height
    FROM terms AS t JOIN names AS s ON s.node = t.a
    WHERE s.depth = 0 AND t.a_part = 'all' AND t.b_part = 'all' AND t.a = t.b
),
heights AS (
    SELECT function, MAX(height) AS height FROM parts GROUP BY function
),
factors AS (
    SELECT
        CASE WHEN t.a_function = t.b_function THEN 'variance' ELSE 'covariance' END AS kind,
        CASE WHEN t.a_function <= t.b_function THEN t.a_function ELSE t.b_function END AS function,
        CASE WHEN t.a_function <= t.b_function THEN t.b_function ELSE t.a_function END AS other_function,
        SUM(t.variation) AS variation
    FROM terms AS t JOIN names AS s ON s.node = t.a
    WHERE NOT (s.depth = 0 AND t.a_part = 'all')
    GROUP BY 1, 2, 3
)
SELECT
    f.kind,
    f.function,
    CASE WHEN f.kind = 'covariance' THEN f.other_function END AS other_function,
    CASE WHEN r.variation > 0 THEN f.variation / r.variation ELSE 0 END AS contribution,
    CASE WHEN h.height >= g.height THEN h.height ELSE g.height END AS height,
    CASE
        WHEN r.variation <= 0 OR r.height <= h.height OR r.height <= g.height THEN 0
        WHEN h.height >= g.height
            THEN CAST((r.height - h.height) * (r.height - h.height) AS DOUBLE) * f.variation / r.variation
        ELSE CAST((r.height - g.height) * (r.height - g.height) AS DOUBLE) * f.variation / r.variation
    END AS score
FROM factors AS f
JOIN heights AS h ON h.function = f.function
JOIN heights AS g ON g.function = f.other_function
CROSS JOIN root AS r
ORDER BY score DESC, f.kind, f.function, other_function
