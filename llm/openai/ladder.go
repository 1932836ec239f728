package openai

import "sync"

// rung is how an endpoint is held to the form of an answer, strictest first.
type rung int

const (
	strict rung = iota // response_format json_schema, strict
	loose              // response_format json_schema
	object             // response_format json_object, the schema in the prompt
	plain              // nothing but the schema in the prompt
)

// failuresPerRung is how many first answers off the form, with none on it
// between them, take a model down a rung.
const failuresPerRung = 2

// ladder remembers, for each model of one judge, which rung it stands on and
// whether it refuses a temperature. A refusal of the form by the endpoint
// (HTTP 400 or 422) goes down at once. Answers off the form go down after two
// in a row; the second answer to a question does not count as a success,
// because it was given with the schema in the prompt. Being away never counts.
//
// Limit: it never climbs. An endpoint that learns a better form is seen when
// the program starts anew.
type ladder struct {
	mu     sync.Mutex
	models map[string]*footing
}

type footing struct {
	rung          rung
	failures      int
	noTemperature bool
}

// of gives where a model stands.
func (l *ladder) of(model string) footing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.get(model)
}

// refused notes that the endpoint does not know the form of a rung. Parallel
// calls that were refused on the same rung go down one rung together.
func (l *ladder) refused(model string, at rung) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(model).down(at)
}

// forget puts a model back on a rung from which a text drove it that turned out
// to be refused on every one: what spoke of the form was the text.
func (l *ladder) forget(model string, back rung) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.get(model); f.rung > back {
		f.rung, f.failures = back, 0
	}
}

// failed notes an answer off its form.
func (l *ladder) failed(model string, at rung) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.get(model)
	if f.rung != at {
		return
	}
	if f.failures++; f.failures >= failuresPerRung {
		f.down(at)
	}
}

// held notes a first answer on its form.
func (l *ladder) held(model string, at rung) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.get(model); f.rung == at {
		f.failures = 0
	}
}

// withoutTemperature notes that a model refuses a temperature.
func (l *ladder) withoutTemperature(model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(model).noTemperature = true
}

func (l *ladder) get(model string) *footing {
	f, ok := l.models[model]
	if !ok {
		f = &footing{}
		l.models[model] = f
	}
	return f
}

func (f *footing) down(from rung) {
	if f.rung == from && f.rung < plain {
		f.rung++
		f.failures = 0
	}
}
