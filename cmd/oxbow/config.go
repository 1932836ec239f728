package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm/meter"
)

// key is one thing that can be set: by its flag, by OXBOW_ and its name in
// capitals, in the file, or not at all.
type key struct {
	name   string
	flag   string // "" when only environment and file set it
	preset string
	about  string
	secret bool
	check  func(string) error
}

// keys lists everything that can be set.
var keys = []key{
	{name: "db", flag: "db", about: "the database: a file, or a postgres:// URL", check: checkDatabase},
	{name: "tenant", flag: "tenant", preset: "default", about: "whose memories", check: checkTenant},
	{name: "judge", flag: "judge", preset: "offline", about: "offline or openai", check: oneOf("offline", "openai")},
	{name: "embedder", flag: "embedder", preset: "offline", about: "what makes the vectors of recall: offline, openai or none", check: oneOf("offline", "openai", "none")},
	{name: "graph", preset: "offline", about: "what reads memories for the graph: offline (rules), judge (the judge, one question a memory) or none", check: oneOf("offline", "judge", "none")},
	{name: "openai.base_url", preset: "https://api.openai.com/v1", about: "the endpoint, without /chat/completions"},
	{name: "openai.key", secret: true, about: "sent to the endpoint as a bearer token"},
	{name: "openai.azure_version", about: "the api-version of Azure's interface by deployments, with a base URL that ends with the host; not for /openai/v1"},
	{name: "openai.model", about: "answers every question but synthesis"},
	{name: "openai.synthesis_model", about: "writes merged memories; the model when it is empty"},
	{name: "openai.embedding_model", about: "makes the vectors when the embedder is openai"},
	{name: "openai.embedding_dimensions", preset: "0", about: "how long a vector is; 0 is the model's own, where that is known", check: checkTokens},
	{name: "openai.embedding_base_url", about: "the endpoint of the embedding model; openai.base_url when it is empty"},
	{name: "openai.embedding_key", secret: true, about: "its key; openai.key when the endpoint is the judge's"},
	{name: "openai.timeout", preset: "20s", about: "of one request", check: checkDuration},
	{name: "openai.synthesis_timeout", preset: "60s", about: "of one request for a synthesis", check: checkDuration},
	{name: "openai.max_text", preset: "65536", about: "bytes of one text that the model is shown; lower it for a small context", check: checkTokens},
	{name: "openai.extra_body", about: `further fields of every request to the judge, as JSON, such as {"reasoning_effort": "low"}`, check: checkExtra},
	{name: "openai.max_output_tokens", preset: "0", about: "bounds an answer, hidden reasoning included; 0 is the endpoint's bound", check: checkTokens},
	{name: "openai.requests_per_second", preset: "5", about: "requests over it wait for their turn; 0 is no bound", check: checkRate},
	{name: "openai.break_for", preset: "30s", about: "how long an endpoint is left alone that was away five times in a row", check: checkDuration},
	{name: "openai.budget", preset: "2000000", about: "tokens that a tenant may take in a day of UTC; -1 is no limit", check: checkBudget},
	{name: "openai.prices", about: "over the known ones: MODEL=IN/OUT or MODEL=IN/CACHED/OUT, in dollars for a million tokens, with commas", check: checkPrices},
	{name: "recall.vector_mib", preset: "64", about: "MiB of memory for the vectors of all scopes together; larger scopes are rescored only", check: checkMiB},
	{name: "worker.write", flag: "write", preset: "8", about: "how many jobs of the queue write run at once", check: checkCount},
	{name: "worker.maintenance", flag: "maintenance", preset: "2", about: "the same of the queue maintenance", check: checkCount},
	{name: "worker.synthesis", flag: "synthesis", preset: "1", about: "the same of the queue synthesis", check: checkCount},
	{name: "worker.stop_within", flag: "stop-within", preset: "4s", about: "how long running jobs may finish when a worker stops", check: checkDuration},
	{name: "worker.metrics_addr", flag: "metrics-addr", about: "where oxbow work answers with its metrics and health; nowhere when it is empty"},
	{name: "addr", flag: "addr", preset: "127.0.0.1:7437", about: "where oxbow serve listens"},
	{name: "host", flag: "host", about: "names that oxbow serve answers to, beside localhost, with commas"},
	{name: "drain_for", flag: "drain-for", preset: "0s", about: "how long requests are still answered, and /readyz says draining, after a server was told to stop", check: checkPause},
	{name: "log.level", flag: "log-level", preset: "info", about: "debug, info, warn or error", check: oneOf("debug", "info", "warn", "error")},
}

// variable is the key's name in the environment.
func (k key) variable() string {
	return "OXBOW_" + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// setting is a value and where it comes from.
type setting struct {
	key    key
	value  string
	origin string
}

// settings are all of them, by name.
type settings map[string]setting

// settings puts the layers on each other: flag, environment, file, default.
// heed says whether DATABASE_URL counts, right under OXBOW_DB.
func (a *app) settings(cmd *cobra.Command, heed bool) (settings, error) {
	file, path, err := a.readFile(cmd)
	if err != nil {
		return nil, err
	}
	out := settings{}
	for _, k := range keys {
		out[k.name] = a.layered(cmd, k, file, path)
	}
	if db := out["db"]; heed && !strings.HasPrefix(db.origin, "flag") && db.origin != "OXBOW_DB" {
		if v, ok := a.env("DATABASE_URL"); ok && v != "" {
			db.value, db.origin = v, "DATABASE_URL"
			out["db"] = db
		}
	}
	if db := out["db"]; db.origin == "default" {
		db.value, err = a.defaultDatabase()
		out["db"] = db
	}
	return out, err
}

func (a *app) layered(cmd *cobra.Command, k key, file map[string]fileValue, path string) setting {
	if k.flag != "" {
		if f := cmd.Flags().Lookup(k.flag); f != nil && f.Changed {
			return setting{k, f.Value.String(), "flag --" + k.flag}
		}
	}
	if v, ok := a.env(k.variable()); ok && v != "" {
		return setting{k, v, k.variable()}
	}
	if v, ok := file[k.name]; ok {
		return setting{k, v.text, fmt.Sprintf("%s, line %d", path, v.line)}
	}
	return setting{k, k.preset, "default"}
}

// check refuses values that nothing can work with, and names where they come from.
func (s settings) check() error {
	for _, k := range keys {
		v := s[k.name]
		if k.check == nil {
			continue
		}
		if err := k.check(v.value); err != nil {
			return usage("%s (from %s) %s", k.name, v.origin, err.Error())
		}
	}
	return nil
}

func (s settings) text(name string) string { return s[name].value }

// count and period read values that check has let through.
func (s settings) count(name string) int {
	n, _ := strconv.Atoi(s[name].value)
	return n
}

func (s settings) period(name string) time.Duration {
	d, _ := time.ParseDuration(s[name].value)
	return d
}

func (s settings) tokens(name string) int64 {
	n, _ := strconv.ParseInt(s[name].value, 10, 64)
	return n
}

func (s settings) number(name string) float64 {
	n, _ := strconv.ParseFloat(s[name].value, 64)
	return n
}

func (s settings) level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(s.text("log.level")))
	return l
}

// masked gives a value as it may be shown: no key, no password.
func (s setting) masked() string {
	switch {
	case s.key.secret && s.value != "":
		return "[redacted]"
	case s.key.name == "db" && isPostgres(s.value):
		u, err := url.Parse(s.value)
		if err != nil {
			return "[a URL that cannot be read]"
		}
		q := u.Query()
		if q.Has("password") {
			q.Set("password", "xxxxx")
			u.RawQuery = q.Encode()
		}
		return u.Redacted()
	}
	return s.value
}

// defaultDatabase is a file in the user's data directory.
func (a *app) defaultDatabase() (string, error) {
	if dir, ok := a.env("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "oxbow", "oxbow.db"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage("there is no home directory to keep the database in: name one with --db")
	}
	return filepath.Join(home, ".local", "share", "oxbow", "oxbow.db"), nil
}

func isPostgres(db string) bool {
	return strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://")
}

func checkDatabase(v string) error {
	switch {
	case v == "":
		return fmt.Errorf("is empty: give a file or a postgres:// URL")
	case strings.HasPrefix(v, "file:"):
		return fmt.Errorf("is a URL of a file: give the path alone, %s", strings.TrimPrefix(strings.TrimPrefix(v, "file:"), "//"))
	case strings.Contains(v, "://") && !isPostgres(v):
		return fmt.Errorf("is a URL of another kind: give a file, or a URL such as postgres://user:password@host:5432/database")
	}
	return nil
}

func checkTenant(v string) error {
	if (oxbow.Scope{Tenant: v, Name: "any"}).Validate() != nil {
		return fmt.Errorf("is %q: use up to 128 letters, digits and . _ : @ / + -", v)
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		for _, w := range words {
			if v == w {
				return nil
			}
		}
		return fmt.Errorf("is %q: use %s", v, strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
}

func checkDuration(v string) error {
	if d, err := time.ParseDuration(v); err != nil || d <= 0 {
		return fmt.Errorf("is %q: use a duration such as 20s", v)
	}
	return nil
}

// checkPause is checkDuration for what may be none.
func checkPause(v string) error {
	if d, err := time.ParseDuration(v); err != nil || d < 0 {
		return fmt.Errorf("is %q: use a duration such as 10s, or 0s", v)
	}
	return nil
}

func checkTokens(v string) error {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 0 {
		return fmt.Errorf("is %q: use a whole number of tokens, or 0", v)
	}
	return nil
}

func checkMiB(v string) error {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 0 {
		return fmt.Errorf("is %q: use a whole number of MiB, or 0 for none", v)
	}
	return nil
}

func checkBudget(v string) error {
	if n, err := strconv.ParseInt(v, 10, 64); err != nil || n != -1 && (n < 1 || n > 1<<50) {
		return fmt.Errorf("is %q: use a whole number of tokens above 0, or -1 for no limit", v)
	}
	return nil
}

func checkRate(v string) error {
	if n, err := strconv.ParseFloat(v, 64); err != nil || !(n >= 0 && n <= 1000) {
		return fmt.Errorf("is %q: use a number from 0 to 1000, such as 5 or 0.5", v)
	}
	return nil
}

func checkPrices(v string) error {
	if _, err := meter.ParsePrices(v); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	return nil
}

func checkExtra(v string) error {
	if _, err := parseExtra(v); err != nil {
		return fmt.Errorf(`is no JSON object: write it such as {"reasoning_effort": "low"}`)
	}
	return nil
}

// mostJobs bounds a queue's concurrency; River allows no more.
const mostJobs = 10_000

func checkCount(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 || n > mostJobs {
		return fmt.Errorf("is %q: use a whole number from 1 to %d", v, mostJobs)
	}
	return nil
}
