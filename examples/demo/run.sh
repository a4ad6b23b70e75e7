#!/bin/sh
# run.sh DIR: pamctl from end to end on a small conversation, in the new folder DIR.
#
# Every line after `$` is run as it stands.
set -eu

if [ $# -ne 1 ] || [ -e "$1" ]; then
    echo 'usage: run.sh DIR, where DIR does not exist yet' >&2
    exit 2
fi
examples=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
cd "$1"
cp "$examples/demo/turns.jsonl" "$examples/demo/policy.json" .
PATH=$examples/conversations:$examples:$PATH

# As at a terminal, wherever this runs.
PAM_FORMAT=table
export PAM_FORMAT
unset PAM_STORE PAM_SCOPE PAM_ACTOR

say() { printf '\n'; printf '%s\n' "$@"; }
# Shows a command line, runs it, and fails unless it ends with the status that is expected.
run() { expect 0 "$1"; }
expect() {
    printf '$ %s\n' "$2"
    status=0
    eval "$2" || status=$?
    if [ "$status" -ne 0 ]; then
        echo "(exit status $status)"
    fi
    if [ "$status" -ne "$1" ]; then
        echo "run.sh: expected exit status $1" >&2
        exit 1
    fi
}

say 'A store is a folder, made once. A conversation becomes a scope of it, a turn a memory.'
run 'pamctl init --scope conversation:garden'
run 'import.sh turns.jsonl'

say 'Each request bore an idempotency key, so the same import again changes nothing.'
run 'import.sh turns.jsonl'

say 'What was said about the key? Turns are unverified: somebody said so, and no more.'
run "pamctl query --validation unverified --text '\"greenhouse key\"' --format jsonl | said.sh"

say 'What we conclude is a memory of its own, with where it comes from. Asked without flags,' \
    'pamctl finds only what somebody vouched for, and so not this one yet.'
run "pamctl create --type claim --id mem:key --content '{\"text\": \"The key is under the blue pot.\"}' --activity concluded --source turn:garden/D1:4"
run 'pamctl query'

say 'A week later the pot is broken. The change names the version that it was made on.'
run 'seen=$(pamctl read mem:key --print version_id)'
run "pamctl update mem:key --expect \"\$seen\" --merge-patch '{\"text\": \"The key hangs on a hook behind the shed door.\"}' --activity corrected --source turn:garden/D2:2"

say 'Another program still holds the first version. It is told so, and nothing is overwritten.'
expect 4 "pamctl update mem:key --expect \"\$seen\" --merge-patch '{\"text\": \"The key is in the blue pot.\"}'"

say 'The neighbour has looked: a second turn says the same. Now it is corroborated, and is found.'
run 'seen=$(pamctl read mem:key --print version_id)'
run "pamctl transition mem:key validation corroborated --expect \"\$seen\" --policy-basis 'two turns agree' --evidence turn:garden/D2:2 --evidence turn:garden/D3:6"
run 'pamctl query'

say 'Nothing was lost on the way: every version, and every event of the ledger.'
run 'pamctl history mem:key'
run 'pamctl log --object mem:key'

say 'An agent is asked for the key. What it may show to a model is chosen, framed and signed.'
run 'pamctl key generate agent'
run "pamctl project --request 'Where is the greenhouse key?' --policy policy.json --key agent --out answer"
run 'cat answer/projection.txt'

say 'Whoever pinned the key can check all of it, without the store.'
run 'pin.sh agent > trust.json'
run 'pamctl verify-projection answer --trust trust.json'

say 'And one changed word does not pass.'
run "sed 's/hook/nail/' answer/fragments/0000 > changed && mv changed answer/fragments/0000"
expect 11 'pamctl verify-projection answer --trust trust.json'

say "All of it is in $PWD: look around there with pamctl."
