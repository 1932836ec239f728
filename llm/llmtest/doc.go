// Package llmtest is a server that plays a model: it speaks OpenAI's chat
// completions and embeddings on loopback, so that a judge can be tested against every way in
// which endpoints misbehave, and a worker can live a whole lifecycle with a
// model that costs nothing and always says the same.
//
// A Server answers in this order: while it is Away, 503. Then what is queued,
// reply by reply. Then what Refuse forbids, 400. Then what the judge behind it
// says, put into the JSON that the request asks for; the server reads the data
// back out of the prompt, so the judge sees what a model would see and no more.
//
// It is for tests and for trying things out. It checks no key, keeps every
// request in memory, and binds to loopback unless it is told otherwise. Tests
// of any package, and cmd, may import it. It does not import the judge that it
// tests: what the two share is the wire, and that is the point.
package llmtest
