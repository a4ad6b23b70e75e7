#!/bin/sh
# Stands for a model: answers with the line of its context that shares most words with the
# question. Like a model, it sees nothing but what it is handed.
#
#   model.sh QUESTION < CONTEXT
exec awk -v question="$1" '
    BEGIN { count = split(tolower(question), words, /[^a-z]+/) }
    /^\[\/?pam-memory / { next }
    {
        line = tolower($0)
        score = 0
        for (i = 1; i <= count; i++)
            if (length(words[i]) > 2 && index(line, words[i])) score++
        if (score > best) { best = score; answer = $0 }
    }
    END { print best ? answer : "I do not know." }
'
