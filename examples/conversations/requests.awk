# Turns of conversations, one JSON object a line, become requests for `pamctl batch`.
#
# A JSON value is carried over as it is written and never decoded, so there is no escape and no
# character that could come out different. Run it with LC_ALL=C: every awk then sees bytes.

BEGIN {
    needed = split("conversation session session_at turn_id speaker text", members, " ")
}

{
    rest = $0
    split("", value)
    read_object()
    for (i = 1; i <= needed; i++)
        if (!(members[i] in value)) refuse("it has no member \"" members[i] "\"")

    conversation = plain("conversation")
    turn = conversation "/" plain("turn_id")
    if (value["session"] !~ /^[0-9]+$/) refuse("its session is no number")

    content = "{\"speaker\":" value["speaker"] ",\"text\":" value["text"] \
        ",\"turn\":" value["turn_id"] ",\"session\":" value["session"] "}"
    provenance = "{\"activity\":\"conversation_import\",\"source_ref\":\"turn:" turn "\"" \
        ",\"observed_at\":" value["session_at"] ",\"source_confidence\":1}"
    print "{\"operation\":\"create\",\"arguments\":{" \
        "\"scope_id\":\"conversation:" conversation "\"" \
        ",\"object_type\":\"observation\"" \
        ",\"canonical_content\":" content \
        ",\"observed_at\":" value["session_at"] \
        ",\"provenance\":" provenance \
        ",\"idempotency_key\":\"" turn "\"}}"
}

# Reads `rest`, a flat JSON object, into `value`: member names without their quotes, values as
# they are written.
function read_object(    name, mark) {
    if (token() != "{") refuse("it is no JSON object")
    do {
        name = token()
        if (name !~ /^"/ || token() != ":") refuse("a member has no name")
        value[substr(name, 2, length(name) - 2)] = token()
        mark = token()
    } while (mark == ",")
    if (mark != "}" || token() != "") refuse("it does not end as a flat JSON object does")
}

# Takes the first JSON token off `rest`: a string with its quotes, a number or a word, or one of
# the six marks; nothing at the end.
function token(    taken) {
    sub(/^[ \t\r]+/, "", rest)
    if (!match(rest, /^"([^"\\]|\\.)*"/) && !match(rest, /^[-+.0-9A-Za-z]+/))
        RLENGTH = 1
    taken = substr(rest, 1, RLENGTH)
    rest = substr(rest, RLENGTH + 1)
    return taken
}

# The text of a member that becomes part of an identifier.
function plain(member,    text) {
    text = value[member]
    if (text !~ /^"[A-Za-z0-9._:-]+"$/) refuse("its " member " cannot be part of an identifier")
    return substr(text, 2, length(text) - 2)
}

function refuse(reason) {
    print "requests.awk: line " NR ": " reason > "/dev/stderr"
    exit 1
}
