# fish completion for pamctl: pamctl completion fish | source

function __pamctl_complete
    set -l words (commandline -opc)
    set -l reply (_PAMCTL_COMPLETE=fish $words (commandline -ct) 2>/dev/null)
    if test "$reply[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $reply
    end
end

complete --command pamctl --no-files --arguments '(__pamctl_complete)'
