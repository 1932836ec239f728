package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/internal/metrics"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

func workCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Work jobs and keep the schedules until stopped",
		Long: `Work jobs and keep the schedules until stopped with Ctrl-C or SIGTERM: then running
jobs finish, or go back to the queue, and the program ends. A second signal ends
it at once; nothing is lost, for what was running is done again.

With --metrics-addr it answers there to Prometheus (/metrics) and to health checks, under
the rules of oxbow serve: without a key on a loopback address, and only while the
database holds none.

DATABASE_URL is heeded. Several workers may share one database.`,
		Args: noArgs,
		RunE: a.heeding(func(ctx context.Context, s *session, _ []string) error { return s.workSeen(ctx) }),
	}
	cmd.Flags().String("metrics-addr", "", "where to answer with /metrics, /healthz and /readyz (default: nowhere)")
	cmd.Flags().String("drain-for", "", "how long to go on answering there after being told to stop, for /readyz to say so (default 0s)")
	workFlags(cmd.Flags())
	return cmd
}

// workFlags are those of every command that works jobs until it is stopped.
func workFlags(fs *pflag.FlagSet) {
	fs.String("write", "", "how many jobs of the queue write run at once (default 8)")
	fs.String("maintenance", "", "the same of the queue maintenance (default 2)")
	fs.String("synthesis", "", "the same of the queue synthesis (default 1)")
	fs.String("stop-within", "", "how long running jobs may finish when stopping (default 4s)")
	fs.String("log-level", "", "debug, info, warn or error (default info)")
}

// stopGrace is added to the time that jobs may finish in: those that did not are
// cancelled then, and going back takes a moment.
const stopGrace = 5 * time.Second

func (s *session) work(ctx context.Context, counts *metrics.Instruments) error {
	log := s.logger(s.conf.level())
	conf := s.workerConfig()
	conf.Schedule = true
	conf.Log = quietRiver(log, s.conf.level())
	conf.Ended = counts.Job
	w, err := worker.New(jobs.Deps{Store: s.st, Judge: s.judge, Observer: llm.CanObserve(s.judge), Embedder: s.embeds, Grapher: newGrapher(s.conf, s.judge), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails,
		Refused: counts.Refused, Log: log}, conf)
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		if ctx.Err() != nil { // asked to stop before it had begun, which is no failure
			log.InfoContext(ctx, "stopped")
			return nil
		}
		return err
	}
	log.InfoContext(ctx, "working", slog.String("database", s.st.Describe()), slog.String("judge", s.judge.Name()),
		slog.Int(jobs.QueueWrite, conf.Write), slog.Int(jobs.QueueMaintenance, conf.Maintenance), slog.Int(jobs.QueueSynthesis, conf.Synthesis))
	logVectors(ctx, log, s.st)
	<-ctx.Done()
	log.InfoContext(ctx, "stopping", slog.String("within", conf.StopWithin.String()))
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), conf.StopWithin+stopGrace)
	defer cancel()
	if err := w.Stop(ending); err != nil {
		return err
	}
	log.InfoContext(ctx, "stopped")
	return nil
}

// logVectors says once what finds the nearest vectors.
func logVectors(ctx context.Context, log *slog.Logger, st store.Store) {
	if search := vectorSearch(st); search != "" {
		log.InfoContext(ctx, "vectors", slog.String("search", search))
	}
}

// quietRiver leaves out what the queue says of itself every few seconds.
func quietRiver(log *slog.Logger, level slog.Level) *slog.Logger {
	if level <= slog.LevelDebug {
		return log
	}
	return slog.New(warnings{log.Handler(), &repeats{}})
}

// warnings hides what is under a warning, complaints about calls that the queue
// itself has cancelled because it stops, and for a while what was said already:
// without a database every queue complains twice a second.
type warnings struct {
	slog.Handler
	said *repeats
}

// Enabled implements slog.Handler.
func (h warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h warnings) Handle(ctx context.Context, r slog.Record) error {
	cancelled, line := false, r.Message
	r.Attrs(func(a slog.Attr) bool {
		cancelled = cancelled || strings.Contains(a.Value.String(), context.Canceled.Error())
		line += " " + a.String()
		return !cancelled
	})
	if cancelled || h.said.lately(line, r.Time) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// repeatAfter is how soon a line is said again that is the same to the letter, and
// mostLines how many are remembered for that.
const (
	repeatAfter = time.Minute
	mostLines   = 1000
)

// repeats remembers which lines were said. It is safe for concurrent use.
type repeats struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// lately tells whether a line was said lately, and takes it for said now if not.
func (r *repeats) lately(line string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.said[line]; ok && now.Sub(at) < repeatAfter {
		return true
	}
	if r.said == nil || len(r.said) >= mostLines {
		r.said = map[string]time.Time{}
	}
	r.said[line] = now
	return false
}

// WithAttrs implements slog.Handler.
func (h warnings) WithAttrs(as []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(as), h.said}
}

// WithGroup implements slog.Handler.
func (h warnings) WithGroup(name string) slog.Handler {
	return warnings{h.Handler.WithGroup(name), h.said}
}
