import { task } from "../../task/command-spec.ts";

const completion = (shell: string, ...examples: readonly string[]) =>
  task({
    command: `completion ${shell}`,
    action: "print completion script",
    summary: `Print the completion script for ${shell}`,
    about:
      "The first example is for this shell, the second for every new one. kb and wf have a script each.",
    params: {},
    sends: [],
    effect: "reads",
    examples,
  });

export const bash = completion(
  "bash",
  "source <(kb completion bash)",
  "echo 'source <(kb completion bash)' >> ~/.bashrc",
);

export const zsh = completion(
  "zsh",
  "source <(kb completion zsh)",
  "echo 'source <(kb completion zsh)' >> ~/.zshrc",
);

export const fish = completion(
  "fish",
  "kb completion fish | source",
  "kb completion fish >> ~/.config/fish/config.fish",
);

export const powershell = completion(
  "powershell",
  "kb completion powershell | Out-String | Invoke-Expression",
  "kb completion powershell >> $PROFILE",
);
