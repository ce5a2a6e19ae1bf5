#compdef papertape
# Completion of papertape in zsh. `papertape complete` prints a word, a tab and its description per line; a word that continues
# after it (name=, a URI) is preceded by a plus, others by a minus.
_papertape() {
    local line word
    local -a whole whole_shown begun begun_shown
    while IFS= read -r line; do
        word=${${line#?}%%$'\t'*}
        if [[ $line == +* ]]; then
            begun+=("$word")
            begun_shown+=("${word}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
        else
            whole+=("$word")
            whole_shown+=("${word}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
        fi
    done < <(papertape complete zsh -- $((CURRENT - 1)) "${(@Q)words[1,CURRENT-1]}" "$PREFIX" "${(@Q)words[CURRENT+1,-1]}" 2>/dev/null)
    if (( $#whole + $#begun == 0 )); then
        _files
        return
    fi
    (( $#begun )) && compadd -V arguments -l -S '' -d begun_shown -a begun
    (( $#whole )) && compadd -V words -l -d whole_shown -a whole
}
if [[ $funcstack[1] == _papertape ]]; then
    _papertape "$@"
else
    compdef _papertape papertape
fi
