package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is one metric that is read from the database.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

// value gives one sample of a family.
func (f family) value(v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(f.desc, f.kind, v, labels...)
}

// families are what is read from the database. docs/metrics.md says what to make
// of each.
type families struct {
	collectorUp, collectorSeconds family

	queueDepth, queueOldest, queuePaused, discarded, workers family

	memories, events family

	requests, tokens, cached, cost, unpriced, budget, budgetUsed, budgetShort family

	lastSuccess, nextSlot family
}

func newFamilies() families {
	return families{
		collectorUp:      gauge("oxbow_collector_up", "Whether a part of the database could be read at the last look: 1, else 0.", "part"),
		collectorSeconds: gauge("oxbow_collector_duration_seconds", "How long the last look at a part took.", "part"),

		queueDepth:  gauge("oxbow_queue_depth", "Jobs in a queue, by River's state.", "queue", "state"),
		queueOldest: gauge("oxbow_queue_oldest_job_age_seconds", "How long the oldest job that is ready has waited; 0 when none is.", "queue"),
		queuePaused: gauge("oxbow_queue_paused", "Whether an operator has paused the queue: 1, else 0.", "queue"),
		discarded:   gauge("oxbow_jobs_given_up", "Jobs that were given up and that nobody has retried or put away since.", "kind"),
		workers:     gauge("oxbow_workers_alive", "Workers of the database that gave a sign of life lately."),

		memories: gauge("oxbow_memories", "Memories by status.", "status"),
		events:   counter("oxbow_memory_events_total", "Lines of the audit log by type.", "type"),

		requests:    counter("oxbow_llm_requests_total", "Requests that reached a model's endpoint.", "model", "outcome"),
		tokens:      counter("oxbow_llm_tokens_total", "Tokens that models took.", "model", "direction"),
		cached:      counter("oxbow_llm_cached_tokens_total", "Of the tokens in, those that the endpoint had already read.", "model"),
		cost:        counter("oxbow_llm_cost_usd_total", "What requests cost in US dollars, as far as prices are known.", "model"),
		unpriced:    counter("oxbow_llm_unpriced_requests_total", "Requests whose price is not known and that oxbow_llm_cost_usd_total leaves out.", "model"),
		budget:      gauge("oxbow_llm_budget_tokens", "Tokens that a tenant may take in a day (UTC); missing when there is no limit."),
		budgetUsed:  gauge("oxbow_llm_budget_used_tokens", "Tokens of today that the tenant has drawn that has drawn most."),
		budgetShort: gauge("oxbow_llm_budget_short_tenants", "Tenants of whom a request was turned away today because their tokens are used up."),

		lastSuccess: gauge("oxbow_schedule_last_success_timestamp_seconds",
			"When a pass last ended well, in the scope where that is longest ago; a scope where it never ran counts from when it was made.", "pass"),
		nextSlot: gauge("oxbow_schedule_next_slot_timestamp_seconds", "The earliest slot of a pass that is still to come, or overdue.", "pass"),
	}
}
