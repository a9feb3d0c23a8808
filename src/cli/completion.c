// SPDX-License-Identifier: Apache-2.0
// ingot completion: scripts by which shells complete commands, options and files, made from the
// same tables as the help texts.
#include <string.h>

#include "cli/cli.h"

// Does the option take the name of a file?
static bool takes_file(const cli_option *o) {
  static const char *const words[] = {"FILE", "DIR", "PAGE", "NAME=FILE"};
  for (size_t i = 0; o->value && i < sizeof words / sizeof *words; i++) {
    if (strcmp(o->value, words[i]) == 0) return true;
  }
  return false;
}

// The help text in one line, without what the shell's quotes and brackets would take for their own.
static void put_help(const char *text, const char *escaped) {
  for (; *text; text++) {
    if (*text == '\'') {
      (void)fputs("'\\''", stdout);
    } else {
      if (strchr(escaped, *text)) (void)putchar('\\');
      (void)putchar(*text == '\n' ? ' ' : *text);
    }
  }
}

// ---- bash

static void put_names(const cli_command *command, bool (*wanted)(const cli_option *)) {
  const char *space = "";
  for (size_t i = 0; i < cli_option_count(command); i++) {
    const cli_option *o = cli_option_at(command, i);
    if (!wanted(o)) continue;
    cli_out("%s%s", space, o->name);
    if (o->brief) cli_out(" %s", o->brief);
    space = " ";
  }
}

static bool is_any(const cli_option *o) {
  (void)o;
  return true;
}
static bool is_other(const cli_option *o) {
  return o->value && !takes_file(o);
}

static void bash(const cli_command *const *commands, size_t n) {
  cli_out(
      "# bash completion of ingot: source <(ingot completion bash)\n"
      "_ingot() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= other=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '");
  for (size_t i = 0; i < n; i++) cli_out("%s ", commands[i]->name);
  cli_out("--help --version' -- \"$cur\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; i < n; i++) {
    cli_out("    %s) options='", commands[i]->name);
    put_names(commands[i], is_any);
    cli_out("' other='");
    put_names(commands[i], is_other);
    cli_out("' ;;\n");
  }
  cli_out(
      "  esac\n"
      "  if [ \"$prev\" = --color ]; then\n"
      "    COMPREPLY=($(compgen -W 'auto always never' -- \"$cur\"))\n"
      "  elif [[ \" $other \" == *\" $prev \"* ]]; then\n"
      "    :\n"
      "  elif [[ \"$cur\" == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
      "  else\n"
      "    local IFS=$'\\n'\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _ingot ingot\n");
}

// ---- zsh

static void zsh(const cli_command *const *commands, size_t n) {
  cli_out(
      "#compdef ingot\n# zsh completion of ingot: a file _ingot in a folder of $fpath\n"
      "_ingot() {\n  local -a commands\n  commands=(\n");
  for (size_t i = 0; i < n; i++) {
    cli_out("    '%s:", commands[i]->name);
    put_help(commands[i]->summary, ":\\");
    cli_out("'\n");
  }
  cli_out(
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n");
  for (size_t i = 0; i < n; i++) {
    cli_out("    %s) _arguments -s", commands[i]->name);
    for (size_t k = 0; k < cli_option_count(commands[i]); k++) {
      const cli_option *o = cli_option_at(commands[i], k);
      for (int brief = 0; brief < (o->brief ? 2 : 1); brief++) {
        cli_out(" \\\n      '*%s[", brief ? o->brief : o->name);
        put_help(o->help, "[]\\:");
        cli_out("]");
        if (o->value) cli_out(":%s:%s", o->value, takes_file(o) ? "_files" : "");
        cli_out("'");
      }
    }
    cli_out(" \\\n      '*:file:_files' ;;\n");
  }
  cli_out("  esac\n}\ncompdef _ingot ingot\n");
}

// ---- fish

static void fish(const cli_command *const *commands, size_t n) {
  cli_out("# fish completion of ingot: ~/.config/fish/completions/ingot.fish\n");
  for (size_t i = 0; i < n; i++) {
    cli_out("complete -c ingot -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
    put_help(commands[i]->summary, "\\");
    cli_out("'\n");
    for (size_t k = 0; k < cli_option_count(commands[i]); k++) {
      const cli_option *o = cli_option_at(commands[i], k);
      cli_out("complete -c ingot -n '__fish_seen_subcommand_from %s' -l %s", commands[i]->name,
              o->name + 2);
      if (o->brief) cli_out(" -s %s", o->brief + 1);
      if (o->value) cli_out(takes_file(o) ? " -r -F" : " -x");
      cli_out(" -d '");
      put_help(o->help, "\\");
      cli_out("'\n");
    }
  }
}

static int run(ig_ctx *c, const char *const *files) {
  (void)c;
  static const struct {
    const char *name;
    void (*put)(const cli_command *const *commands, size_t n);
  } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  size_t n = 0;
  const cli_command *const *commands = cli_commands(&n);
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    if (strcmp(files[0], shells[i].name) != 0) continue;
    shells[i].put(commands, n);
    return CLI_OK;
  }
  return cli_usage(&cli_completion, "'%s' is not one of bash, zsh, fish", files[0]);
}

static const cli_example examples[] = {
    {"source <(ingot completion bash)", "in ~/.bashrc"},
    {"ingot completion zsh > ~/.zsh/_ingot", "in a folder of $fpath"},
    {"ingot completion fish > ~/.config/fish/completions/ingot.fish", "for fish"},
};
const cli_command cli_completion = {
    .name = "completion",
    .arguments = "bash | zsh | fish",
    .summary = "a script by which a shell completes commands, options and files",
    .details = "Prints the script for a shell.",
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
