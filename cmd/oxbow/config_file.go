package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// fileValue is what a line of the configuration file sets.
type fileValue struct {
	text string
	line int
}

// maxConfigBytes bounds a configuration file; a larger one is something else.
const maxConfigBytes = 1 << 20

// readFile reads the file that --config or OXBOW_CONFIG names, else the one in
// the user's configuration directory when there is one.
func (a *app) readFile(cmd *cobra.Command) (map[string]fileValue, string, error) {
	path, named := a.configPath(cmd)
	if path == "" {
		return nil, "", nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, path, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, oxbow.Errorf(oxbow.CodeNotFound, "there is no configuration file %s; leave out --config, or write one", path)
	case err == nil && info.Size() > maxConfigBytes:
		return nil, path, usage("%s is too large for a configuration file", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, path, oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot read the configuration file")
	}
	values, err := parseConfig(string(raw))
	if err != nil {
		return nil, path, usage("%s: %s", path, err.Error())
	}
	return values, path, nil
}

func (a *app) configPath(cmd *cobra.Command) (path string, named bool) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		return f.Value.String(), true
	}
	if v, ok := a.env("OXBOW_CONFIG"); ok && v != "" {
		return v, true
	}
	if dir, ok := a.env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "oxbow", "config.toml"), false
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(home, ".config", "oxbow", "config.toml"), false
}

var (
	tableForm = regexp.MustCompile(`^\[\s*([a-z_]+)\s*\]$`)
	entryForm = regexp.MustCompile(`^([a-z_]+(?:\.[a-z_]+)?)\s*=\s*(.+)$`)
	plainForm = regexp.MustCompile(`^(?:true|false|-?[0-9]+(?:\.[0-9]+)?)$`)
)

// parseConfig reads the part of TOML that settings need: tables, and keys with
// a string, a number or a truth value, one a line. Everything else is an error
// that names its line, and so is a key that does not exist.
func parseConfig(s string) (map[string]fileValue, error) {
	if !utf8.ValidString(s) {
		return nil, usage("it is not UTF-8")
	}
	out := map[string]fileValue{}
	section := ""
	lines := bufio.NewScanner(strings.NewReader(strings.TrimPrefix(s, "\ufeff")))
	lines.Buffer(nil, maxConfigBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			m := tableForm.FindStringSubmatch(strings.TrimSpace(withoutComment(line)))
			if m == nil {
				return nil, usage("line %d: a table is written as [openai]", n)
			}
			section = m[1] + "."
			continue
		}
		name, value, err := parseEntry(line)
		if err != nil {
			return nil, usage("line %d: %s", n, err.Error())
		}
		name = section + name
		if !isKey(name) {
			return nil, usage("line %d: there is no setting %s; oxbow config show lists them", n, name)
		}
		if before, ok := out[name]; ok {
			return nil, usage("line %d: %s is set in line %d already", n, name, before.line)
		}
		out[name] = fileValue{text: value, line: n}
	}
	return out, lines.Err()
}

func isKey(name string) bool {
	for _, k := range keys {
		if k.name == name {
			return true
		}
	}
	return false
}

func parseEntry(line string) (name, value string, err error) {
	m := entryForm.FindStringSubmatch(line)
	if m == nil {
		return "", "", usage("a setting is written as name = \"value\"")
	}
	name, raw := m[1], m[2]
	if raw[0] == '"' || raw[0] == '\'' {
		value, err = parseString(name, raw)
		return name, value, err
	}
	value = strings.TrimSpace(withoutComment(raw))
	if !plainForm.MatchString(value) {
		return "", "", usage("the value of %s is no number: put quotation marks around it", name)
	}
	return name, value, nil
}

// parseString reads a string in quotation marks, behind which only a comment
// may stand. Strings with a backslash follow Go's rules, which are TOML's for
// everything that a setting holds.
func parseString(name, raw string) (string, error) {
	quoted, err := raw, error(nil)
	if raw[0] == '\'' {
		end := strings.IndexByte(raw[1:], '\'')
		if end < 0 {
			return "", usage("the value of %s has no closing quotation mark", name)
		}
		quoted = raw[:end+2]
	} else if quoted, err = strconv.QuotedPrefix(raw); err != nil {
		return "", usage("the value of %s is no string: check its quotation marks and backslashes", name)
	}
	if rest := strings.TrimSpace(raw[len(quoted):]); rest != "" && rest[0] != '#' {
		return "", usage("there is something behind the value of %s", name)
	}
	if quoted[0] == '\'' {
		return quoted[1 : len(quoted)-1], nil
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return "", usage("the value of %s is no string: check its quotation marks and backslashes", name)
	}
	return value, nil
}

func withoutComment(s string) string {
	before, _, _ := strings.Cut(s, "#")
	return before
}
