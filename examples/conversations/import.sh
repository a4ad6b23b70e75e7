#!/bin/sh
# import.sh TURNS: every turn of the conversations in TURNS becomes a memory.
#
# The store is the nearest .pam, or the one that PAM_STORE names. A scope a conversation, an
# observation a turn. Each request bears an idempotency key that is made from the turn's own
# name, so running this again adds what is new and nothing else.
set -eu

if [ $# -ne 1 ]; then
    echo 'usage: import.sh TURNS' >&2
    exit 2
fi
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

LC_ALL=C awk -f "$here/requests.awk" "$1" >"$work/requests.jsonl"
pamctl batch "$work/requests.jsonl" \
    --actor service:conversation-import --actor-kind service >"$work/results.jsonl"

turns=$(wc -l <"$work/results.jsonl")
known=$(grep -c '"replayed":true' "$work/results.jsonl" || true)
echo "$((turns - known)) turns written, $known were there already"
