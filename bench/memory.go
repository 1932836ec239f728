package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
	"github.com/oxbow-memory/oxbow/worker"
)

// residentGoal is in bytes.
const residentGoal = 200 << 20

// memory measures the resident memory of a worker, in a process of its own,
// that reads a few hundred turns and runs a decay and an expire pass with a
// million memories stored.
func memory(ctx context.Context, l *lab) ([]result, error) {
	d, err := l.with(ctx, l.cfg.rows)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, self, "-resident", d.dialect, cmp.Or(d.runs, d.where))
	child.Stderr = os.Stderr
	out, err := child.Output()
	if err != nil {
		return nil, fmt.Errorf("the worker's process: %w", err)
	}
	peak, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return nil, err
	}
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	return []result{{
		what: fmt.Sprintf("resident memory of a worker, %s stored, while it works the jobs of %d turns, decay and expire", count(l.cfg.rows), turnsRead),
		goal: "< 200 MiB", measured: mib(peak), ours: mib(peak), other: "", pass: peak < residentGoal,
	}}, nil
}

// turnsRead is how many turns the child reads.
const turnsRead = 300

// resident is the child: it works on the database and prints its peak in bytes.
func resident(ctx context.Context, dialect, where string) (err error) {
	d := &db{dialect: dialect, where: where}
	switch dialect {
	case "sqlite":
		d.st, err = sqlite.Open(ctx, sqlite.Config{Path: where})
	case "postgres":
		d.st, err = postgres.Open(ctx, postgres.Config{URL: where})
	default:
		err = fmt.Errorf("there is no database %q", dialect)
	}
	if err != nil {
		return err
	}
	w, err := worker.New(d.deps(), worker.Config{})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	if _, err := d.engine().Ingest(ctx, conversation()); err != nil {
		return err
	}
	// Drain would count every waiting job again and again; the passes come
	// last on their own queue, so the turns are asked for.
	if err := d.extracted(ctx); err != nil {
		return err
	}
	// About one in a hundred fades in a day of the loaded memories.
	if err := d.runPass(ctx, "decay", present.AddDate(0, 0, 1), 1); err != nil {
		return err
	}
	if err := d.runPass(ctx, "expire", present.Add(time.Hour), 1); err != nil {
		return err
	}
	if err := w.Drain(ctx, "", nil); err != nil {
		return err
	}
	if err := errors.Join(w.Stop(ctx), d.st.Close()); err != nil {
		return err
	}
	peak, err := highWater()
	fmt.Println(peak)
	return err
}

// conversation gives turns in the large scope, a minute apart.
func conversation() []oxbow.Turn {
	w := newWriter(8)
	out := make([]oxbow.Turn, turnsRead)
	for i := range out {
		out[i] = oxbow.Turn{Scope: home, Conversation: "talk", User: w.sentence() + ". " + w.sentence() + ".",
			Assistant: "Noted.", At: present.Add(time.Duration(i-turnsRead) * time.Minute)}
	}
	return out
}

// extracted waits until no turn of the scope waits.
func (d *db) extracted(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		<-tick.C
		counts, err := d.st.CountTurns(ctx, home)
		if err != nil {
			return err
		}
		if counts[oxbow.TurnWaiting] == 0 {
			return nil
		}
	}
}

// highWater gives the peak of this process's resident memory in bytes, as Linux
// keeps it.
func highWater() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the peak of resident memory, which only Linux gives: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/self/status does not tell the peak of resident memory")
}
