package offline

import (
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// fact is a statement with an address: one value at a time.
type fact struct {
	slot, key, value string
	text             string // in canonical words, so that equal values read alike; or as it was said
	quote            string
	from, to         int // where it stands in the sentence
}

// A fact replaces the older one at its address without a further question, so
// what is not unmistakable is a plain memory instead. Three things make a form
// unmistakable: it begins a clause, its value is of the sort that the attribute
// takes, and nothing follows that would bound it (half of the year, for tests).

// form is a way to state a value.
type form struct {
	slot, key, says string // says begins the canonical text; "" keeps the words as they were said
	form            *regexp.Regexp
	valid           func(string) bool
}

// The parts of forms: what may come before a clause, and names.
const (
	clauseStart = `(?:^|[;:,] |[-–—] | and | but )`
	properName  = `(\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)`
)

func words(s string) *regexp.Regexp { return regexp.MustCompile(clauseStart + s) }

// factForms are about the user, and canonical.
var factForms = []form{
	{"user", "name", "The user's name is ", words(`(?i:my name is|my name's|(?:please )?call me|i go by|i am called|i'm called) ` + properName), isNobody},
	{"user", "timezone", "The user's timezone is ", words(`(?i:my time ?zone is(?: now)?|my time ?zone changed to|set my time ?zone to|switch my time ?zone to) ((?:[A-Z][A-Za-z_]+/[A-Z][A-Za-z_/]+)|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[A-Z]{2,4}T\b)`), isZone},
	{"user", "location", "The user lives in ", words(`(?i:i (?:now )?live in|i'm (?:now )?based in|i am (?:now )?based in) ` + properName), isNoTool},
	{"user", "email", "The user's email is ", words(`(?i:my e-?mail(?: address)? is(?: now)?) ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), nil},
	{"user", "work_email", "The user's work email is ", words(`(?i:my work e-?mail(?: address)? is(?: now)?) ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), nil},
	{"user", "pronouns", "The user's pronouns are ", words(`(?i:my pronouns are) ([a-z]+/[a-z]+)`), nil},
	{"user", "birthday", "The user's birthday is ", words(`(?i:my birthday is(?: on)?) ((?:[\p{Lu}][a-z]+ \d{1,2})|(?:\d{1,2} [\p{Lu}][a-z]+))`), nil},
	{"user", "employer", "The user works at ", words(`(?i:i (?:now )?work (?:at|for)|i (?:just |recently )?started (?:a new job |working )?at) (\p{Lu}[\p{L}\d&'’-]+(?: \p{Lu}[\p{L}\d&'’-]+)?)`), isNoTool},
	{"user", "employer", "The user works at ", words(`(?i:i'm|i am|i work as) an? (?:[a-z-]+ ){1,3}at (\p{Lu}[\p{L}\d&'’-]+(?: \p{Lu}[\p{L}\d&'’-]+)?)`), isNoTool},
	{"user", "role", "The user is a ", words(`(?i:i(?: now)? work as) an? ((?:[a-z-]+ ){0,3}[a-z]+)`), isTrade},
	{"user", "role", "The user is a ", words(`(?i:i'm|i am) (?:now )?an? ((?:[a-z-]+ ){0,3}[a-z]+)`), isSurelyTrade},
	{"user", "diet", "The user is ", words(`(?i:i'm|i am|i've been|i have been|i've become|i have become|i became|i went|i've gone) (?:now )?(?:an? )?(vegan|vegetarian|pescatarian)`), nil},
	{"user", "age", "The user's age is ", words(`(?i:i'm|i am|i turned|i just turned) (?:now )?(\d\d)(?: years old)?`), isYears},
	{"user", "native_language", "The user's native language is ", words(`(?i:my (?:native|first) language is|my mother tongue is) (\p{Lu}\p{Ll}+)`), isSpoken},
	{"user", "language", "The user's preferred language is ", words(`(?i:my preferred language is) (?:now )?((?:\p{Lu}\p{Ll}+ )?\p{Lu}\p{Ll}+)`), isSpoken},
	{"user", "phone", "The user's phone number is ", words(`(?i:my (?:new )?(?:phone|mobile|cell)(?: phone)?(?: number)? is(?: now)?) (\+?\d[\d ()/-]{5,}\d)`), nil},
	{"user", "manager", "The user's manager is ", words(`(?i:my (?:new )?(?:line )?(?:manager|boss) is(?: now)?|i(?: now)? report to) ` + properName), isPerson},
	{"user", "manager", "The user's manager is ", words(properName + ` is(?: now)? my (?:new )?(?:line )?(?:manager|boss)`), isPerson},
	{"user", "partner", "The user's partner is ", words(`(?i:my (?:wife|husband|partner|spouse) is (?:called|named)|my (?:wife|husband|partner|spouse)'s name is) ` + properName), isPerson},
	{"user", "bank", "The user's bank is ", words(`(?i:my bank is(?: now)?|i(?: now)? bank with) (\p{Lu}[\p{L}\d&'’-]+(?: \p{Lu}[\p{L}\d&'’-]+)?)`), isNoTool},
	{"user", "github_username", "The user's GitHub username is ", words(`(?i:my github (?:username|user name|handle|account|user|name) is(?: now)?) @?([A-Za-z\d][A-Za-z\d-]{1,38})`), nil},
	{"user", "keyboard_layout", "The user's keyboard layout is ", words(`(?i:my keyboard layout is(?: now)?|i(?: now)? (?:use|type on) an?) ((?i:qwerty|qwertz|azerty|dvorak|colemak|bépo|neo))`), nil},
	{"agent", "name", "The agent's name is ", words(`(?i:your (?:new )?name is(?: now)?|i'll call you|i will call you|i call you) ` + properName), isNobody},
}

// favourite states a favourite of a sort, whose sort is the key.
var favourite = words(`(?i:my (?:all-time )?(favou?rite) ([a-z]+(?: [a-z]+)?) is (?:now )?)((?:[\p{L}\d'’&-]+ ?){1,4})`)

// ownTool states the tool that the user has for a purpose, which is the key.
var ownTool = words(`(?i:my (?:main |default |usual )?(editor|shell|browser|operating system|os|note-taking app|password manager) is (?:now )?)([\p{L}\d!_.+-]+(?: [\p{L}\d.+-]+){0,2})`)

// asOwnTool is the same the other way round.
var asOwnTool = words(`(?i:i(?: now)? use )([\p{L}\d!_.+-]+(?: [\p{L}\d.+-]+){0,2}?) as my (?:main |default |usual )?(editor|shell|browser|operating system|os|note-taking app|password manager)`)

// purposes gives the class of tools that serve each purpose, and its key.
var purposes = map[string][2]string{
	"editor": {"editor", "editor"}, "shell": {"shell", "shell"}, "browser": {"browser", "browser"}, "operating system": {"os", "operating_system"},
	"os": {"os", "operating_system"}, "note-taking app": {"notes", "notes_app"}, "password manager": {"secrets", "password_manager"},
}

// bounding tells whether what stands behind a value bounds it or adds another
// one, so that it is not the value.
func bounding(rest string) bool { return !harmless.MatchString(rest) || second.MatchString(rest) }

var (
	harmless = regexp.MustCompile(`^(?i: (?:now|these days|currently|already|again|for good|permanently|at the moment|last (?:week|month|year)|yesterday|by trade|by profession|at \p{Lu}[\p{L}\d&'’-]+|keyboard|layout))*(?:$|[.!;]| and | but | since |, (?:by the way|and|but|so|since|not|please|though|[\p{Ll}']+ )|, \p{Lu}\p{L}+[.!]?$| with my | [-–—(])`)
	second   = regexp.MustCompile(`^(?: and| or|,) (?:(?:in|at|for|also) )*\p{Lu}\p{L}|^,? (?:and|but|or) (?:sometimes|partly|also|part|half|on )|^, (?:sometimes|partly|part|half|mostly|usually|except|depending|at least|on |in |during|until|when|while)`)
)

func isNoTool(v string) bool {
	_, ok := tools[strings.ToLower(v)]
	return !ok
}

// isNobody refuses what is capitalised and no name.
func isNobody(v string) bool {
	first, _, _ := strings.Cut(strings.ToLower(v), " ")
	return isNoTool(v) && !noNames[first] && !isDemonym(first) && months[first] == 0 && weekdays[first] == 0
}

func isPerson(v string) bool {
	first, _, _ := strings.Cut(strings.ToLower(v), " ")
	return isNobody(v) && siblings[first] == "" && !regions[first] && !departments[first] && strings.ToUpper(v) != v
}

func isSpoken(v string) bool {
	fields := strings.Fields(strings.ToLower(v))
	return siblings[fields[len(fields)-1]] == "language"
}

// isTrade tells whether words end in an occupation, which nothing before it
// takes back.
func isTrade(v string) bool {
	fields := strings.Fields(strings.ToLower(v))
	for _, w := range fields[:len(fields)-1] {
		if taken[w] {
			return false
		}
	}
	return siblings[fields[len(fields)-1]] == "occupation"
}

// isSurelyTrade leaves out what people are besides their trade.
func isSurelyTrade(v string) bool {
	fields := strings.Fields(strings.ToLower(v))
	return isTrade(v) && !pastimes[fields[len(fields)-1]]
}

var (
	// behindTrade is where an occupation ends.
	behindTrade = regexp.MustCompile(` (?:at|by|in|for|with|on|from|of|and|but|who|since|these|now)\b`)
	taken       = set("not", "former", "ex", "retired", "bad", "terrible", "lousy", "good", "great", "decent", "better", "worse", "hobby", "amateur", "aspiring", "wannabe", "would-be", "bit", "kind", "sort", "of", "fast", "slow", "careful", "happy", "proud", "lucky", "future", "failed", "trained", "qualified", "home", "morning", "weekend")
	pastimes    = set("cook", "driver", "writer", "painter", "musician", "photographer", "gardener", "diver", "historian", "coach", "actor", "judge", "researcher", "baker", "lifeguard", "notetaker", "tester")
)

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

// facts reads the canonical facts of a sentence.
func facts(s string) []fact {
	var out []fact
	for _, f := range factForms {
		m := f.form.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		if at := behindTrade.FindStringIndex(s[m[2]:m[3]]); at != nil && f.key == "role" {
			m[1], m[3] = m[2]+at[0], m[2]+at[0] // an engineer at Nordlys
		}
		v := strings.TrimRight(s[m[2]:m[3]], ".,;")
		if f.valid != nil && !f.valid(v) || bounding(s[m[1]:]) {
			continue
		}
		quote := strings.TrimLeft(s[m[0]:m[1]], ";:,-–— ")
		says := f.says + v
		if strings.HasSuffix(f.says, " a ") && strings.ContainsAny(v[:1], "aeiouAEIOU") {
			says = strings.TrimSuffix(f.says, "a ") + "an " + v
		}
		out = append(out, fact{slot: f.slot, key: f.key, value: v, text: says, quote: quote, from: m[0], to: m[1]})
	}
	return append(out, ownFacts(s)...)
}

// ownFacts reads favourites, and tools that the user has for a purpose.
func ownFacts(s string) []fact {
	var out []fact
	if m := favourite.FindStringSubmatchIndex(s); m != nil {
		sort, v := s[m[4]:m[5]], strings.TrimSpace(s[m[6]:m[7]])
		c := read(v)
		if !bounding(s[m[1]:]) && !c.has("not", "when", "the one", "that", "still", "what", "to", "probably", "always been") && verbs[strings.ToLower(v)] == "" {
			out = append(out, fact{slot: "user", key: "favourite_" + strings.ReplaceAll(strings.ToLower(sort), " ", "_"), value: v,
				text: "The user's " + s[m[2]:m[3]] + " " + sort + " is " + v, quote: strings.TrimLeft(s[m[0]:m[1]], ";:,-–— "), from: m[0], to: m[1]})
		}
	}
	for i, form := range []*regexp.Regexp{ownTool, asOwnTool} {
		m := form.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		purpose, v := s[m[2]:m[3]], s[m[4]:m[5]]
		if i == 1 {
			purpose, v = v, purpose
		}
		v = strings.TrimRight(v, ".")
		p := purposes[strings.ToLower(purpose)]
		if cut, ok := strings.CutSuffix(v, " now"); ok {
			v = cut
		}
		if t, ok := tools[strings.ToLower(v)]; ok && t.class == p[0] && !bounding(s[m[1]:]) {
			out = append(out, fact{slot: "user", key: p[1], value: t.id, text: "The user's " + strings.ReplaceAll(p[1], "_", " ") + " is " + v,
				quote: strings.TrimLeft(s[m[0]:m[1]], ";:,-–— "), from: m[0], to: m[1]})
		}
	}
	return out
}

// beside tells whether a sentence says more than its facts do, so that it is
// worth keeping too.
func beside(s string, fs []fact) bool {
	rest := []byte(s)
	for _, f := range fs {
		for i := f.from; i < f.to; i++ {
			rest[i] = ' '
		}
	}
	return len(content(read(string(rest)).words)) >= leastBeside
}

// leastBeside is how many words of meaning make something of their own.
const leastBeside = 3

// personal reads what a stored statement, canonical or as it was said, states of
// the user's own name, place, mail and the like, by key.
func personal(s string) map[string]string {
	out := map[string]string{}
	for _, f := range factForms {
		if v, ok := strings.CutPrefix(s, f.says); ok && comparable[f.key] {
			out[f.key] = strings.TrimRight(v, ". ")
		}
	}
	for _, f := range facts(s) {
		if comparable[f.key] && f.slot == "user" {
			out[f.key] = f.value
		}
	}
	if m := aboutUser.FindStringSubmatch(s); m != nil {
		out[map[bool]string{true: "employer", false: "location"}[strings.HasPrefix(m[1], "work")]] = m[2]
	}
	if m := movedTo.FindStringSubmatch(s); m != nil && isNoTool(m[1]) && (home.MatchString(s) || !departments[strings.ToLower(m[1])]) {
		out["location"] = m[1]
	}
	if m := joined.FindStringSubmatch(s); m != nil {
		out["employer"] = m[1]
	}
	return out
}

// comparable are the keys whose values are compared between statements that
// have no address too; the others are compared by their details.
var comparable = set("name", "timezone", "location", "email", "work_email", "pronouns", "birthday", "employer")

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

// sameAs tells whether two facts of one address hold the same value, whatever
// the words: what stands there as it was said is read again.
func sameAs(a, b string) bool {
	if text.Same(a, b) {
		return true
	}
	x, y := saidFacts(a), saidFacts(b)
	return x.key != "" && x.key == y.key && strings.EqualFold(x.value, y.value)
}
