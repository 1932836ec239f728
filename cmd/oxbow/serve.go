package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/api"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/internal/metrics"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/mcp"
	"github.com/oxbow-memory/oxbow/web"
)

func serveCommand(a *app) *cobra.Command {
	var o serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer by HTTP, and work jobs, until stopped",
		Long: `Answer by HTTP until stopped with Ctrl-C or SIGTERM, and work jobs and schedules in the
same process unless --no-work leaves them to oxbow work. The console stands at /console/, the
API under /v1, its description at /docs and /openapi.json, the Model Context Protocol at
/mcp, health at /healthz and /readyz, metrics for Prometheus at /metrics.

On a loopback address, and only while the database holds no key, requests need none:
they act for the tenant of --tenant. oxbow key create makes the first key, and from
then on every request needs one. Another address is refused as long as there is no
key. DATABASE_URL is heeded.`,
		Args: noArgs,
		RunE: a.heeding(func(ctx context.Context, s *session, _ []string) error { return s.serve(ctx, o) }),
	}
	fs := cmd.Flags()
	fs.String("addr", "", "where to listen (default 127.0.0.1:7437)")
	fs.StringSlice("host", nil, "a name that this server answers to, beside localhost and its addresses; can be given several times")
	fs.BoolVar(&o.noWork, "no-work", false, "answer only; jobs are left to oxbow work")
	fs.String("drain-for", "", "how long to go on answering after being told to stop, for /readyz to say so (default 0s)")
	mcpFlags(cmd, &o.scope, &o.waterfall)
	workFlags(fs)
	return cmd
}

// serving is what the flags of serve say.
type serving struct {
	noWork    bool
	scope     string // of MCP calls that name none
	waterfall bool
}

// The bounds of one connection. A stream of events may last, so there is none
// on writing; the stream itself bounds each of its writes.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
)

func (s *session) serve(ctx context.Context, o serving) error {
	log := s.logger(s.conf.level())
	addr := s.conf.text("addr")
	open, err := s.mayListen(ctx, "addr", addr)
	if err != nil {
		return err
	}
	ln, err := listen("addr", addr)
	if err != nil {
		return err
	}
	counts := s.instruments()
	handler := s.handler(ctx, o, open, counts, log)
	s.say("Oxbow answers at http://%s (console: /console/, API: /docs, MCP: /mcp)", toOpen(ln.Addr()))
	if !open {
		s.say("a key is needed; oxbow key create makes one")
	}
	return s.answerWhile(ctx, ln, handler, log, func(ctx context.Context) error {
		if o.noWork {
			logVectors(ctx, log, s.st)
			<-ctx.Done()
			return nil
		}
		return s.work(ctx, counts)
	})
}

// answerWhile answers while work runs and, once the context ends, until work has
// ended and drain_for is over: a balancer that asks /readyz learns that the process
// is draining before it meets a closed port.
func (s *session) answerWhile(ctx context.Context, ln net.Listener, handler http.Handler, log *slog.Logger, work func(context.Context) error) error {
	group, running := errgroup.WithContext(ctx)
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error { return s.answer(answering, ln, handler, log) })
	group.Go(func() error {
		defer stop()
		drained := make(chan struct{})
		context.AfterFunc(running, func() { time.AfterFunc(s.conf.period("drain_for"), func() { close(drained) }) })
		if err := work(running); err != nil {
			return err
		}
		<-drained
		return nil
	})
	return group.Wait()
}

func listen(flag, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, usage("cannot listen on %s: %s; choose another with --%s", addr, errors.Unwrap(err).Error(), flag)
	}
	return ln, nil
}

// toOpen gives an address that this machine can open: one that stands for every
// address of it is none.
func toOpen(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || !t.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(t.Port))
}

// answer serves until the context ends, and then lets requests finish that run.
func (s *session) answer(ctx context.Context, ln net.Listener, handler http.Handler, log *slog.Logger) error {
	srv := &http.Server{Handler: trace.Serve(ctx, handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.conf.period("worker.stop_within"))
	defer cancel()
	err := srv.Shutdown(ending)
	if err != nil {
		err = srv.Close()
	}
	<-ended
	return err
}

// mayListen tells whether callers without a key are let in, and refuses an
// address that others can reach as long as there is no key.
func (s *session) mayListen(ctx context.Context, flag, addr string) (open bool, err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, usage("--%s %q is no address: use one such as 127.0.0.1:7437", flag, addr)
	}
	keys, err := s.engine.Keys(ctx, "")
	if err != nil {
		return false, err
	}
	ip := net.ParseIP(host)
	here := host == "localhost" || ip != nil && ip.IsLoopback()
	if !here && len(keys) == 0 {
		return false, usage("%s can be reached from other machines, and there is no key: make one with oxbow key create, or listen on 127.0.0.1", addr)
	}
	return here && len(keys) == 0, nil
}

// health answers how the process stands, whose context ends when it is to stop.
func (s *session) health(ctx context.Context) api.Health {
	return api.Health{Store: s.st, Workers: s.engine.LiveWorkers, Draining: func() bool { return ctx.Err() != nil }}
}

// guard decides who is let in.
func (s *session) guard(open bool) *access.Guard {
	conf := access.Config{Engine: s.engine, Hosts: s.conf.list("host")}
	if open {
		conf.Tenant = s.tenant
	}
	return access.New(conf)
}

// handler puts the doors together, with the guard before all of them.
// When the context ends they are draining: streams end, the rest is answered.
func (s *session) handler(ctx context.Context, o serving, open bool, counts *metrics.Instruments, log *slog.Logger) http.Handler {
	guard := s.guard(open)
	mux := http.NewServeMux()
	s.health(ctx).Handle(mux)
	mux.Handle("/mcp", mcp.New(s.mcpConfig(o.scope, o.waterfall)).HTTP(guard))
	mux.Handle("GET /metrics", guard.Require(oxbow.MayOperate, counts.Handler()))
	mux.Handle("GET /{$}", http.RedirectHandler(web.Root, http.StatusFound))
	doors := api.New(api.Config{Engine: s.engine, Guard: guard, Version: version, Log: log, Done: ctx.Done()})
	for _, path := range []string{"/v1", "/v1/", "/docs", "/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml"} {
		mux.Handle(path, doors)
	}
	console := web.New(web.Config{Engine: s.engine, Guard: guard, Version: version, Log: log, Done: ctx.Done()})
	mux.Handle(web.Root, console)
	mux.Handle(strings.TrimSuffix(web.Root, "/"), console)
	return guard.Wrap(survived(log, rest(mux, console)))
}

// rest refuses what no door answers: who strays by a browser sees a page of the
// console, and a program reads a problem.
func rest(mux *http.ServeMux, console http.Handler) http.Handler {
	return access.Routed(mux, func(w http.ResponseWriter, r *http.Request, p *access.Problem) {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			console.ServeHTTP(w, r)
			return
		}
		access.Answer(w, p)
	})
}

// survived answers for a handler that panics, and logs where it did.
func survived(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if what == http.ErrAbortHandler {
				panic(what)
			}
			// What it panicked with may hold words of a memory; where it did does not.
			log.ErrorContext(r.Context(), "request panicked", slog.String("request", access.RequestID(r.Context())), slog.String("stack", string(debug.Stack())))
			p := access.ProblemOf(errors.New("panicked"))
			p.Request = access.RequestID(r.Context())
			access.Answer(w, p)
		}()
		next.ServeHTTP(w, r)
	})
}

// list gives a setting of several values, which commas separate.
func (s settings) list(name string) []string {
	var out []string
	for _, v := range strings.Split(strings.Trim(s.text(name), "[]"), ",") {
		if v = strings.ToLower(strings.TrimSpace(v)); v != "" {
			out = append(out, v)
		}
	}
	return out
}
