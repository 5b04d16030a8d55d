import type { Context } from "../command-spec.ts";

/** Template text without escapes, except `\${` for the shell's own `${`. */
const script = ({ raw }: TemplateStringsArray, ...values: readonly string[]): string =>
  String.raw({ raw: raw.map((text) => text.replaceAll("\\${", "${")) }, ...values);

/** A task that prints the script for the current program. */
const printing = (scriptOf: (program: string) => string) => ({
  async *run(_: unknown, { options }: Context): AsyncGenerator<string> {
    yield scriptOf(options.program).trimEnd();
  },
});

// Every script calls back `<program> __complete -- <words>` with the words up to the cursor,
// unquoted, and quotes the candidates. No script evaluates the line: a name may contain `$(…)`.

/**
 * The script for bash. The words that bash provides are split at `:` and `=` and still have their
 * quotes, and readline replaces only the text after the last split, so the script parses the line
 * itself, character by character.
 */
export const bash = printing(
  (program) => script`# Completion of ${program} for bash.
# Load it with: source <(${program} completion bash)

_${program}_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} word= quote= opened= char i begun=
  local head= # the part of the word that readline leaves as it is
  local -a words
  words=()
  for ((i = 0; i < \${#line}; i++)); do
    char=\${line:i:1}
    if [[ -n $quote ]]; then
      if [[ $char == "$quote" ]]; then
        quote=
      elif [[ $quote$char == '"\' && \${line:i+1:1} == [\"\\\$\`] ]]; then
        ((++i))
        word+=\${line:i:1}
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
        word+=\${line:i:1}
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

  local answer value quoted files=
  COMPREPLY=()
  while IFS= read -r answer; do
    if [[ $answer == :files ]]; then
      files=1
      continue
    fi
    value=\${answer%%$'\t'*}
    [[ $value == "$head"* ]] || continue
    _${program}_quote "$quote" "\${value:\${#head}}"
    COMPREPLY+=("$quoted")
  done < <(command ${program} __complete -- "\${words[@]:1}" "$word" </dev/null 2>/dev/null)
  [[ -n $files ]] || compopt +o default 2>/dev/null
}

# Sets quoted to the text $2 as it is typed after an open quote $1, or without one.
_${program}_quote() {
  local char i
  quoted=
  for ((i = 0; i < \${#2}; i++)); do
    char=\${2:i:1}
    case $1$char in
      \'\') quoted+="'\\''" ;;
      \"[\"\\\$\`]) quoted+=\\$char ;;
      [\'\"]?) quoted+=$char ;;
      [][[:blank:]\"\'\\\$\`\!\&\;\|\(\)\<\>{}\*\?\#~=:@^]) quoted+=\\$char ;;
      *) quoted+=$char ;;
    esac
  done
}

complete -o default -F _${program}_complete ${program}
`,
);

/** The script for zsh. */
export const zsh = printing(
  (program) => script`#compdef ${program}
# Completion of ${program} for zsh.
# Load it after compinit with: source <(${program} completion zsh)

_${program}() {
  local answer value
  local -a pairs
  for answer in "\${(@f)$(command ${program} __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" </dev/null 2>/dev/null)}"; do
    if [[ $answer == :files ]]; then
      compset -P '--*='
      _files
    elif [[ -n $answer ]]; then
      value=\${answer%%$'\t'*}
      pairs+=("\${\${value//\\/\\\\}//:/\\:}:\${answer#*$'\t'}")
    fi
  done
  ((\${#pairs})) && _describe -t values value pairs
}

# Sourced it registers itself; as a file of the function path it is called instead.
if [[ \${funcstack[1]} == _${program} ]]; then
  _${program} "$@"
else
  compdef _${program} ${program}
fi
`,
);

/** The script for fish. */
export const fish = printing(
  (program) => script`# Completion of ${program} for fish.
# Load it with: ${program} completion fish | source

function __${program}_complete
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    # An open quote has to be closed before the word can be unquoted.
    set -l word (string unescape -- $typed; or string unescape -- "$typed'"; or string unescape -- "$typed\"")
    set -l answers (command ${program} __complete -- $before[2..-1] "$word" </dev/null 2>/dev/null)
    if contains -- :files $answers
        set -l flag (string match -r -- '^--[^=]*=' "$word")
        set -l path (string escape -n -- (string replace -- "$flag" '' "$word"))
        printf '%s\n' "$flag"(complete -C "'' $path")
    else
        printf '%s\n' $answers
    end
end

complete -c ${program} -f -k -a '(__${program}_complete)'
`,
);

/** The script for PowerShell, which before 7.3 loses empty arguments and the double quotes inside others. */
export const powershell = printing(
  (program) => script`# Completion of ${program} for PowerShell.
# Load it with: ${program} completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName ${program} -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.PSObject.Properties['Value']) { [string]$_.Value } else { $_.Extent.Text } })
    $words += $wordToComplete.Trim([char[]]"'""")
    if ($PSVersionTable.PSVersion -lt [version]'7.3' -or $PSNativeCommandArgumentPassing -eq 'Legacy') {
        $words = @($words | ForEach-Object { if ($_ -eq '') { '""' } else { $_.Replace('"', '\"') } })
    }
    $encoding = [Console]::OutputEncoding
    [Console]::OutputEncoding = [System.Text.Encoding]::UTF8
    try { $answers = @(${program} __complete -- @words 2>$null) } finally { [Console]::OutputEncoding = $encoding }
    foreach ($answer in $answers) {
        if ($answer -eq ':files') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
            continue
        }
        $value, $help = $answer.Split([char]9, 2)
        $text = if ($value -match '^[\w./+=:-]+$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
        $shown = if ($help) { $help } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $shown)
    }
}
`,
);
