// Command oxbow is the lifecycle worker behind an agent's memory, and the way
// to use it from a shell: remember and ingest take things in, work runs the jobs
// that judge them, memory why tells what became of one and for what reason.
//
// Data goes to standard output and messages to standard error. The package wires
// stores, judges, worker and engine together and has no rules of its own; it is
// the only place that reads flags and the environment. A subcommand is a file,
// and a line in root.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run gives the exit code of one invocation. The first signal asks commands to
// end; after it the system's own handling is back, so a second one ends the
// program at once.
func run(args []string, in io.Reader, out, messages io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	a := newApp(in, out, messages, os.LookupEnv)
	root := rootCommand(a)
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}
