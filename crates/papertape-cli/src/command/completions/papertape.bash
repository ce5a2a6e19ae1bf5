# Completion of papertape in bash. `papertape complete` knows the line, and what bash replaces: the part of the current word after
# the last of COMP_WORDBREAKS, which has = and :.
_papertape() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(papertape complete bash -- "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" "$2" 2>/dev/null)
}
# The order of arguments is that of the tool (bash 4.4); without candidates, files are completed.
complete -o nospace -o nosort -o bashdefault -o default -F _papertape papertape 2>/dev/null ||
    complete -o nospace -o bashdefault -o default -F _papertape papertape
