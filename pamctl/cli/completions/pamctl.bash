# bash completion for pamctl: eval "$(pamctl completion bash)"

_pamctl_completion() {
    local line
    local -a reply=()
    while IFS= read -r line; do
        reply+=("$line")
    done < <(_PAMCTL_COMPLETE=bash _PAMCTL_WORDBREAKS="$COMP_WORDBREAKS" \
        "$1" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=()
    if [[ ${reply[0]-} == :files ]]; then
        compopt -o default
    else
        COMPREPLY=("${reply[@]}")
    fi
}

complete -F _pamctl_completion pamctl
