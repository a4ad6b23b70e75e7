#!/bin/sh
# One turn of an agent: look, project, ask the model, keep the record, remember the answer.
#
#   turn.sh QUESTION -- MODEL [ARGUMENT...]
#
# MODEL stands for whatever calls your model: it reads the context on standard input, gets the
# question as its last argument, and writes an answer. What it reads is, byte for byte, what the
# record commits to.
#
# A turn leaves answers/NUMBER.record.json and answers/NUMBER.answer.txt behind, and nothing of
# what the model was shown.
set -eu

[ $# -ge 3 ] && [ "$2" = -- ] || {
    echo "usage: turn.sh QUESTION -- MODEL [ARGUMENT...]" >&2
    exit 2
}
question=$1
shift 2

here=$(dirname "$0")
mkdir -p answers
number=$(printf '%04d' $(($(ls answers | grep -c 'record' || :) + 1)))
record=answers/$number.record.json answer=answers/$number.answer.txt

# 1. Look. A turn that has nothing to go on costs no call of the model.
found=$(pamctl query --type claim --validation unverified --validation corroborated \
    --text "$question" --count --limit 1 | sed 's/.*"total":\([0-9]*\).*/\1/')
if [ "$found" -eq 0 ]; then
    echo "turn.sh: no memory has anything to do with: $question" >&2
    exit 1
fi

# 2. Project, 3. and pipe the exact bytes to the model. The record is safely in its file before
# the first of them leaves. A shell tells how the last program of a pipe ended; that the first
# one failed is told by a file.
failed=$record.failed status=0
{
    pamctl project --request "$question" --policy "$here/policy.json" --key agent \
        --out - --record "$record" || : > "$failed"
} | "$@" "$question" > "$answer" || status=$?
if [ -e "$failed" ]; then
    rm -f "$failed" "$record" "$answer"
    echo "turn.sh: no projection was made, so there is no answer" >&2
    exit 1
fi

if [ "$status" -ne 0 ]; then
    # It may have read the context all the same, so the record stays.
    echo "turn.sh: the model failed with status $status" >&2
    exit 1
fi

# 4. Remember what was answered, and from which projection.
projection_id=$(sed 's/.*"projection_id":"\([^"]*\)".*/\1/' "$record")
awk '
    { gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/\r/, "\\r") }
    { text = text (NR > 1 ? "\\n" : "") $0 }
    END { printf "{\"answer\":\"%s\"}", text }
' "$answer" |
    pamctl create --type observation --content - --source "$projection_id" \
        --activity answered --idempotency-key "$projection_id" --quiet > "$answer.receipt"
rm -f "$answer.receipt"

cat "$answer"
