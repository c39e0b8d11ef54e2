#!/usr/bin/env python3
"""Makes a case of profiler/report/tests/patterns of a report's JSON.

evenkeel report RECORDING --json | scripts/pattern-case.py "what was reproduced" "pattern that fires" "others that are right, .." > CASE.json
"""
import json
import re
import sys

ADDED = ("means", "check", "advice", "factors")
PARTS = ("name", "intervals", "mean_ns", "sd_ns", "within_fraction", "between_fraction")


def functions(node, found):
    found.add(node["name"].lstrip("~").split("(")[0])
    for child in node["children"]:
        functions(child, found)
    return found


def argument(at):
    return sys.argv[at] if len(sys.argv) > at else ""


def main():
    profile = json.load(sys.stdin)
    findings = [{key: value for key, value in finding.items() if key not in ADDED} for finding in profile["findings"]]
    for finding in findings:
        finding["factors"] = []
        # A call through a pointer is known by its caller alone.
        finding["paths"] = [re.sub(r"(?<!\(indirect\)) \[[^\]]*\]", "", path) for path in finding["paths"]]
    case = {
        "about": sys.argv[1],
        "target": profile["target"],
        "expected": argument(2) or None,
        "also": [name for name in argument(3).split(",") if name],
        "intervals": profile["intervals_seen"],
        "mean_ns": (profile.get("sampling") or profile)["mean_ns"],
        "machine": profile.get("machine"),
        "classes": [{**{key: one[key] for key in PARTS}, "top": []} for one in profile["classes"]["classes"]],
        "functions": sorted(functions(profile["tree"], set())),
        "findings": findings,
    }
    json.dump(case, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
