// Package migrations holds the numbered SQL files that make Oxbow's tables,
// one folder per dialect. The same number means the same thing in both; a file
// that has been released is never changed. Only store/sqlite and
// store/postgres read them; River's own tables come after, by rivermigrate.
package migrations

import "embed"

// SQLite holds the files of the SQLite dialect, in folder sqlite.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres holds the files of the Postgres dialect, in folder postgres.
//
//go:embed postgres/*.sql
var Postgres embed.FS
