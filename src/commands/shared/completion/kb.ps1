# Completion of kb for PowerShell.
# Load it with: kb completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName kb -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.PSObject.Properties['Value']) { [string]$_.Value } else { $_.Extent.Text } })
    $words += $wordToComplete.Trim([char[]]"'""")
    # Before 7.3, empty arguments and the double quotes inside others would be lost.
    if ($PSVersionTable.PSVersion -lt [version]'7.3' -or $PSNativeCommandArgumentPassing -eq 'Legacy') {
        $words = @($words | ForEach-Object { if ($_ -eq '') { '""' } else { $_.Replace('"', '\"') } })
    }
    $encoding = [Console]::OutputEncoding
    [Console]::OutputEncoding = [System.Text.Encoding]::UTF8
    try { $answers = @(kb __complete -- @words 2>$null) } finally { [Console]::OutputEncoding = $encoding }
    foreach ($answer in $answers) {
        if ($answer -eq ':files') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
            continue
        }
        if ($answer -eq ':open') { continue } # no space is added anyway
        $value, $help = $answer.Split([char]9, 2)
        $text = if ($value -match '^[\w./+=:-]+$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
        $shown = if ($help) { $help } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $shown)
    }
}
