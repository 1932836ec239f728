package recall

import (
	"regexp"
	"strings"
)

// maxClauses is how many clauses of a message are asked one by one.
const maxClauses = 3

var (
	// sentenceEnd is where one sentence ends and another may begin.
	sentenceEnd = regexp.MustCompile(`[.!?]+(\s+|$)|\n+|[。！？]+`)
	// nextQuestion is where a second question begins inside a sentence.
	nextQuestion = regexp.MustCompile(`(?i)(,|;|\s)\s*(and|or|also|but)?\s*\b(what|which|when|where|who|whom|whose|why|how|is there|are there|do (i|we|you|they)|does|did|can (i|we|you))\b`)
	joining      = regexp.MustCompile(`(?i)^[\s,;]*\b(and|or|also|but)\b\s*`)
	asksOpening  = regexp.MustCompile(`(?i)^\W*(what|which|when|where|who|whom|whose|why|how|is|are|was|were|do|does|did|can|could|should|will|would|have|has)\b`)
)

// Clauses gives what a message asks, each question for itself: "which database do
// we use, and what is due this week?" is two questions, and a memory that answers
// one of them covers little of both together. At most three; of more, the last
// questions, and where nothing is asked the last sentences, because people come to
// the point at the end.
//
// Limit: the words that begin a question are English; in other languages
// sentences are told apart and halves of sentences are not.
func Clauses(message string) []string {
	var all, questions []string
	for _, s := range splitAfter(message, sentenceEnd) {
		for _, c := range halves(s) {
			if c = strings.TrimSpace(c); c == "" {
				continue
			}
			all = append(all, c)
			if asksOpening.MatchString(c) || strings.HasSuffix(c, "?") || strings.HasSuffix(c, "？") {
				questions = append(questions, c)
			}
		}
	}
	if len(all) > maxClauses && len(questions) > 0 {
		all = questions
	}
	return all[max(0, len(all)-maxClauses):]
}

// splitAfter cuts a text behind each match.
func splitAfter(s string, at *regexp.Regexp) []string {
	var out []string
	from := 0
	for _, m := range at.FindAllStringIndex(s, -1) {
		out = append(out, s[from:m[1]])
		from = m[1]
	}
	return append(out, s[from:])
}

// halves cuts a question into the questions that it holds. Only what begins like
// one, after "and" or a comma, is another: "I know what is due" is one clause.
func halves(s string) []string {
	if !asksOpening.MatchString(s) {
		return []string{s}
	}
	for _, m := range nextQuestion.FindAllStringIndex(s, -1) {
		rest := s[m[0]:]
		lead := joining.FindString(rest)
		comma := strings.HasPrefix(strings.TrimSpace(rest), ",") || strings.HasPrefix(strings.TrimSpace(rest), ";")
		if m[0] == 0 || lead == "" && !comma {
			continue
		}
		return append([]string{s[:m[0]]}, halves(strings.TrimLeft(strings.TrimPrefix(rest, lead), " ,;"))...)
	}
	return []string{s}
}
