#!/bin/sh
# said.sh: who said what, from imported turns, one envelope a line on standard input.
#
# Members of canonical JSON stand in the order of their names, so sed finds them.
exec sed -n 's/.*"canonical_content":{"session":[0-9]*,"speaker":"\([^"]*\)","text":"\(.*\)","turn":"\([^"]*\)"}.*/  \3 \1: \2/p'
