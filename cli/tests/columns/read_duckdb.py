"""Runs a query over exported tables with DuckDB: DIRECTORY FILE.sql. Prints its rows as JSON."""

import json
import sys

try:
    import duckdb
except ImportError:
    sys.exit(77)

directory, question = sys.argv[1:]
database = duckdb.connect()
database.execute("SET TimeZone = 'UTC'")
for table in ("intervals", "nodes", "times", "moments"):
    files = f"{directory}/{table}/*/*/*.parquet"
    database.execute(
        f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_partitioning = true, hive_types_autocast = false)"
    )
with open(question) as file:
    answer = database.execute(file.read())
names = [column[0] for column in answer.description]
json.dump([dict(zip(names, row)) for row in answer.fetchall()], sys.stdout)
