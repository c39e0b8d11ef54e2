"""Asks the questions of sql/ of exported tables, with Spark: on this machine, or on a cluster.

    spark.py TABLES [QUESTION ..] [--by host|build|class|period] [--sql FILE] [--master spark://HOST:7077] [--json]

TABLES is a directory that `evenkeel export --format parquet` wrote, in a place that every worker reads by the same name, or an address that this
Spark knows (hdfs://, s3a://). Wants a Python with pyspark and a Java runtime, as `scripts/install.sh spark` makes one; spark-submit runs it, too.
"""

import argparse
import concurrent.futures
import datetime
import decimal
import json
import math
import os
import pathlib
import platform
import re
import sys
import tempfile
import zipfile

try:
    import pyspark
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
except ImportError:
    sys.exit("spark.py: this Python has no pyspark: run scripts/install.sh spark, and this with target/spark/bin/python")

SQL = pathlib.Path(__file__).resolve().parent.parent.parent / "sql"
QUESTIONS = ("shares", "factors", "tails", "classes", "groups")
TABLES = ("intervals", "nodes", "times", "moments")
# Of the schema that `evenkeel export` writes into each file's metadata (profiler/export/src/columns/schema.rs).
VERSION_KEY = "evenkeel.schema_version"
SCHEMA_VERSION = 2
# Files whose ends are read at a time: a store over a network takes a while to answer each.
READS_AT_A_TIME = 16
# What an answer rests on: without rows there, an empty answer would say that nothing varies.
NEEDS = {"tails": "intervals"}
SETTINGS = {
    # Sums that do not fit are an error, and not null.
    "spark.sql.ansi.enabled": "true",
    # Days begin at midnight, UTC.
    "spark.sql.session.timeZone": "UTC",
    # A host called 7 is no number, and days are text, as in every other engine's views.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Progress is for people; a file of messages has no use for it.
    "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
}
# Spark's library for Snappy takes a machine that has this file for one without glibc, and loads what cannot be loaded.
MUSL = pathlib.Path("/lib/ld-musl-x86_64.so.1")
SNAPPY = "org/xerial/snappy/native/Linux/x86_64/libsnappyjava.so"


class Failure(Exception):
    """Why there is no answer, and what to do."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tables", metavar="TABLES", help="directory or address of the tables")
    parser.add_argument("questions", metavar="QUESTION", nargs="*", help=f"any of {', '.join(QUESTIONS)} [default: shares; with --by, groups]")
    parser.add_argument("--by", choices=("host", "build", "class", "period"), help="of groups, these alone")
    parser.add_argument("--sql", metavar="FILE", help="a query of your own; the tables are intervals, nodes, times and moments")
    parser.add_argument("--master", metavar="ADDRESS", help="the cluster [default: what spark-submit says, or this machine's processors]")
    parser.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark's; any number")
    parser.add_argument("--json", action="store_true", help="a line a question: an object with all rows and columns")
    parser.add_argument("--rows", metavar="N", type=int, default=25, help="rows that a table shows, at most [default: 25]")
    # Options may stand between TABLES and the questions.
    given = parser.parse_intermixed_args()
    if unknown := [name for name in given.questions if name not in QUESTIONS]:
        parser.error(f"no question is called {unknown[0]}: take {', '.join(QUESTIONS)}, or --sql FILE")
    if given.by and (given.questions not in ([], ["groups"]) or given.sql):
        parser.error("only groups are asked --by: leave it out, or the other questions")
    if bad := [pair for pair in given.conf if "=" not in pair]:
        parser.error(f"--conf {bad[0]}: write KEY=VALUE")
    return given


def queries(given):
    """Names of what is asked, with their SQL."""
    if given.sql:
        try:
            return {given.sql: sys.stdin.read() if given.sql == "-" else pathlib.Path(given.sql).read_text()}
        except OSError as error:
            raise Failure(f"cannot read the query {given.sql}: {error.strerror}") from error
    names = given.questions or ["groups" if given.by else "shares"]
    found = {name: (SQL / f"{name}.sql").read_text() for name in names}
    if given.by:
        found["groups"] = (
            f"SELECT * FROM (\n{found['groups']}\n) WHERE dimension = '{given.by}'\n"
            "ORDER BY ABS(mean_ns - others_mean_ns) DESC, member, place"
        )
    return found


def snappy_for_glibc(directory):
    """Settings by which processes on this machine load the right library, which is put into `directory`; other machines find none there, and take theirs."""
    jars = (pathlib.Path(pyspark.__file__).parent / "jars").glob("snappy-java-*.jar")
    for jar in jars if MUSL.exists() and platform.libc_ver()[0] == "glibc" else ():
        library = pathlib.Path(directory, pathlib.Path(SNAPPY).name)
        library.write_bytes(zipfile.ZipFile(jar).read(SNAPPY))
        option = f"-Dorg.xerial.snappy.lib.path={directory}"
        return {f"spark.{process}.extraJavaOptions": option for process in ("driver", "executor")}
    return {}


def connect(given, directory):
    builder = SparkSession.builder.appName("evenkeel fleet")
    if given.master:
        builder = builder.master(given.master)
    settings = snappy_for_glibc(directory)
    settings.update(pair.split("=", maxsplit=1) for pair in given.conf)
    settings.update(SETTINGS)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        if "JAVA_GATEWAY" in str(error):
            raise Failure("Java did not start (its words are above): install a runtime of version 17 or newer, or set JAVA_HOME") from error
        where = given.master or "this machine"
        raise Failure(f"no Spark at {where} ({line(error)}): see whether it runs, and whether it is of this pyspark's version") from error


def check_versions(spark, addresses):
    """Refuses files of a later version of the schema than this script knows, as evenkeel-fleet does; their ends are read by Java, several at a time."""
    hadoop, parquet = spark._jvm.org.apache.hadoop, spark._jvm.org.apache.parquet
    configuration = spark._jsc.hadoopConfiguration()
    skip_row_groups = parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS

    def check(address):
        # An address is escaped; by its text, a folder's own % would be looked for as %25.
        path = hadoop.fs.Path(spark._jvm.java.net.URI(address))
        file = parquet.hadoop.util.HadoopInputFile.fromPath(path, configuration)
        path = path.toString()
        metadata = parquet.hadoop.ParquetFileReader.readFooter(file, skip_row_groups)
        version = metadata.getFileMetaData().getKeyValueMetaData().get(VERSION_KEY)
        if version is None or not version.isdigit():
            raise Failure(f"{path} is no table of evenkeel's (it does not say which version it has): remove it, and export its recording again")
        if int(version) > SCHEMA_VERSION:
            raise Failure(
                f"{path} has version {version} of the tables' schema, this script knows {SCHEMA_VERSION}: use that of the evenkeel that wrote it, or a newer one"
            )

    with concurrent.futures.ThreadPoolExecutor(READS_AT_A_TIME) as pool:
        # A list: what one of them raises is raised here.
        list(pool.map(check, addresses))


def open_tables(spark, directory):
    """Makes each table a view of its name."""
    # Hadoop's default file system may be another one.
    top = directory if "://" in directory else f"file://{os.path.abspath(directory)}"
    for table in TABLES:
        try:
            files = spark.read.parquet(f"{top}/{table}")
        except PySparkException as error:
            if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
                raise Failure(f"cannot read {directory}/{table} ({line(error)}): see whether it can be reached, and is a table of evenkeel's") from error
            raise Failure(
                f"{directory} has no table {table}: name the directory that `evenkeel export --format parquet -o DIR` wrote to"
            ) from error
        paths = files.inputFiles()
        check_versions(spark, paths)
        if any(re.search("/host=[^/]*%25[89A-F]", path) for path in paths):
            # Spark takes each escaped byte of a folder's name for a character.
            files = files.withColumn("host", F.decode(F.encode("host", "ISO-8859-1"), "UTF-8"))
        files.createOrReplaceTempView(table)


def ask(spark, name, sql):
    """Columns and rows of an answer."""
    try:
        table = NEEDS.get(name, "moments")
        if name in QUESTIONS and spark.table(table).isEmpty():
            raise Failure(f"{name} needs the table {table}, which has no rows here: export recordings with intervals (not made with --summary)")
        answer = spark.sql(sql)
        return answer.columns, [[plain(value) for value in row] for row in answer.collect()]
    except Failure:
        raise
    except Exception as error:
        raise Failure(f"{name} cannot be answered: {line(error)}. {advice(str(error))}") from error


def advice(said):
    if "NUMERIC_VALUE_OUT_OF_RANGE" in said or "ARITHMETIC_OVERFLOW" in said:
        return "The sums are too large for 38 digits together: ask for fewer days or hosts"
    if "FileNotFoundException" in said or "does not exist" in said:
        return "Every worker has to read the tables by the same name: put them into a shared file system or an object store"
    if "masters are unresponsive" in said or "SparkContext was shut down" in said or "stopped SparkContext" in said:
        return "The cluster cannot be reached: see whether it runs at the address of --master, and is of this pyspark's version"
    if "PARSE_SYNTAX_ERROR" in said:
        return "Mend the query at the place that is named"
    return "The tables are intervals, nodes, times and moments; docs/src/reference/tables.md has their columns"


def line(error):
    """The first useful line of an error; the lines before it name the called Java object."""
    lines = [text for text in (text.strip(" :") for text in str(error).splitlines()) if text]
    causes = [text for text in lines if text.startswith(("[", "Caused by:", "org.apache.spark.SparkException:"))]
    return (causes or lines or [type(error).__name__])[0].rstrip(".")


def plain(value):
    """A value as JSON has it; what is no number there is null, and integers of more than 64 bits are text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        return int(value) if value == int(value) and abs(value) < 2**63 else str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value


def text(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def as_table(columns, rows, most):
    """Numbers with six digits to the right, text to the left."""
    cells = [[text(value) for value in row] for row in rows[:most]]
    widths = [max(map(len, column)) for column in zip(columns, *cells)]
    numbers = [all(isinstance(value, (int, float, type(None))) for value in column) for column in zip(*rows)] or [False] * len(columns)
    lines = []
    for row in [columns, *cells]:
        fitted = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, numbers))
        lines.append("  ".join(fitted).rstrip())
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more rows: --rows {len(rows)} shows all")
    return "\n".join(lines)


def answer(given, directory):
    """Prints an answer to all that is asked."""
    asked = queries(given)
    spark = connect(given, directory)
    try:
        open_tables(spark, given.tables)
        for name, sql in asked.items():
            columns, rows = ask(spark, name, sql)
            if given.json:
                question = None if given.sql else name
                print(json.dumps({"question": question, "by": given.by, "rows": [dict(zip(columns, row)) for row in rows]}))
            else:
                heading = f"{name}\n\n" if len(asked) > 1 else ""
                print(f"{heading}{as_table(columns, rows, given.rows)}\n")
    finally:
        spark.stop()


def main():
    given = arguments()
    try:
        with tempfile.TemporaryDirectory() as directory:
            answer(given, directory)
    except Failure as error:
        sys.exit(f"spark.py: {error}")


if __name__ == "__main__":
    main()
