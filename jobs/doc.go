// Package jobs is what Oxbow does to memories: one file per job, each a River
// worker with its own timeout, number of attempts and outcome.
//
// Every job has the same shape. It reads a snapshot; it asks the judge outside
// of any transaction; and then, in one short transaction, it proves that it is
// still the attempt that River runs, writes its ledger key (which decides
// whether the effect is still to be had), re-checks what it read, applies its
// changes with their events, enqueues what follows, and completes itself
// (commit.go). A job that is killed anywhere, rescued, or run twice therefore
// has its effect once.
//
// What a judge says goes through gate.go and nowhere else. What two statements
// do to each other is worked out by oxbow.Settle, over the group of everything
// that verdicts connect (settle.go). Passes over a scope share passes.go.
//
// Jobs do not schedule themselves (package schedule does), open no database and
// read no configuration. The arguments hold ids and instants, never content.
package jobs
