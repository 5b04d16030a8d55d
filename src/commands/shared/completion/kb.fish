# Completion of kb for fish.
# Load it with: kb completion fish | source

function __kb_complete
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    # An open quote has to be closed before the word can be unquoted.
    set -l word (string unescape -- $typed; or string unescape -- "$typed'"; or string unescape -- "$typed\"")
    set -l answers (command kb __complete -- $before[2..-1] "$word" </dev/null 2>/dev/null)
    if contains -- :files $answers
        set -l flag (string match -r -- '^--[^=]*=' "$word")
        set -l path (string escape -n -- (string replace -- "$flag" '' "$word"))
        printf '%s\n' "$flag"(complete -C "'' $path")
    end
    string match -v -r -- '^:(files|open)$' $answers # fish itself adds no space after =
end

complete -c kb -f -k -a '(__kb_complete)'
