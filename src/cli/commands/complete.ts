import type { Command } from "commander";
import { choiceArgument } from "#cli/input/choice.ts";
import { addExamples } from "#cli/help/examples.ts";
import { readCommandTree } from "#cli/help/command-tree.ts";
import { SHELLS, toCompletionScript, type Shell } from "#cli/help/completion.ts";
import { writeJson, type OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export function addCompleteCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("complete")
    .description("print a script that completes commands in a shell")
    .addArgument(choiceArgument("<shell>", "the shell", SHELLS))
    .option("--json", "print JSON")
    .action((shell: Shell, options: OutputOptions) => {
      const script = toCompletionScript(readCommandTree(program), shell);
      if (options.json === true) writeJson(terminal, { shell, script });
      else terminal.writeData(script);
    });
  addExamples(command, [
    'echo "source <(lockport complete bash)" >> ~/.bashrc',
    'echo "source <(lockport complete zsh)" >> ~/.zshrc',
    "lockport complete fish > ~/.config/fish/completions/lockport.fish",
  ]);
}
