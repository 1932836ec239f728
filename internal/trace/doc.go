// Package trace makes spans of OpenTelemetry: of requests that are answered, of
// jobs, of what is done to memories, and of requests to models.
//
// Where spans go travels in the context (With): a program that uses Oxbow as a
// library and has a span in its context gets ours as its children, and where
// neither is there nothing is made and nothing costs anything. The names of
// spans and attributes stand in names.go.
//
// A span holds kinds, counts, codes and the ids of runs. It never holds a word of
// a memory, a prompt or a key, nor the name of a tenant or a scope, which may be
// a person's, nor the words of an error.
//
// Package engine, the store, the worker, the door for agents and the judges that
// send requests import it, and cmd, which alone knows where spans are sent.
package trace
