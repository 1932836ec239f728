package offline

import (
	"regexp"
	"strings"
)

// fact is a statement with an address: one value at a time.
type fact struct {
	slot, key, value string
	text             string // in canonical words, so that equal values read alike
	quote            string
}

// factForms are the few patterns whose value cannot be taken for anything else.
// A fact replaces the older one at its address without a further question, so
// what is not unmistakable is a plain memory instead.
var factForms = []struct {
	key, says string
	form      *regexp.Regexp
	valid     func(string) bool
}{
	{"name", "The user's name is ", regexp.MustCompile(`(?i:\bmy name is|\bmy name's|\bcall me) ([\p{Lu}][\p{L}'-]+(?: [\p{Lu}][\p{L}'-]+)?)`), notTool},
	{"timezone", "The user's timezone is ", regexp.MustCompile(`(?i:\bmy time ?zone is(?: now)?|\bmy time ?zone changed to|\bset my time ?zone to|\bswitch my time ?zone to) ((?:[A-Z][A-Za-z_]+/[A-Z][A-Za-z_/]+)|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[A-Z]{2,4}T\b)`), isZone},
	{"location", "The user lives in ", regexp.MustCompile(`(?i:\bi (?:now )?live in|\bi'm (?:now )?based in|\bi am (?:now )?based in) ([\p{Lu}][\p{L}'-]+(?: [\p{Lu}][\p{L}'-]+)?)`), notTool},
	{"email", "The user's email is ", regexp.MustCompile(`(?i:\bmy e-?mail(?: address)? is(?: now)?) ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), nil},
	{"work_email", "The user's work email is ", regexp.MustCompile(`(?i:\bmy work e-?mail(?: address)? is(?: now)?) ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), nil},
	{"pronouns", "The user's pronouns are ", regexp.MustCompile(`(?i:\bmy pronouns are) ([a-z]+/[a-z]+)`), nil},
	{"birthday", "The user's birthday is ", regexp.MustCompile(`(?i:\bmy birthday is(?: on)?) ((?:[\p{Lu}][a-z]+ \d{1,2})|(?:\d{1,2} [\p{Lu}][a-z]+))`), nil},
	{"employer", "The user works at ", regexp.MustCompile(`(?i:\bi (?:now )?work (?:at|for)) ([\p{Lu}][\p{L}\d&'-]+(?: [\p{Lu}][\p{L}\d&'-]+)?)`), nil},
}

func notTool(v string) bool {
	_, ok := tools[strings.ToLower(v)]
	return !ok
}

// zoneRegions are the areas of the IANA zone names. The names themselves are not
// looked up: a machine without a zone database would then read another fact.
var zoneRegions = set("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific", "Etc")

func isZone(v string) bool {
	if !strings.Contains(v, "/") {
		return true
	}
	region, _, _ := strings.Cut(v, "/")
	return zoneRegions[region]
}

// facts reads the facts of a sentence.
func facts(s string) []fact {
	var out []fact
	for _, f := range factForms {
		m := f.form.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		v := strings.TrimRight(s[m[2]:m[3]], ".,;")
		if f.valid != nil && !f.valid(v) {
			continue
		}
		out = append(out, fact{slot: "user", key: f.key, value: v, text: f.says + v, quote: s[m[0]:m[3]]})
	}
	return out
}

// personal reads the facts of a stored statement, canonical or as it was said.
func personal(s string) map[string]string {
	out := map[string]string{}
	for _, f := range factForms {
		if v, ok := strings.CutPrefix(s, f.says); ok {
			out[f.key] = strings.TrimRight(v, ". ")
		}
	}
	for _, f := range facts(s) {
		out[f.key] = f.value
	}
	if m := aboutUser.FindStringSubmatch(s); m != nil {
		out[map[bool]string{true: "employer", false: "location"}[strings.HasPrefix(m[1], "work")]] = m[2]
	}
	if m := movedTo.FindStringSubmatch(s); m != nil && notTool(m[1]) && (home.MatchString(s) || !departments[strings.ToLower(m[1])]) {
		out["location"] = m[1]
	}
	if m := joined.FindStringSubmatch(s); m != nil {
		out["employer"] = m[1]
	}
	return out
}

var (
	movedTo = regexp.MustCompile(`(?:\b(?:I|I've|I have)|^(?:The )?[Uu]ser(?: has)?) (?:just |finally |recently )?moved (?:house )?(?:from \p{Lu}\p{L}+ )?to (\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?)`)
	// aboutUser reads a stored statement in the third person.
	aboutUser = regexp.MustCompile(`^(?:The )?[Uu]ser (?:now |currently |still )?(lives in|is based in|works at|works for|is employed at) (\p{Lu}[\p{L}\d&'-]+(?: \p{Lu}[\p{L}\d&'-]+)?)`)
	// departments are where one moves without moving house.
	departments = set("marketing", "sales", "engineering", "support", "finance", "design", "platform", "data", "operations", "product", "legal", "hr", "security", "qa", "research", "consulting", "management", "devops", "infrastructure", "it", "accounting", "team")
	// home are the words that make of a move a move of house.
	home   = regexp.MustCompile(`(?i)\b(for good|permanently|flat|apartment|house|home|city|country|living)\b`)
	joined = regexp.MustCompile(`(?:\bI|^(?:The )?[Uu]ser) (?:just |have |now )?(?:joined|started (?:a new job )?at) (\p{Lu}[\p{L}\d&'-]+)`)
)
