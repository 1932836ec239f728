// Package metrics shows how Oxbow runs, in the form that Prometheus reads.
//
// Numbers come from two places, and metrics.go and families.go keep them apart.
// What a process does itself (jobs that it ended, what its gate refused) it
// counts itself: sum such a metric over the processes. What stands in the
// database (memories, events, requests to models, queues, schedules) is read
// when somebody looks, so that every process of a database shows the same: take
// one of them, or the maximum.
//
// A look at the database is bounded in time, is shared by everybody who asks
// within a few seconds, and costs what is new and not what is kept: the logs
// only grow, so what was counted is remembered (tally.go). A part that cannot
// be read is left out, and oxbow_collector_up says so.
//
// No label holds an id, the name of a tenant or a scope, or a word of a memory;
// a test holds every label to a list. Only cmd imports this package; who may see
// the numbers is decided by internal/access.
package metrics
