package metrics

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/oxbow-memory/oxbow/store"
)

// Source is what is read of a database. A store.Store is one.
type Source interface {
	store.OperatorReader
	QueueStats(ctx context.Context) ([]store.QueueStat, error)
	LiveWorkers(ctx context.Context, since time.Time) (int, error)
}

// Config says what the instruments show.
type Config struct {
	Source Source
	// Version is the program's. Defaults to "dev".
	Version string
	// Budget is how many tokens a tenant may take in a day. Defaults to 0: no
	// limit is shown.
	Budget int64
	// Reasons are those that Refused will be given. They are shown as 0 from the
	// start, because a rate misses the step from nothing to the first number.
	// Defaults to none.
	Reasons []string
	// KeepFor is how long a look at the database stands for whoever asks next.
	// Defaults to 5 s.
	KeepFor time.Duration
	// Within bounds a look at the database. Defaults to 3 s.
	Within time.Duration
	// Clock gives the present. Defaults to time.Now.
	Clock func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.KeepFor <= 0 {
		c.KeepFor = 5 * time.Second
	}
	if c.Within <= 0 {
		c.Within = 3 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// Instruments are the metrics of one process. They are safe for concurrent use.
type Instruments struct {
	registry *prometheus.Registry
	jobs     *prometheus.CounterVec
	took     *prometheus.HistogramVec
	refused  *prometheus.CounterVec
}

// buckets reach from a job that writes two rows to a pass over a large scope.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// New makes the instruments; it does no I/O.
func New(cfg Config) *Instruments {
	cfg = cfg.withDefaults()
	i := &Instruments{
		registry: prometheus.NewRegistry(),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "oxbow_jobs_total",
			Help: "Attempts at jobs that this process ended, by how they ended."}, []string{"kind", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "oxbow_job_duration_seconds",
			Help: "How long this process's attempts at jobs took.", Buckets: buckets}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "oxbow_decision_refused_total",
			Help: "What a judge proposed and this process's gate refused, by what it was."}, []string{"reason"}),
	}
	for _, reason := range cfg.Reasons {
		i.refused.WithLabelValues(reason)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "oxbow_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version()}})
	build.Set(1)
	i.registry.MustRegister(i.jobs, i.took, i.refused, build, newLook(cfg),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return i
}

// Gatherer gives what Handler shows, for tests.
func (i *Instruments) Gatherer() prometheus.Gatherer { return i.registry }

// Handler answers with every metric, as text.
func (i *Instruments) Handler() http.Handler {
	return promhttp.HandlerFor(i.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError})
}

// Job counts an attempt at a job that ended.
func (i *Instruments) Job(kind, outcome string, took time.Duration) {
	i.jobs.WithLabelValues(kind, outcome).Inc()
	i.took.WithLabelValues(kind).Observe(took.Seconds())
}

// Refused counts what the gate refused.
func (i *Instruments) Refused(reason string, n int) {
	i.refused.WithLabelValues(reason).Add(float64(n))
}
