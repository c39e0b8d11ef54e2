#!/usr/bin/env bash
# Records BEFORE and AFTER in turns, so that what else happens on the machine meets both, compares, and writes the summary of the build. The
# variables are the inputs of action.yml.
set -uo pipefail

: "${BEFORE:?the command line before the change}" "${AFTER:?the command line after it}" "${OPTIONS:?options of evenkeel profile}"
evenkeel=${EVENKEEL:-evenkeel}
directory=${DIRECTORY:-evenkeel-compare}
mkdir -p "$directory" || exit

record() { # FILE COMMAND
  local options command
  # Words as a shell splits them; what quotes them in a command line of several words belongs into a script.
  read -r -a options <<<"$OPTIONS"
  read -r -a command <<<"$2"
  "$evenkeel" profile "${options[@]}" -o "$1" -- "${command[@]}" || {
    echo "::error::recording $2 failed with exit code $?"
    exit 2
  }
}

before=() after=()
for ((run = 1; run <= ${RUNS:-3}; run++)); do
  record "$directory/before$run.keel" "$BEFORE"
  record "$directory/after$run.keel" "$AFTER"
  before+=("$directory/before$run.keel")
  after+=("$directory/after$run.keel")
done

options=()
while IFS= read -r bound; do
  [ -z "$bound" ] || options+=(--fail-if "$bound")
done <<<"${FAIL_IF:-}"
if [ "${STRICT:-false}" = true ] && [ ${#options[@]} -gt 0 ]; then
  options+=(--strict)
fi
"$evenkeel" compare --format markdown --html "$directory/compare.html" "${options[@]}" "${before[@]}" -- "${after[@]}" \
  >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
code=$?
{
  echo "exit-code=$code"
  echo "html=$directory/compare.html"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
case $code in
  3) echo "::error::a change is surely beyond its bound" ;;
  4) echo "::error::it cannot be told whether a change is beyond its bound: record for longer, or more often" ;;
esac
exit $code
