package main

import (
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// progress tells how far something is that takes longer than a second: on a
// terminal in one line that is written over, elsewhere in a line every 10 s.
type progress struct {
	a     *app
	next  time.Time
	shown bool
}

// The pace of progress.
const (
	quietFor    = time.Second
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 10 * time.Second
)

func (a *app) progress() *progress {
	p := &progress{a: a, next: time.Now().Add(lineEvery)}
	if a.saysTerminal {
		p.next = time.Now().Add(quietFor)
	}
	return p
}

// show asks what to say and says it, when it is time to.
func (p *progress) show(what func() string) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	if !p.a.saysTerminal {
		p.next = now.Add(lineEvery)
		p.a.say("%s", what())
		return
	}
	p.next, p.shown = now.Add(redrawEvery), true
	_, _ = fmt.Fprintf(p.a.messages, "\r\x1b[K%s", cut(text.Printable(what()), max(20, p.a.columns()-1)))
}

// done takes the line away.
func (p *progress) done() {
	if p.shown {
		_, _ = fmt.Fprint(p.a.messages, "\r\x1b[K")
		p.shown = false
	}
}
