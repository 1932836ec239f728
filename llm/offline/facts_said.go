package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// Facts of the project and of the agent keep the words in which they were said,
// because the rules that compare statements read changes in them: "we moved from
// MySQL to PostgreSQL" retires what was known of MySQL. Only the address is
// added. Each form is a whole sentence, so that a purpose, a part or a time
// behind it ("for the tests", "on staging", "until Friday") makes it a plain
// memory.
//
// Limit: a release date stays a plain memory, because a fact has no end and a
// date has one.

// toolKeys gives the key of each class of tools of which a project has one.
var toolKeys = map[string]string{
	"database": "database", "python packages": "python_package_manager", "js packages": "js_package_manager", "js runtime": "js_runtime",
	"ci": "ci", "host": "hosting", "web framework": "web_framework", "css": "css_framework", "site generator": "site_generator",
	"tracker": "issue_tracker", "chat": "team_chat", "broker": "message_broker", "linter": "linter",
}

// ownKeys are those of the tools that a person has.
var ownKeys = map[string]string{"editor": "editor", "shell": "shell", "browser": "browser", "os": "operating_system", "notes": "notes_app", "secrets": "password_manager"}

// The parts of shapes: sentences in lower case in which tools stand as @0, @1 …
const (
	project   = `(?:we|the project|this project|our project|the app|our app|the team|the backend|our backend)`
	softly    = `(?:now |currently |still |all |just |finally |recently |already |have |has )*`
	lastly    = `(?:now |these days |from now on |everywhere |last (?:week|month|night|year) |this (?:week|month|morning|year) |yesterday |today |recently |at last |over the weekend |in [a-z]+ |on [a-z]+day |for good )*(?:, (?:as you know|as i said|as said|by the way|btw) )?[.!]? $`
	everyting = `(?:over |everything |all |the database |our database |the db |ci |the ci |our ci |the app |the project |hosting |our hosting |the hosting |completely )*`
)

// toolShapes name the tool that is in use; the group is its number.
var toolShapes = []*regexp.Regexp{
	regexp.MustCompile(`^ ` + project + ` ` + softly + `(?:use|uses|using) @(\d+) ` + lastly),
	regexp.MustCompile(`^ ` + project + ` ` + softly + `(?:are|is|run|runs|running) ` + softly + `on @(\d+) ` + lastly),
	regexp.MustCompile(`^ ` + project + ` ` + softly + `(?:deploy|deploys|host) (?:everything |it |all of it |the app |our app |the project |our project )?(?:to|on|at|with) @(\d+) ` + lastly),
	regexp.MustCompile(`^ ` + project + ` (?:is|are) ` + softly + `hosted (?:on|at|with) @(\d+) ` + lastly),
	regexp.MustCompile(`^ ` + project + ` ` + softly + `(?:use|uses) @(\d+) (?:as|for) (?:our |the )?(?:main |primary |default )?(?:database|db|ci|package manager|issue tracker|issues|team chat|chat|web framework|message broker|linter|hosting) ` + lastly),
	regexp.MustCompile(`^ (?:our|the project 's|the app 's|the team 's|the) (?:main |primary |production |default )?(?:database|db|ci|ci system|package manager|issue tracker|tracker|team chat|web framework|css framework|site generator|message broker|broker|linter|runtime|deploy target|deployment target|host|hosting) (?:is|are) ` + softly + `(?:on |with |at )?@(\d+) ` + lastly),
	regexp.MustCompile(`^ ` + project + ` ` + softly + `track (?:our |the |all )*(?:issues|bugs|tickets) (?:in|with|on) @(\d+) ` + lastly),
	regexp.MustCompile(`^ (?:our |the )?(?:ci|database|db) (?:runs|is|lives) ` + softly + `on @(\d+) ` + lastly),
	regexp.MustCompile(`(?:^| : | ; ) ?` + project + ` ` + softly + `(?:switched|moved|migrated|changed|went|converted) ` + everyting + `(?:(?:from|off|away from) @\d+ )?(?:over |back )?to @(\d+) ` + lastly),
	regexp.MustCompile(`(?:^| : | ; ) ?` + project + ` ` + softly + `(?:use|uses) @(\d+) (?:instead of|rather than|in place of) @\d+ ` + lastly),
	regexp.MustCompile(`(?:^| : | ; ) ?` + project + ` ` + softly + `(?:replaced|swapped) @\d+ (?:with|for|by) @(\d+) ` + lastly),
}

var ownShapes = []*regexp.Regexp{
	regexp.MustCompile(`^ i ` + softly + `(?:switched|moved|migrated|changed|went) (?:over )?(?:from @\d+ )?(?:over |back )?to @(\d+) ` + lastly),
	regexp.MustCompile(`^ i ` + softly + `(?:replaced|swapped) @\d+ (?:with|for|by) @(\d+) ` + lastly),
	regexp.MustCompile(`^ i ` + softly + `use @(\d+) (?:instead of|rather than) @\d+ ` + lastly),
}

// toolFact reads which tool is in use.
func toolFact(c *claim) (fact, bool) {
	part := slices.ContainsFunc(c.moved, func(s string) bool { return !wholeOfIt[s] })
	if len(c.mentions) == 0 || len(c.facets) > 0 || part || c.person && !c.has("package manager", "password manager") {
		return fact{}, false
	}
	shape := c.shape()
	for _, forms := range []struct {
		slot   string
		keys   map[string]string
		shapes []*regexp.Regexp
	}{{"project", toolKeys, toolShapes}, {"user", ownKeys, ownShapes}} {
		for _, f := range forms.shapes {
			m := f.FindStringSubmatch(shape)
			if m == nil {
				continue
			}
			if t, ok := c.group(m, 1); ok && forms.keys[t.class] != "" && oneRival(c, t) {
				return fact{slot: forms.slot, key: forms.keys[t.class], value: t.id}, true
			}
		}
	}
	return fact{}, false
}

// wholeOfIt are the words for all of what a class of tools does.
var wholeOfIt = stems("ci", "hosting", "chat", "issues", "tracker", "builds", "pipeline")

// oneRival tells whether every other tool that is named is of the same class:
// one that it takes the place of.
func oneRival(c *claim, t tool) bool {
	return !slices.ContainsFunc(c.mentions, func(m mention) bool { return m.class != t.class })
}

// saidForms are the other facts that keep their words.
var saidForms = []form{
	{"user", "location", "", regexp.MustCompile(`^(?i:i|i've|i have|we|we've) (?:just |finally |recently )*moved (?:house )?(?:from \p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)? )?to ` + properName + `(?: (?:for good|for work|last (?:week|month|year|summer|winter|spring|autumn)|this (?:week|month|year)|yesterday|recently|in \p{Lu}\p{Ll}+|on \p{Lu}\p{Ll}+|(?:a|two|three|four|five|six) (?:days?|weeks?|months?|years?) ago))*[.!]?$`), isTown},
	{"project", "main_branch", "", regexp.MustCompile(`^(?i:our|the|the project's) (?i:main|default) branch is (?:now )?(?:called |named )?[` + "`" + `"']?([\w./-]+?)[` + "`" + `"']?(?: now)?[.!]?$`), isBranch},
	{"project", "repository", "", regexp.MustCompile(`^(?i:our|the|the project's) (?i:repo|repository|git repository|code) (?:is|lives) (?:now )?(?:at |on |in )?((?:https?://|git@)?[\w.:-]+/[\w./-]+?)(?: now)?[.!]?$`), nil},
	{"project", "license", "", regexp.MustCompile(`^(?i:our licen[cs]e is|the licen[cs]e is|the project's licen[cs]e is|(?:the|our|this) (?:project|code|repo) is (?:now )?(?:licensed )?under|we (?:now )?(?:license|release) (?:it|everything|the project|the code) under) (?:now )?(?:the )?((?i:mit|apache(?:[- ]2(?:\.0)?)?|a?gpl(?:[- ]?v?\d(?:\.\d)?)?|lgpl(?:[- ]?v?\d(?:\.\d)?)?|bsd(?:[- ]\d-clause)?|mpl(?:[- ]2(?:\.0)?)?|isc|unlicense|proprietary))(?: licen[cs]e)?(?: now)?[.!]?$`), nil},
	{"project", "name", "", regexp.MustCompile(`^(?i:our|the|this) (?i:project|app|product|service) is (?:now )?(?:called|named) (\p{Lu}[\p{L}\d-]+(?: \p{Lu}[\p{L}\d-]+)?)[.!]?$`), nil},
	{"project", "stack", "", regexp.MustCompile(`^(?i:our|the|the project's) (?i:tech |technology )?stack is (?:now )?([^?]{3,120}?)[.!]?$`), isList},
	{"project", "language", "", regexp.MustCompile(`^(?i:the project|our project|the app|our app|the codebase|our codebase|the backend|our backend|everything) is (?:all |now |mostly )?written in ([\p{L}+#]+(?: [\d.]+)?)[.!]?$`), isCode},
	{"agent", "language", "", regexp.MustCompile(`^(?i:please )?(?i:always|from now on,?|i want you to always|you should always|you must always)(?: please)? (?:answer|reply|respond|write|speak|talk|write back)(?: to)?(?: me)? (?:only )?in ((?:\p{Lu}\p{Ll}+ )?\p{Lu}\p{Ll}+)(?: from now on)?[.!]?$`), isSpoken},
	{"agent", "language", "", regexp.MustCompile(`^(?i:please )?(?i:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? (?:only )?in ((?:\p{Lu}\p{Ll}+ )?\p{Lu}\p{Ll}+) (?:from now on|always|at all times|in future)[.!]?$`), isSpoken},
	{"agent", "format", "", regexp.MustCompile(`^(?i:please )?(?i:always|from now on,?|i want you to always|you should always)(?: please)? (?:answer|reply|respond|write)(?: to)?(?: me)? (?:only )?in (bullet points|bullet lists|bullets|markdown|plain text|prose|full sentences|short paragraphs|paragraphs|tables|json|one sentence|one paragraph)[.!]?$`), nil},
	{"agent", "answer_length", "", regexp.MustCompile(`^(?i:please |always |from now on,? )*(?i:keep) (?:your |all )?(?:your )?(?:answers|replies|responses|explanations|messages) ((?:very |as )?(?:short|brief|concise|terse|long|detailed|to the point|thorough)(?: as possible| and (?:simple|plain|to the point|clear))?|(?:under|below|within) [\w]+ (?:words|sentences|lines|paragraphs))(?: from now on| please|, please)?[.!]?$`), nil},
	{"agent", "tone", "", regexp.MustCompile(`^(?i:please )?(?i:always|from now on,?|in future,?)(?: please)? (?:be|stay|sound|keep it) (?:more |very )?(formal|informal|casual|friendly|polite|professional|direct|blunt|honest|serious|playful|warm|concise|brief)(?: with me)?[.!]?$`), nil},
}

// saidFact reads a fact that keeps its words.
func saidFact(c *claim, s string) (fact, bool) {
	if c.neg && !c.instruct {
		return fact{}, false
	}
	if f, ok := toolFact(c); ok {
		return f, true
	}
	for _, f := range saidForms {
		m := f.form.FindStringSubmatch(s)
		if m != nil && (f.valid == nil || f.valid(m[1])) {
			return fact{slot: f.slot, key: f.key, value: strings.ToLower(m[1])}, true
		}
	}
	return ruleFact(c)
}

// saidFacts is saidFact for a stored text, which carries no instant.
func saidFacts(s string) fact {
	f, _ := saidFact(parse(s, time.Time{}), s)
	return f
}

func isTown(v string) bool { return isPersonOrPlace(v) && !departments[strings.ToLower(v)] }

func isPersonOrPlace(v string) bool {
	first, _, _ := strings.Cut(strings.ToLower(v), " ")
	return isNobody(v) && siblings[first] == "" && strings.ToUpper(v) != v
}

// isBranch refuses what a branch may be and is not called.
func isBranch(v string) bool {
	return !set("protected", "broken", "green", "red", "locked", "frozen", "stable", "failing", "fine", "open", "closed", "ours", "deployed", "unprotected", "behind", "ahead", "clean", "dirty", "up", "down")[strings.ToLower(v)]
}

// isList tells whether words list tools.
func isList(v string) bool { return len(parse(v, time.Time{}).mentions) > 1 }

// isCode tells whether words name a programming language.
func isCode(v string) bool {
	name, _, _ := strings.Cut(strings.ToLower(v), " ")
	return name == "go" || tools[name].class == "language"
}

// ruleWords is how many words a lasting instruction has at most.
const ruleWords = 14

// ruleFact reads what the user wants the agent to do always, or never. Each
// instruction has an address of its own, made of its words without those, so
// that never takes the place of always and different ones stand beside each
// other.
func ruleFact(c *claim) (fact, bool) {
	if len(c.words) > ruleWords || len(c.dates) > 0 || !c.starts("always", "never", "please always", "please never", "do not ever", "please do not ever") {
		return fact{}, false
	}
	value := "always"
	var stems []string
	verb := ""
	for _, w := range c.words {
		switch {
		case w.low == "never" || w.low == "not":
			value = "never"
		case ruleFrame[w.low] || determiners[w.low] || punctuation(w.low):
		default:
			if verb == "" {
				verb = w.low
			}
			stems = append(stems, text.Stem(w.low))
		}
	}
	stems = slices.DeleteFunc(stems, func(s string) bool { return s == "" })
	key := rulePrefix + strings.Join(stems, "_")
	if len(stems) < 2 || len(key) > 64 || verbs[verb] != verb && !orderVerbs[verb] {
		return fact{}, false
	}
	return fact{slot: "agent", key: key, value: value}, true
}

// rulePrefix begins the keys of instructions.
const rulePrefix = "rule_"

// orderVerbs are what agents are told to do beside the verbs of details.
var orderVerbs = set("ask", "explain", "show", "add", "touch", "commit", "mention", "suggest", "assume", "include", "delete", "remove", "quote", "cite", "format", "sort", "squash", "escape", "validate", "propose", "put", "say", "tell", "wrap", "name", "document",
	"comment", "translate", "round", "attach", "list", "summarise", "summarize", "repeat", "edit", "rewrite", "install", "create", "apologise", "apologize", "invent", "guess", "skip", "return", "confirm", "verify", "propose", "rename", "refactor", "force", "share", "post", "shorten", "abbreviate", "leave", "link", "greet", "thank", "address", "reply", "answer", "respond", "round", "start", "end", "begin", "finish")

var ruleFrame = set("always", "please", "do", "ever", "me", "you", "to")

// years are numbers of years, which "I'm 34" may hold.
func isYears(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n >= 10 && n < 100
}
