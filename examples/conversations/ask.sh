#!/bin/sh
# ask.sh CONVERSATION QUESTION [DIR]: what do the memories of a conversation say to a question?
#
# Finds the turns that match the words of the question, turns them into context bytes with a
# signed record of how they came about, both in DIR (default: ./answer), and verifies the record
# in full as somebody would who trusts nothing but the key.
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo 'usage: ask.sh CONVERSATION QUESTION [DIR]' >&2
    exit 2
fi
PAM_SCOPE=conversation:$1
export PAM_SCOPE
question=$2
answer=${3:-answer}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "Turns that match: $question"
pamctl query --quiet --validation unverified --text "$question" --limit 8 --format jsonl |
    sh "$here/said.sh"

# Turns are unverified: somebody said so. The policy lets them in, and each keeps its label.
cat >"$work/policy.json" <<'END'
{"filters": {"validation_state": ["unverified"]}, "text": "request", "limits": {"objects": 8}}
END
pamctl key show reader >/dev/null 2>&1 || pamctl key generate reader >/dev/null
pamctl project --request "$question" --policy "$work/policy.json" --key reader --out "$answer" \
    >/dev/null

# What a relying party holds: the adapter's key, pinned, and how old a record may be.
sh "$here/../pin.sh" reader >"$work/trust.json"
echo "The verdict on $answer:"
pamctl verify-projection "$answer" --trust "$work/trust.json"
