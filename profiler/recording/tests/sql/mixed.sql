-- A bit of everything a PostgreSQL server does, with the same output in every run: no times, no OIDs, no process ids.
-- Run it on a fresh server, from this folder so that error messages name the file alike, as superuser:
--
--   psql -X -a -f mixed.sql -d postgres >out.txt 2>err.txt
--
-- psql goes on after errors and ends with exit code 0; both files are to be compared. Needs PostgreSQL 15 or newer with
-- its contrib modules. It makes and drops the database "mixed" and leaves nothing else behind.

\set VERBOSITY default
\pset pager off
CREATE DATABASE mixed;
\connect mixed

-- Errors -----------------------------------------------------------------------------------------------------------
SELECT 1 / 0;
SELEC 1;
SELECT * FROM no_such_table;
SELECT no_such_function(1);
SELECT 'abc'::int;
SELECT 2147483647 + 1;
CREATE TABLE account (id int PRIMARY KEY, name text NOT NULL UNIQUE, balance bigint CHECK (balance >= 0));
INSERT INTO account SELECT i, 'name ' || i, i * 10 FROM generate_series(1, 1000) i;
INSERT INTO account VALUES (7, 'again', 0);
INSERT INTO account VALUES (2000, 'name 8', 0);
INSERT INTO account VALUES (2000, NULL, 0);
INSERT INTO account VALUES (2000, 'poor', -1);
INSERT INTO account VALUES (7, 'name 7', 70) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1 RETURNING *;

-- Transactions and savepoints --------------------------------------------------------------------------------------
BEGIN;
UPDATE account SET balance = balance - 5 WHERE id = 1;
SELECT 1 / 0;
SELECT 'not seen: the transaction is aborted';
COMMIT;
BEGIN;
SAVEPOINT one;
INSERT INTO account VALUES (3000, 'three', 3);
SAVEPOINT two;
INSERT INTO account VALUES (3000, 'four', 4);
ROLLBACK TO two;
INSERT INTO account VALUES (3001, 'five', 5);
RELEASE one;
COMMIT;
SELECT * FROM account WHERE id >= 3000 ORDER BY id;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
DELETE FROM account;
ROLLBACK;
PREPARE TRANSACTION 'none is open';
ROLLBACK TO nowhere;

-- PL/pgSQL: nested handlers, errors raised again, many subtransactions ---------------------------------------------
CREATE FUNCTION divide(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN a / b;
EXCEPTION WHEN division_by_zero THEN
    RAISE NOTICE 'caught %', SQLERRM;
    RETURN NULL;
END $$;
SELECT i, divide(12, i) FROM generate_series(-1, 2) i ORDER BY i;
CREATE FUNCTION nested(depth int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF depth = 0 THEN
        RAISE EXCEPTION 'bottom' USING ERRCODE = 'P0042', HINT = 'climb';
    END IF;
    RETURN nested(depth - 1);
EXCEPTION WHEN SQLSTATE 'P0042' THEN
    IF depth % 3 = 0 THEN
        RETURN 'caught at ' || depth;
    END IF;
    RAISE;
END $$;
SELECT nested(1);
SELECT nested(2), nested(4);
DO $$
DECLARE
    caught int := 0;
BEGIN
    FOR i IN 1..200 LOOP
        BEGIN
            INSERT INTO account VALUES (i * 10, 'duplicate ' || i, 1);
        EXCEPTION
            WHEN unique_violation THEN caught := caught + 1;
        END;
    END LOOP;
    RAISE NOTICE '% of 200 caught', caught;
END $$;
SELECT count(*), sum(balance) FROM account;
-- Out of hundreds of frames at once.
CREATE FUNCTION endless(depth int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN endless(depth + 1) + 1; END $$;
SET max_stack_depth = '500kB';
DO $$
BEGIN
    PERFORM endless(0);
EXCEPTION WHEN statement_too_complex THEN
    RAISE NOTICE 'too deep';
END $$;
RESET max_stack_depth;
CREATE PROCEDURE commit_in_loop() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..10 LOOP
        UPDATE account SET balance = balance + 1 WHERE id = i;
        IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
    END LOOP;
END $$;
CALL commit_in_loop();
SELECT sum(balance) FROM account WHERE id <= 10;

-- Cancellations. The limit is local to a transaction, so that it cannot strike the statement that lifts it -----------
BEGIN;
SET LOCAL statement_timeout = '200ms';
SELECT pg_sleep(600);
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '200ms';
WITH RECURSIVE forever(i) AS (SELECT 1 UNION ALL SELECT (i + 1) % 1000 FROM forever) SELECT count(*) FROM forever;
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '200ms';
DO $$
BEGIN
    LOOP
        PERFORM md5('busy');
    END LOOP;
EXCEPTION
    WHEN OTHERS THEN RAISE NOTICE 'a cancellation is not among the others';
    WHEN query_canceled THEN RAISE NOTICE 'caught: %', SQLERRM;
END $$;
ROLLBACK;

-- A second session: waits, cancellation and notification between two backends -----------------------------------------
CREATE EXTENSION dblink;
SELECT dblink_connect('other', format('host=%s port=%s dbname=mixed user=postgres',
    split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')));
SELECT dblink_exec('other', 'BEGIN');
SELECT dblink_exec('other', 'UPDATE account SET balance = 0 WHERE id = 5');
BEGIN;
SET LOCAL lock_timeout = '200ms';
UPDATE account SET balance = 1 WHERE id = 5;
ROLLBACK;
SELECT id FROM account WHERE id BETWEEN 4 AND 6 ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT id FROM account WHERE id = 5 FOR UPDATE NOWAIT;
SELECT dblink_exec('other', 'ROLLBACK');
SELECT pid AS other_pid FROM dblink('other', 'SELECT pg_backend_pid()') AS t(pid int) \gset
SELECT dblink_send_query('other', 'SELECT pg_sleep(600)');
CREATE FUNCTION wait_for_sleep(other int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN EXISTS (SELECT FROM pg_stat_activity WHERE pid = other AND wait_event = 'PgSleep');
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
-- psql echoes the line before it puts in the process id.
SELECT wait_for_sleep(:other_pid);
SELECT pg_cancel_backend(:other_pid);
SELECT * FROM dblink_get_result('other') AS t(nothing text);
SELECT * FROM dblink_get_result('other') AS t(nothing text);
SELECT * FROM dblink('other', 'SELECT 1 / 0') AS t(never int);
SELECT dblink_exec('other', 'LISTEN news');
BEGIN;
NOTIFY news, 'rolled back';
ROLLBACK;
NOTIFY news, 'first';
SELECT pg_notify('news', 'second');
-- They come to the other backend by a signal, and at once or a little later.
CREATE FUNCTION receive(number int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    received text[] := '{}';
BEGIN
    WHILE cardinality(received) < number LOOP
        received := received || ARRAY(SELECT notify_name || ': ' || extra FROM dblink_get_notify('other'));
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN array_to_string(received, ', ');
END $$;
SELECT receive(2);
SELECT pg_advisory_lock(42), pg_try_advisory_lock_shared(43);
SELECT * FROM dblink('other', 'SELECT pg_try_advisory_lock(42), pg_try_advisory_lock_shared(43)') AS t(a bool, b bool);
SELECT pg_advisory_unlock(42), pg_advisory_unlock(44);
SELECT pg_advisory_unlock_all();
SELECT pg_terminate_backend(:other_pid, 60000);
SELECT dblink_disconnect('other');

-- LISTEN and NOTIFY of the same session would print its process id.
LISTEN quiet;
SELECT * FROM pg_listening_channels();
UNLISTEN *;

-- Parallel query -----------------------------------------------------------------------------------------------------
CREATE TABLE item (id int PRIMARY KEY, kind int, price int, label text);
SELECT setseed(0.5);
INSERT INTO item SELECT i, i % 97, i * 7919 % 1009, md5(i::text) FROM generate_series(1, 30000) i;
CREATE INDEX item_kind ON item (kind);
ANALYZE item;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT kind, count(*), sum(price) FROM item GROUP BY kind;
SELECT kind, count(*), sum(price), max(label) FROM item GROUP BY kind ORDER BY kind LIMIT 5;
SELECT count(*) FROM item a JOIN item b ON a.id = b.price WHERE a.label LIKE '%a%';
SELECT count(DISTINCT label) FROM item WHERE label ~ '^[0-4]+[a-f]';
SET parallel_leader_participation = off;
SELECT sum(10 / (price - 1008)) FROM item WHERE id < 29000;
RESET parallel_leader_participation;
CREATE INDEX item_label ON item (label);
SET max_parallel_workers_per_gather = 0;

-- Sorts, hashes and aggregates that spill ----------------------------------------------------------------------------
SET work_mem = '64kB';
SELECT id, label FROM item ORDER BY label DESC, id OFFSET 20000 LIMIT 3;
SELECT count(*) FROM (SELECT label FROM item GROUP BY label) g;
SELECT count(*) FROM item a JOIN item b USING (label);
SELECT id, rank() OVER w, sum(price) OVER w FROM item WHERE kind = 3 WINDOW w AS (ORDER BY price, id) ORDER BY id LIMIT 5;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY kind) FROM item;
SELECT kind % 2 AS odd, kind % 3 AS third, sum(price) FROM item GROUP BY ROLLUP (1, 2) ORDER BY 1, 2;
RESET work_mem;

-- Compiled expressions: nothing but time differs where LLVM is not there -----------------------------------------------
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT sum(price * 2 + kind), count(*) FILTER (WHERE price > 500 AND label > '8') FROM item;
SELECT sum(1 / (price - 1009 + 1)) FROM item;
SET jit = off;

-- COPY ---------------------------------------------------------------------------------------------------------------
CREATE TABLE copied (a int, b text, c numeric(10, 2));
COPY copied FROM stdin;
1	one	1.10
2	with	2.20
3	\N	-3.30
\.
COPY copied FROM stdin WITH (FORMAT csv, HEADER);
a,b,c
4,"four, with ""quotes""",4.4
5,"five
lines",5.5
\.
COPY copied FROM stdin;
6	six	6.6
seven	seven	7.7
\.
COPY copied FROM stdin;
8	too few
\.
COPY copied FROM PROGRAM 'printf "9\tnine\t9.9\n"';
COPY copied FROM PROGRAM 'exit 3';
COPY (SELECT * FROM copied ORDER BY a) TO stdout;
COPY (SELECT * FROM copied ORDER BY a) TO stdout WITH (FORMAT csv, HEADER, FORCE_QUOTE *);
COPY copied TO PROGRAM 'cat >/dev/null';
COPY (SELECT 1 / (a - 4) FROM copied ORDER BY a) TO stdout;

-- Cursors, prepared statements -----------------------------------------------------------------------------------------
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM item ORDER BY id;
FETCH 3 FROM c;
FETCH ABSOLUTE 20000 FROM c;
FETCH BACKWARD 2 FROM c;
MOVE LAST FROM c;
FETCH RELATIVE -1 FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM item WHERE id % 10000 = 0 ORDER BY id;
COMMIT;
FETCH ALL FROM h;
FETCH ALL FROM c;
CLOSE h;
PREPARE by_kind(int) AS SELECT count(*) FROM item WHERE kind = $1;
EXECUTE by_kind(1);
EXECUTE by_kind(2);
EXECUTE by_kind(3);
EXECUTE by_kind(4);
EXECUTE by_kind(5);
EXECUTE by_kind(6);
EXECUTE by_kind('x');
DEALLOCATE by_kind;
EXECUTE by_kind(1);

-- Triggers, constraints, views, partitions -------------------------------------------------------------------------------
CREATE TABLE audit (number int GENERATED ALWAYS AS IDENTITY, operation text, old_balance bigint, new_balance bigint);
CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.id = 13 THEN
        RAISE EXCEPTION 'account 13 stays';
    END IF;
    INSERT INTO audit (operation, old_balance, new_balance) VALUES (TG_OP, OLD.balance, NEW.balance);
    RETURN NEW;
END $$;
CREATE TRIGGER change AFTER UPDATE OR DELETE ON account FOR EACH ROW EXECUTE FUNCTION record_change();
UPDATE account SET balance = balance * 2 WHERE id IN (21, 22);
DELETE FROM account WHERE id IN (12, 13);
DELETE FROM account WHERE id = 12;
SELECT operation, old_balance, new_balance FROM audit ORDER BY number;
CREATE TABLE payment (id int, account_id int REFERENCES account DEFERRABLE INITIALLY DEFERRED, day date) PARTITION BY RANGE (day);
CREATE TABLE payment_2024 PARTITION OF payment FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE payment_2025 PARTITION OF payment FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO payment SELECT i, 1 + i % 10, date '2024-01-01' + i FROM generate_series(0, 700) i;
INSERT INTO payment VALUES (1, 1, '2030-01-01');
BEGIN;
INSERT INTO payment VALUES (1, 99999, '2024-01-01');
COMMIT;
SELECT count(*) FROM payment WHERE day >= '2025-06-01';
CREATE MATERIALIZED VIEW by_month AS SELECT date_trunc('month', day)::date AS month, count(*) FROM payment GROUP BY 1;
REFRESH MATERIALIZED VIEW by_month;
SELECT * FROM by_month ORDER BY month LIMIT 3;
MERGE INTO account a USING (VALUES (1, 5), (4000, 6)) AS v(id, balance) ON a.id = v.id
    WHEN MATCHED THEN UPDATE SET balance = v.balance WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'merged', v.balance);
SELECT id, balance FROM account WHERE id IN (1, 4000) ORDER BY id;

-- Recursive queries, regular expressions, JSON, arrays, text search, ranges, XML, numbers ---------------------------------
WITH RECURSIVE fibonacci(n, a, b) AS (SELECT 1, 0::numeric, 1::numeric UNION ALL SELECT n + 1, b, a + b FROM fibonacci WHERE n < 200)
    SELECT n, a FROM fibonacci WHERE n % 50 = 0;
WITH RECURSIVE walk(id) AS (SELECT 1 UNION SELECT id * 3 % 101 FROM walk) SELECT count(*), sum(id) FROM walk;
SELECT regexp_replace('Evenkeel 2.10.7', '(\d+)\.(\d+)', '<\2.\1>'), 'aaaab' ~ '^(a+)+b$', regexp_matches('k=v;x=y', '(\w)=(\w)', 'g');
SELECT 'x' ~ '(';
SELECT repeat('a', 26) ~ '(a?){26}a{26}';
SELECT jsonb_path_query('{"a": [1, 2, {"b": 3}]}', '$.a[*] ? (@ > 1)'), '{"a": 1}'::jsonb || '{"b": [null, true]}';
SELECT '{"a": 1'::jsonb;
SELECT array_agg(x ORDER BY x DESC), unnest(ARRAY[[1, 2], [3, 4]]) FROM (VALUES (2), (1), (3)) v(x);
SELECT to_tsvector('english', 'The locks were waiting for the logs') @@ to_tsquery('english', 'lock & !page');
SELECT range_agg(int4range(i, i + 2)) FROM generate_series(1, 9, 3) i;
SELECT xmlelement(name a, xmlattributes(1 AS b), 'c');
SELECT sqrt(2::numeric), 10::numeric ^ 50, exp(1.0::numeric), 2.5::float8 ^ 3, 'NaN'::float8 = 'NaN';
SELECT factorial(60), gcd(84, 36), width_bucket(5.3, 0, 10, 4);
SELECT date '2024-02-29' + interval '1 year', age(date '2025-03-01', date '2024-02-29'), extract(week FROM date '2024-12-30');

-- Extensions loaded at run time --------------------------------------------------------------------------------------------
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET auto_explain.log_nested_statements = on;
SELECT count(*) FROM item WHERE kind = 5;
SELECT divide(1, 0);
SET auto_explain.log_min_duration = -1;
LOAD 'no_such_library';
CREATE EXTENSION pgcrypto;
SELECT encode(digest('evenkeel', 'sha256'), 'hex'), encode(hmac('a', 'b', 'md5'), 'hex');
SELECT pgp_sym_decrypt(pgp_sym_encrypt('secret', 'key'), 'key');
SELECT pgp_sym_decrypt(pgp_sym_encrypt('secret', 'key'), 'wrong key');
SELECT digest('x', 'no such hash');
CREATE EXTENSION pg_trgm;
CREATE INDEX item_trigrams ON item USING gin (label gin_trgm_ops);
SELECT count(*) FROM item WHERE label LIKE '%abc%';
SELECT similarity('evenkeel', 'even keel'), show_trgm('log');
CREATE EXTENSION hstore;
SELECT 'a=>1, b=>2'::hstore -> 'b', 'a'::hstore;
CREATE EXTENSION pg_trgm;
DROP EXTENSION pg_trgm;
DROP EXTENSION pg_trgm CASCADE;

-- Large objects --------------------------------------------------------------------------------------------------------------
SELECT lo_from_bytea(4711, decode(repeat('00ff10', 3000), 'hex'));
SELECT length(lo_get(4711)), encode(lo_get(4711, 2999, 4), 'hex');
BEGIN;
SELECT lo_open(4711, x'60000'::int) AS descriptor \gset
SELECT lo_lseek64(:descriptor, 9000, 0), lowrite(:descriptor, 'tail'), lo_tell64(:descriptor);
SELECT lo_truncate(:descriptor, 9002), lo_close(:descriptor);
SELECT loread(:descriptor, 1);
COMMIT;
SELECT length(lo_get(4711)), lo_unlink(4711);
SELECT lo_get(4711);

-- Maintenance ------------------------------------------------------------------------------------------------------------------
DELETE FROM item WHERE id % 3 = 0;
VACUUM (PARALLEL 2) item;
VACUUM FULL account;
ANALYZE;
REINDEX TABLE item;
REINDEX INDEX CONCURRENTLY item_kind;
CREATE INDEX CONCURRENTLY item_price ON item USING brin (price);
-- One value occurs twice, so that it is no matter of chance which one the error names.
CREATE TABLE twice AS SELECT least(i, 99) AS i FROM generate_series(1, 100) i;
CREATE UNIQUE INDEX CONCURRENTLY twice_i ON twice (i);
DROP TABLE twice;
CLUSTER item USING item_kind;
ALTER TABLE item ADD COLUMN doubled int GENERATED ALWAYS AS (price * 2) STORED;
ALTER TABLE item ALTER COLUMN label TYPE int USING label::int;
TRUNCATE copied;
CHECKPOINT;
BEGIN;
VACUUM item;
ROLLBACK;
SELECT count(*), sum(doubled) FROM item;

-- Roles and privileges -----------------------------------------------------------------------------------------------------------
CREATE ROLE mixed_reader;
GRANT SELECT ON account TO mixed_reader;
ALTER TABLE account ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON account FOR SELECT TO mixed_reader USING (balance < 100);
SET ROLE mixed_reader;
SELECT count(*), max(balance) FROM account;
DELETE FROM account;
SELECT * FROM item;
RESET ROLE;

-- A database is left and dropped -----------------------------------------------------------------------------------------------------
CREATE DATABASE mixed_copy TEMPLATE mixed;
\connect postgres
CREATE DATABASE mixed_copy TEMPLATE mixed;
CREATE DATABASE mixed_file_copy TEMPLATE mixed STRATEGY file_copy;
DROP DATABASE mixed_file_copy;
\connect mixed_copy
SELECT count(*), sum(balance) FROM account;
DROP DATABASE mixed_copy;
\connect postgres
DROP DATABASE mixed_copy;
DROP DATABASE IF EXISTS mixed_copy;
DROP DATABASE mixed;
DROP ROLE mixed_reader;
