#compdef kb
# Completion of kb for zsh.
# Load it after compinit with: source <(kb completion zsh)

_kb() {
  local answer value
  local -a pairs open
  for answer in "${(@f)$(command kb __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" </dev/null 2>/dev/null)}"; do
    if [[ $answer == :files ]]; then
      compset -P '--*='
      _files
    elif [[ $answer == :open ]]; then
      open=(-S '') # no space
    elif [[ -n $answer ]]; then
      value=${answer%%$'\t'*}
      pairs+=("${${value//\\/\\\\}//:/\\:}:${answer#*$'\t'}")
    fi
  done
  ((${#pairs})) && _describe -t values value pairs "${open[@]}"
}

# Sourced it registers itself; as a file of the function path it is called instead.
if [[ ${funcstack[1]} == _kb ]]; then
  _kb "$@"
else
  compdef _kb kb
fi
