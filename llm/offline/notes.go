package offline

import (
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// The words that notes begin with. What follows is a clause of the speaker's own,
// whole, so that the rules that compare statements can read it.
const (
	decided   = "Decided"
	mentioned = "Mentioned"
	did       = "Did"
	finds     = "Found"
	wanted    = "Asked"
)

// noteOrder is the order in which a reflection has them.
var noteOrder = []string{decided, mentioned, did, finds, wanted}

var (
	noteHead = regexp.MustCompile(`(?:^|\. )(Decided|Mentioned|Did|Found|Asked): `)
	// retold is how others write that a user said something.
	retold = regexp.MustCompile(`(?i)^(?:the )?(?:user|they) (?:also )?(?:mentioned|said|noted|stated|explained|added|decided|reported|confirmed|clarified)(?: that)? `)
	asking = regexp.MustCompile(`(?i)^(?:the )?(?:user|they) (?:also )?(?:asked|wondered|wanted to know|requested)\b`)
)

// saying is one thing that a note says.
type saying struct{ head, words string }

// sayings takes a note apart: what rules wrote into its clauses, what others
// wrote into its sentences.
func sayings(s string) []saying {
	at := noteHead.FindAllStringSubmatchIndex(s, -1)
	if len(at) == 0 {
		var out []saying
		for _, line := range split(s) {
			head := mentioned
			if asking.MatchString(line) {
				head = wanted
			}
			out = append(out, saying{head, strings.TrimRight(retold.ReplaceAllString(line, ""), ". ")})
		}
		return out
	}
	var out []saying
	if lead := strings.Trim(s[:at[0][0]], ". "); lead != "" {
		out = append(out, saying{mentioned, lead})
	}
	for i, m := range at {
		end := len(s)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		for c := range strings.SplitSeq(s[m[1]:end], "; ") {
			if c = strings.TrimRight(c, ". "); c != "" {
				out = append(out, saying{s[m[2]:m[3]], c})
			}
		}
	}
	return out
}

// isNote tells whether a statement was condensed from a conversation.
func isNote(s llm.Statement) bool { return s.Kind == oxbow.Observation || s.Kind == oxbow.Reflection }

// maxClauses bounds how much of a note is compared.
const maxClauses = 60

// saidIn gives what of a statement can replace, or be replaced by, another: the
// clauses of a note but for its questions; all of any other statement.
func saidIn(s llm.Statement) []llm.Statement {
	if !isNote(s) {
		return []llm.Statement{s}
	}
	var out []llm.Statement
	for _, c := range sayings(s.Text) {
		if c.head != wanted && len(out) < maxClauses {
			out = append(out, llm.Statement{Label: s.Label, Text: sentenceCase(c.words), Kind: oxbow.Semantic, Source: s.Source, SaidAt: s.SaidAt})
		}
	}
	return out
}

// relateNotes compares two statements of which one at least is a note, clause by
// clause: a note of which one clause no longer holds does not hold. Whether notes
// agree matters to nobody.
func relateNotes(s, o llm.Statement) oxbow.Relation {
	others := saidIn(o)
	cs := make([]*claim, len(others))
	for i, p := range others {
		cs[i] = parse(p.Text, p.SaidAt)
	}
	for _, a := range saidIn(s) {
		ca := parse(a.Text, a.SaidAt)
		for i, b := range others {
			if r := relatePair(a, ca, b, cs[i]); r == oxbow.Replaces || r == oxbow.Contradicts {
				return r
			}
		}
	}
	return oxbow.Unrelated
}
