package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pins are the versions that belong together. River's modules change their
// tables together; its SQLite driver does not resolve with a newer
// modernc.org/sqlite, and that one must run on exactly the libc it was made for.
var pins = map[string]string{
	"github.com/riverqueue/":            "v0.47.0",
	"modernc.org/sqlite":                "v1.60.1",
	"modernc.org/libc":                  "v1.77.1",
	"github.com/jackc/pgx/v5":           "v5.12.0",
	"github.com/robfig/cron/v3":         "v3.0.1",
	"github.com/sashabaranov/go-openai": "v1.43.0",
}

func TestPinnedModules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) > 0 && fields[0] == "replace" {
			t.Errorf("go.mod replaces a module, so that others would build another program: %s", strings.TrimSpace(line))
		}
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		for prefix, version := range pins {
			if !strings.HasPrefix(fields[0], prefix) {
				continue
			}
			seen[prefix] = true
			if fields[1] != version {
				t.Errorf("%s is %s, pinned to %s", fields[0], fields[1], version)
			}
		}
	}
	for prefix := range pins {
		if !seen[prefix] {
			t.Errorf("go.mod does not name %s", prefix)
		}
	}
}

// standardFolders are parents of a checkout that say nothing of a machine:
// text may well speak of /tmp.
var standardFolders = []string{"/", "/bin", "/etc", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/var", "/var/tmp", "/usr/src"}

func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	dir := root(t)
	needles := [][]byte{[]byte(dir + "/")}
	if up := filepath.Dir(dir); !slices.Contains(standardFolders, up) {
		needles = append(needles, []byte(up+"/"))
	}
	if home, err := os.UserHomeDir(); err == nil && !slices.Contains(standardFolders, home) {
		needles = append(needles, []byte(home+"/"))
	}
	for _, path := range tracked(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			continue // deleted and not committed yet, or not text
		}
		for _, n := range needles {
			if bytes.Contains(text, n) {
				t.Errorf("%s names a folder of this machine", path)
			}
		}
	}
}

// tracked lists what git tracks or would.
func tracked(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git does not list this folder (%v), so there is no telling what belongs to the project", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
}
