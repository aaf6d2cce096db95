#!/usr/bin/env bash
# Check a change before it is committed: scripts/check.sh [--base COMMIT] [--seconds NUMBER]
set -uo pipefail

usage() {
  cat << 'TEXT'
usage: scripts/check.sh [--base COMMIT] [--seconds NUMBER]

Check a change before it is committed: lint, format, types, the rules of the source, and
the tests that belong to the changed files. A file is changed if it differs from the
commit at which the branch left main, or if git does not know it yet.

  --base COMMIT     compare with this commit instead
  --seconds NUMBER  start no test later than this many seconds after the start;
                    default: 45

Tests that are marked slow or docs, and the tests of packages that use the changed ones,
are left to .ci/run, and so are tests for which no time is left. The output lists them.
The first run in a checkout takes longer, because mypy and Numba have no caches yet.

The exit status is 0 if all steps pass, 1 if a step fails, and 2 if the check cannot be
made.
TEXT
}

refuse() {
  printf 'check.sh: %s\n' "$1" >&2
  exit 2
}

base=()
limit=45
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help)
      usage
      exit 0
      ;;
    --base)
      [ $# -gt 1 ] || refuse "--base: a commit must follow, such as --base HEAD~1"
      base=(--base "$2")
      shift 2
      ;;
    --seconds)
      [ $# -gt 1 ] || refuse "--seconds: a number must follow, such as --seconds 120"
      case "$2" in
        '' | *[!0-9]*) refuse "--seconds $2: the number of seconds must be a whole number" ;;
      esac
      limit=$2
      shift 2
      ;;
    *) refuse "$1: there is no such option; scripts/check.sh --help lists the options" ;;
  esac
done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2
cd "$root" || exit 2
start=$(date +%s)

if [ -x .venv/bin/python ]; then
  python=.venv/bin/python
else
  python=$(command -v python3 || command -v python) ||
    refuse "there is neither .venv/bin/python nor python3; README tells how to install the package"
fi
missing=$("$python" -c '
import importlib.util
modules = {"ruff": "ruff", "mypy": "mypy", "pytest": "pytest", "xdist": "pytest-xdist"}
names = [name for module, name in modules.items() if importlib.util.find_spec(module) is None]
print(*names, sep=", ")
') || refuse "$python does not start; make the environment again as README describes"
[ -z "$missing" ] ||
  refuse "$python lacks $missing; install the tools with: $python -m pip install -e '.[dev]'"

# Another checkout of the package may be installed in the environment.
export PYTHONPATH="$root:$root/scripts${PYTHONPATH:+:$PYTHONPATH}"
if [ -z "${STEREO_DATA:-}" ] && [ -d ../shared/data ]; then
  export STEREO_DATA="$PWD/../shared/data"
fi
CHECK_UNTIL=$((start + limit))
export CHECK_UNTIL

scratch=$(mktemp -d) || exit 2
export CHECK_LEFT="$scratch/left"
types=""
# shellcheck disable=SC2317  # the trap calls it
clean_up() {
  [ -z "$types" ] || kill "$types" 2> /dev/null
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failed=()
# Run a command as a step with a name, and print its duration.
step() {
  local name=$1 began=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    printf '== %s: passed, %d s\n' "$name" $((SECONDS - began))
  else
    printf '== %s: failed, %d s\n' "$name" $((SECONDS - began))
    failed+=("$name")
  fi
}

# Status 5 of pytest says that all tests of the selection are marked slow or docs.
run_tests() {
  local status
  "$python" -m pytest -q "$@"
  status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 5 ]
}

wait_for_types() {
  local status
  wait "$types"
  status=$?
  types=""
  cat "$scratch/types"
  return "$status"
}

"$python" scripts/changed_tests.py "${base[@]}" > "$scratch/tests" 2> "$scratch/remarks" || {
  cat "$scratch/remarks" >&2
  exit 2
}
mapfile -t tests < <(grep '^tests/' "$scratch/tests")
mapfile -t modules < <(grep -v '^tests/' "$scratch/tests")

# Types need one core, and so does the beginning of the other steps.
"$python" -m mypy > "$scratch/types" 2>&1 &
types=$!

step "lint" "$python" -m ruff check .
step "format" "$python" -m ruff format --check .

rules=()
for file in tests/test_{legibility,rules,source,package_names}.py; do
  [ ! -f "$file" ] || rules+=("$file")
done
step "rules of the source" run_tests -n 0 "${rules[@]}"

# pytest would import a module a second time if tests of it ran in the same process.
if [ ${#modules[@]} -gt 0 ]; then
  step "examples in docstrings" run_tests -n 0 "${modules[@]}"
fi
if [ ${#tests[@]} -gt 0 ]; then
  # Without worksteal, tests begin in the order of the list, the most relevant first.
  step "tests of the changes" run_tests --dist load -p time_limit "${tests[@]}"
else
  printf '\n== tests of the changes: no changed file has tests of its own\n'
fi
step "types" wait_for_types

printf '\n'
cat "$scratch/remarks"
printf 'left to .ci/run: tests that are marked slow or docs\n'
left=$(cat "$CHECK_LEFT" 2> /dev/null || echo 0)
if [ "$left" -gt 0 ]; then
  printf 'left to .ci/run: the tests listed above, for which no time was left (number: %d); --seconds raises the limit\n' "$left"
fi
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed after %d s:' "$SECONDS"
  printf ' %s;' "${failed[@]}" | sed 's/;$//'
  printf '\n'
  exit 1
fi
printf 'all steps passed after %d s\n' "$SECONDS"
