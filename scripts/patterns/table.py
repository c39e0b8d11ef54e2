#!/usr/bin/env python3
"""A row of a table of causes: what a report finds, what it advises, and whether that is right.

scripts/patterns/table.py head
scripts/patterns/table.py row CAUSE PATTERNS REPORT.json     PATTERNS: names by commas, a group for each cause by semicolons

A cause is named if a pattern of its group is the first or the second finding's; of several causes, each by one of the first three. The
exit status is 1 where one is not.
"""
import glob
import json
import sys
import tomllib
from pathlib import Path

ADVICE = Path(__file__).resolve().parent.parent.parent / "profiler/report/advice"
# By the number of causes in a report: how many of its findings may name them.
FINDINGS = {1: 2, 2: 3}


def patterns():
    """Names of patterns by their check, which reports quote."""
    files = [tomllib.loads(Path(path).read_text()) for path in glob.glob(f"{ADVICE}/*.toml")]
    return {pattern["check"]: pattern["name"] for file in files for pattern in file["pattern"]}


def row(cause, expected, path):
    try:
        findings = json.loads(Path(path).read_text())["findings"]
    except (OSError, ValueError):
        print(f"| {cause} | no report | | | no |", flush=True)
        return False
    known = patterns()
    names = [known.get(finding.get("check")) for finding in findings]
    groups = [group.split(",") for group in expected.split(";")]
    first = names[: FINDINGS[len(groups)]]
    named = all(any(name in group for name in first) for group in groups)

    def says(at):
        if at >= len(findings):
            return ""
        finding = findings[at]
        share = "stacks" if finding.get("seen_only") else f"{finding['share']:.0%}"
        return f"{share} {finding['function'].split('(')[0]}: {names[at] or 'no pattern'}"

    right = [finding for finding, name in zip(findings, names) if any(name in group for group in groups)]
    advice = right[0].get("advice", []) if right else []
    what = advice[0]["what"].split(". ")[0].rstrip(".") if advice else ""
    print(f"| {cause} | {says(0)} | {says(1)} | {what} | {'yes' if named else 'no'} |", flush=True)
    return named


def main():
    if sys.argv[1] == "head":
        print("| cause | finding 1 | finding 2 | advice | named |\n|---|---|---|---|---|", flush=True)
    elif not row(*sys.argv[2:5]):
        sys.exit(1)


main()
