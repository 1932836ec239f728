package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// defaultScope is the scope of a single person's memories: what commands that
// need a scope take when none is named.
const defaultScope = "user"

const aboutProgram = `Oxbow keeps what an agent knows true: memories go in, jobs judge them, time
passes, and every change can be explained.

With no configuration everything is kept in one file in your data directory and
judged by rules, without a network. Memories belong to a scope, a name such as
user:ada or project:apollo; commands that need one take "user" when none is named.`

const rootExample = `  oxbow remember "We use PostgreSQL"
  oxbow remember "We moved from PostgreSQL to MySQL"
  oxbow memory list
  oxbow memory why ID`

// The groups of commands in the help.
const (
	groupMemory = "memory"
	groupWork   = "work"
	groupCare   = "care"
)

// rootCommand gives the program's commands: a line each.
func rootCommand(a *app) *cobra.Command {
	root := group(a, "oxbow", "the lifecycle worker behind an agent's memory")
	root.Long, root.Example = aboutProgram, rootExample
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.messages)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s; see: %s --help", err.Error(), cmd.CommandPath())
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		cmd.Flags().Visit(trimList)
		return oneOfFlag("output", a.format, "table", "json")
	}
	globalFlags(a, root)
	root.AddGroup(&cobra.Group{ID: groupMemory, Title: "Memories:"}, &cobra.Group{ID: groupWork, Title: "Jobs and time:"},
		&cobra.Group{ID: groupCare, Title: "Looking after it:"})
	add := func(group string, cmd *cobra.Command) {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
	add(groupMemory, rememberCommand(a))
	add(groupMemory, ingestCommand(a))
	add(groupMemory, recallCommand(a))
	add(groupMemory, contextCommand(a))
	add(groupMemory, memoryCommand(a))
	add(groupMemory, turnCommand(a))
	add(groupMemory, graphCommand(a))
	add(groupMemory, scopeCommand(a))
	add(groupMemory, eraseCommand(a))
	add(groupWork, serveCommand(a))
	add(groupWork, mcpCommand(a))
	add(groupWork, mcpConfigCommand(a))
	add(groupWork, workCommand(a))
	add(groupWork, jobCommand(a))
	add(groupWork, runCommand(a))
	add(groupWork, eventCommand(a))
	add(groupWork, queueCommand(a))
	add(groupWork, scheduleCommand(a))
	add(groupCare, statusCommand(a))
	add(groupCare, doctorCommand(a))
	add(groupCare, llmCommand(a))
	add(groupCare, evalCommand(a))
	add(groupCare, exportCommand(a))
	add(groupCare, importCommand(a))
	add(groupCare, keyCommand(a))
	add(groupCare, dbCommand(a))
	add(groupCare, configCommand(a))
	add(groupCare, a.demoCommand())
	add(groupCare, versionCommand(a))
	root.SetHelpCommandGroupID(groupCare)
	root.SetCompletionCommandGroupID(groupCare)
	return root
}

// trimList takes the blanks off what stands between commas, where people write them.
func trimList(f *pflag.Flag) {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok || f.Value.Type() != "stringSlice" {
		return
	}
	trimmed := list.GetSlice()
	for i := range trimmed {
		trimmed[i] = strings.TrimSpace(trimmed[i])
	}
	_ = list.Replace(trimmed) // which of texts always succeeds
}

func globalFlags(a *app, root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("db", "", "the database: a file, or a postgres:// URL (default: a file in your data directory)")
	f.String("tenant", "", `whose memories (default "default")`)
	f.String("config", "", "the configuration file (default: oxbow/config.toml in your configuration directory)")
	f.String("judge", "", `what judges: offline or openai (default "offline")`)
	f.String("embedder", "", `what makes the vectors of recall: offline, openai or none (default "offline")`)
	f.StringVarP(&a.format, "output", "o", "table", "how data is printed: table or json")
	f.SortFlags = false
}

// group gives a command that only has subcommands. Without one it prints what
// there is; a wrong one is an error that suggests the right one.
func group(a *app, use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.HasParent() {
			cmd.SetOut(a.messages)
			return errors.Join(cmd.Help(), usage("%s needs a subcommand", cmd.CommandPath()))
		}
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return usage("there is no %s %s%s see: %s --help", cmd.CommandPath(), args[0], orSemicolon(hint), cmd.CommandPath())
	}
	cmd.AddCommand(subs...)
	return cmd
}

func orSemicolon(hint string) string {
	if hint == "" {
		return ";"
	}
	return hint
}

// exactly, atLeast and noArgs check the number of arguments and name them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage("%s takes %s; see: %s --help", cmd.CommandPath(), strings.Join(names, " and "), cmd.CommandPath())
		}
		return nil
	}
}

func atLeast(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s needs %s; see: %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, and was given %q; see: %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// oneOfFlag refuses a flag's value that is not one of the words.
func oneOfFlag(name, value string, words ...string) error {
	if err := oneOf(words...)(value); err != nil {
		return usage("--%s %s", name, err.Error())
	}
	return nil
}
