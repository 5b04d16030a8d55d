# Completion of kb for bash.
# Load it with: source <(kb completion bash)

# The words that bash provides are split at : and = and still have their quotes, and readline replaces
# only the text after the last split, so the line is read here, character by character.
_kb_complete() {
  local line=${COMP_LINE:0:COMP_POINT} word= quote= opened= char i begun=
  local head= # the part of the word that readline leaves as it is
  local -a words
  words=()
  for ((i = 0; i < ${#line}; i++)); do
    char=${line:i:1}
    if [[ -n $quote ]]; then
      if [[ $char == "$quote" ]]; then
        quote=
      elif [[ $quote$char == '"\' && ${line:i+1:1} == [\"\\\$\`] ]]; then
        ((++i))
        word+=${line:i:1}
      else
        word+=$char
      fi
      continue
    fi
    case $char in
      [[:blank:]])
        [[ -n $begun ]] && words+=("$word")
        word= head= begun=
        continue
        ;;
      \\)
        ((++i))
        word+=${line:i:1}
        ;;
      [\"\']) quote=$char opened=$word ;;
      @)
        [[ $COMP_WORDBREAKS == *@* ]] && head=$word # readline replaces this one, too
        word+=$char
        ;;
      *)
        word+=$char
        [[ $COMP_WORDBREAKS == *"$char"* ]] && head=$word
        ;;
    esac
    begun=1
  done
  [[ -n $quote ]] && head=$opened # readline replaces all behind an open quote

  local answer value quoted files= open= width=0
  local -a abouts
  abouts=()
  COMPREPLY=()
  while IFS= read -r answer; do
    if [[ $answer == :files ]]; then
      files=1
      continue
    elif [[ $answer == :open ]]; then
      open=1
      continue
    fi
    value=${answer%%$'\t'*}
    [[ $value == "$head"* ]] || continue
    _kb_quote "$quote" "${value:${#head}}"
    COMPREPLY+=("$quoted")
    abouts+=("${answer#*$'\t'}")
    ((${#quoted} > width)) && width=${#quoted}
  done < <(command kb __complete -- "${words[@]:1}" "$word" </dev/null 2>/dev/null)
  [[ -n $files ]] || compopt +o default 2>/dev/null
  compopt -o nosort 2>/dev/null # runs come newest first
  [[ -n $open ]] && compopt -o nospace 2>/dev/null
  # A list of several (? and !) shows what each is; the shared beginning, which readline inserts, stays.
  ((${#COMPREPLY[@]} > 1)) && [[ $COMP_TYPE == 63 || $COMP_TYPE == 33 ]] || return 0
  for i in "${!COMPREPLY[@]}"; do
    [[ -n ${abouts[i]} ]] || continue
    printf -v answer '%*s' $((width + 2 - ${#COMPREPLY[i]})) ''
    answer="${COMPREPLY[i]}$answer(${abouts[i]})"
    COMPREPLY[i]=${answer:0:${COLUMNS:-80} - 2}
  done
}

# Sets quoted to the text $2 as it is typed after an open quote $1, or without one.
_kb_quote() {
  local char i
  quoted=
  for ((i = 0; i < ${#2}; i++)); do
    char=${2:i:1}
    if [[ $char == = && i -eq ${#2}-1 ]]; then
      quoted+== # its value follows
      continue
    fi
    case $1$char in
      \'\') quoted+="'\\''" ;;
      \"[\"\\\$\`]) quoted+=\\$char ;;
      \"\!) quoted+='"\!"' ;; # in quotes it would recall a line
      [\'\"]?) quoted+=$char ;;
      [][[:blank:]\"\'\\\$\`\!\&\;\|\(\)\<\>{}\*\?\#~=:@^]) quoted+=\\$char ;;
      *) quoted+=$char ;;
    esac
  done
}

complete -o default -F _kb_complete kb
