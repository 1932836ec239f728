package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const guidePath = "../../docs/guide.md"

// guideBlock is a block of the guide: what stands behind its fence, and its text.
type guideBlock struct{ sort, text string }

// guideBlocks reads the fenced blocks of the guide in their order.
func guideBlocks(t *testing.T) []guideBlock {
	t.Helper()
	f, err := os.Open(guidePath)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []guideBlock
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fence, isFence := strings.CutPrefix(lines.Text(), "```")
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			inside = true
			out = append(out, guideBlock{sort: fence})
		case inside:
			out[len(out)-1].text += lines.Text() + "\n"
		}
	}
	return out
}

// reader is a new person with a home, a folder and a port of their own.
type reader struct {
	*testing.T
	dir  string
	port string
	env  []string
}

// model answers like one that repeats what it was shown, and gives what it was
// asked.
func model(t *testing.T) (url string, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	var last string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/chat/completions" || len(in.Messages) != 1 {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		last = in.Messages[0].Content
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"MySQL, since May."}}]}`))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

func newReader(t *testing.T, more ...string) *reader {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil || ln.Close() != nil {
		t.Fatal("no port is free")
	}
	dir := t.TempDir()
	env := append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"OXBOW_ADDR=127.0.0.1:"+port, "DATABASE_URL=", "NO_PROXY=*")
	return &reader{T: t, dir: dir, port: port, env: append(env, more...)}
}

// shell makes the command that a block is, at the port that is free here.
func (r *reader) shell(text string) *exec.Cmd {
	cmd := exec.CommandContext(r.Context(), "sh", "-ec", strings.ReplaceAll(text, ":7437", ":"+r.port))
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a block to its end and gives what it printed.
func (r *reader) run(text string) string {
	r.Helper()
	out, err := r.shell(text).CombinedOutput()
	if err != nil {
		r.Fatalf("a command of the guide fails: %v\n%s\n%s", err, text, out)
	}
	return string(out)
}

// forever starts a block that does not end, and gives what it printed so far.
func (r *reader) forever(text string) (printed func() string) {
	r.Helper()
	out := filepath.Join(r.dir, "forever"+strings.Fields(text)[0])
	f, err := os.Create(out)
	if err != nil {
		r.Fatal(err)
	}
	cmd := r.shell(text)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		_ = f.Close()
	})
	return func() string {
		b, err := os.ReadFile(out)
		if err != nil {
			r.Fatal(err)
		}
		return string(b)
	}
}

// until waits for something to become true.
func (r *reader) until(what string, ok func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			r.Fatal("never: " + what)
		case <-look.C:
		}
	}
}

func (r *reader) answers() bool {
	req, err := http.NewRequestWithContext(r.Context(), "GET", "http://127.0.0.1:"+r.port+"/readyz", nil)
	if err != nil {
		r.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// TestGuide runs every command of the guide in its order, as a reader would, and
// holds what they print against what the guide says.
func TestGuide(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "jq", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the guide needs %s, which is not here", tool)
		}
	}
	url, asked := model(t)
	r := newReader(t, "MODEL_URL="+url, "MODEL=small", "MODEL_KEY=none")
	var printed string
	var live func() string
	ran := 0
	for _, b := range guideBlocks(t) {
		switch {
		case b.sort == "output":
			for line := range strings.Lines(b.text) {
				if !strings.Contains(printed, strings.TrimSpace(line)) {
					t.Errorf("the guide shows %q, and the command prints\n%s", line, printed)
				}
			}
		case strings.HasPrefix(b.text, "make "): // what it makes is what this test runs
			ran++
			makes(t, b.text)
		case b.sort == "sh forever":
			ran++
			live = r.forever(b.text)
			r.until("the server answers", r.answers)
		case b.sort == "sh":
			ran++
			printed = r.run(b.text)
		}
	}
	if ran < 12 {
		t.Errorf("only %d blocks of the guide are commands", ran)
	}
	if !strings.Contains(asked(), "from PostgreSQL to MySQL") || !strings.Contains(asked(), "Which database does the billing service use?") {
		t.Errorf("the model was asked %q", asked())
	}
	r.until("the stream shows what was superseded", func() bool { return strings.Contains(live(), `"superseded"`) })
}

// makes holds the target of a command against the Makefile, without making it.
func makes(t *testing.T, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.Replace(text, "make ", "make -n ", 1))
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "-o bin/oxbow") {
		t.Errorf("%s: %v\n%s", text, err, out)
	}
}
