-- A bit of everything a MariaDB server does, with the same output in every run: no times, no process ids, one session.
-- Run it on a fresh server, the client going on after errors:
--
--   mariadb --force -vv test <mariadb.sql

-- Errors -----------------------------------------------------------------------------------------------------------
SELEC 1;
SELECT * FROM no_such_table;
SELECT no_such_function(1);
SELECT CAST('x' AS DECIMAL), 1 / 0, 9223372036854775807 + 1;
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'by hand';

CREATE TABLE account (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, balance BIGINT CHECK (balance >= 0)) ENGINE = InnoDB;
INSERT INTO account SELECT seq, CONCAT('name ', seq), seq * 10 FROM seq_1_to_1000;
INSERT INTO account VALUES (7, 'again', 0);
INSERT INTO account VALUES (2000, NULL, 0);
INSERT INTO account VALUES (2000, 'poor', -1);
INSERT INTO account VALUES (7, 'name 7', 70) ON DUPLICATE KEY UPDATE balance = balance + 1;
REPLACE INTO account VALUES (8, 'eight', 8);
SELECT COUNT(*), SUM(balance) FROM account;

-- Transactions and savepoints --------------------------------------------------------------------------------------
START TRANSACTION;
UPDATE account SET balance = balance - 5 WHERE id = 1;
SAVEPOINT one;
DELETE FROM account WHERE id <= 500;
ROLLBACK TO one;
COMMIT;
START TRANSACTION;
DELETE FROM account;
ROLLBACK;
SELECT COUNT(*), SUM(balance) FROM account;
XA START 'a';
UPDATE account SET balance = balance + 1 WHERE id = 2;
XA END 'a';
XA PREPARE 'a';
XA COMMIT 'a';
SELECT GET_LOCK('l', 1), IS_FREE_LOCK('l'), RELEASE_LOCK('l');

-- Stored programs: handlers, recursion, dynamic SQL, limits ----------------------------------------------------------
DELIMITER //
CREATE PROCEDURE divide(a INT, b INT)
BEGIN
    DECLARE EXIT HANDLER FOR SQLSTATE '22012' SELECT 'caught' AS result;
    SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO';
    CREATE TEMPORARY TABLE t (x INT);
    INSERT INTO t VALUES (a / b);
    SELECT x AS result FROM t;
    DROP TEMPORARY TABLE t;
END //
CREATE PROCEDURE count_down(n INT)
BEGIN
    IF n > 0 THEN
        CALL count_down(n - 1);
    ELSE
        SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'bottom';
    END IF;
END //
CREATE PROCEDURE duplicates()
BEGIN
    DECLARE caught INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1062 SET caught = caught + 1;
    FOR i IN 1..200 DO
        INSERT INTO account VALUES (i * 10, CONCAT('duplicate ', i), 1);
    END FOR;
    SELECT caught, (SELECT COUNT(*) FROM account) AS accounts;
END //
CREATE FUNCTION fibonacci(n INT) RETURNS BIGINT DETERMINISTIC
BEGIN
    DECLARE a, b, c BIGINT DEFAULT 1;
    WHILE n > 2 DO
        SET c = a + b, a = b, b = c, n = n - 1;
    END WHILE;
    RETURN b;
END //
CREATE TRIGGER no_negative BEFORE UPDATE ON account FOR EACH ROW
BEGIN
    IF NEW.balance > 1000000 THEN
        SIGNAL SQLSTATE '45002' SET MESSAGE_TEXT = 'too rich';
    END IF;
END //
DELIMITER ;
CALL divide(6, 3);
CALL divide(1, 0);
SET SESSION max_sp_recursion_depth = 50;
CALL count_down(20);
SET SESSION max_sp_recursion_depth = 10;
CALL count_down(20);
CALL duplicates();
SELECT fibonacci(10), fibonacci(80);
UPDATE account SET balance = 2000000 WHERE id = 3;
PREPARE by_id FROM 'SELECT name FROM account WHERE id = ?';
SET @id = 42;
EXECUTE by_id USING @id;
DEALLOCATE PREPARE by_id;
EXECUTE by_id USING @id;
SET STATEMENT max_statement_time = 0.2 FOR SELECT SLEEP(600);
SET STATEMENT max_statement_time = 0.2 FOR SELECT BENCHMARK(1000000000000, MD5('busy'));

-- Queries -----------------------------------------------------------------------------------------------------------
CREATE TABLE item (id INT PRIMARY KEY, kind INT, price INT, label CHAR(32), KEY (kind)) ENGINE = InnoDB;
INSERT INTO item SELECT seq, seq % 97, seq * 7919 % 1009, MD5(seq) FROM seq_1_to_20000;
SELECT kind, COUNT(*), SUM(price), MAX(label) FROM item GROUP BY kind ORDER BY kind LIMIT 5;
SELECT COUNT(*) FROM item a JOIN item b ON a.id = b.price WHERE a.label LIKE '%a%';
SELECT kind % 2 AS odd, COUNT(*) FROM item GROUP BY odd WITH ROLLUP;
SELECT id, RANK() OVER w, SUM(price) OVER w FROM item WHERE kind = 3 WINDOW w AS (ORDER BY price, id) ORDER BY id LIMIT 5;
SET SESSION sort_buffer_size = 16384;
SELECT id, label FROM item ORDER BY label DESC, id LIMIT 10000, 3;
WITH RECURSIVE walk(id) AS (SELECT 1 UNION SELECT id * 3 % 101 FROM walk) SELECT COUNT(*), SUM(id) FROM walk;
SELECT JSON_EXTRACT('{"a": [1, {"b": 2}]}', '$.a[1].b'), JSON_VALID('{'), REGEXP_REPLACE('Evenkeel 2.10', '([0-9]+)', '<\\1>');
SELECT 'x' REGEXP '(';
SELECT ST_AsText(ST_Centroid(ST_GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))'))), COMPRESS(REPEAT('a', 1000)) IS NULL;
SELECT HEX(AES_ENCRYPT('a', 'key')), SHA2('evenkeel', 256), CRC32('evenkeel'), POW(2, 0.5), DATE_ADD('2024-02-29', INTERVAL 1 YEAR);
EXPLAIN SELECT * FROM item WHERE id = 5;

-- Other engines, alterations, maintenance ------------------------------------------------------------------------------
CREATE TABLE plain (a INT, b TEXT, FULLTEXT (b)) ENGINE = MyISAM;
INSERT INTO plain VALUES (1, 'the locks wait'), (2, 'the logs are written'), (3, 'pages are read');
SELECT a FROM plain WHERE MATCH (b) AGAINST ('logs');
CREATE TABLE kept ENGINE = Aria AS SELECT * FROM item WHERE id <= 1000;
CREATE TABLE history (id INT) WITH SYSTEM VERSIONING;
INSERT INTO history VALUES (1), (2);
DELETE FROM history WHERE id = 1;
SELECT COUNT(*) FROM history FOR SYSTEM_TIME ALL;
CREATE TABLE parted (id INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
INSERT INTO parted SELECT seq FROM seq_1_to_19;
INSERT INTO parted VALUES (99);
SELECT COUNT(*) FROM parted PARTITION (p1);
ALTER TABLE item ADD COLUMN doubled INT AS (price * 2) PERSISTENT, ADD INDEX (doubled);
ALTER TABLE item DROP COLUMN label, ALGORITHM = COPY;
SELECT COUNT(*), SUM(doubled) FROM item;
CHECK TABLE item, plain, kept;
OPTIMIZE TABLE plain;
CREATE VIEW rich AS SELECT id FROM account WHERE balance > 9900;
SELECT COUNT(*) FROM rich;
INSTALL SONAME 'no_such_plugin';
CREATE USER reader IDENTIFIED BY 'secret';
GRANT SELECT ON test.account TO reader;
SHOW GRANTS FOR reader;
DROP USER reader;
CREATE DATABASE other;
DROP DATABASE other;
SELECT 'the end';
