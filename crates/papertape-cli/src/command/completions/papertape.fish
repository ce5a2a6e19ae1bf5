# Completion of papertape in fish. `papertape complete` prints a word, a tab and its description per line.
function __papertape_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    papertape complete fish -- (count $words) $words (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command papertape --no-files --keep-order --arguments '(__papertape_complete)'
