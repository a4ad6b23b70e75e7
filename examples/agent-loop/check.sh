#!/bin/sh
# What continuous integration runs: every answer that was kept has a record that holds.
#
#   check.sh TRUST
#
# TRUST is your policy with the agent's pinned key. It prints a line for each record and ends
# with status 11 if one of them does not hold.
set -eu

[ $# -eq 1 ] || {
    echo "usage: check.sh TRUST" >&2
    exit 2
}
exec pamctl verify-projection answers --envelope-only --trust "$1" --explain --format jsonl
