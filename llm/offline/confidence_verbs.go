package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// What a verb does to the clause behind it. The classes follow the literature
// on factivity and neg-raising (Kiparsky and Kiparsky 1970, Horn 1978,
// Karttunen 1971).
type commitment int

const (
	noVerb    commitment = iota
	factive              // knows, realised: true even when denied or asked
	telling              // says, claims: somebody's word
	confident            // is sure, is convinced
	thinking             // thinks, believes: "does not think that p" says not p
	guessing             // hopes, imagines, guesses
	wishing              // wishes, pretends: not so
	doubting             // doubts
	failing              // failed to, forgot to: not done
	doing                // managed to, remembered to: done
)

// stance verbs by their class, in every form.
var commitments = makeCommitments(map[commitment]string{
	factive: "know knows knew known knowing realise realised realises realize realized realizes realizing realising notice noticed notices noticing see saw sees seen discover discovered find found finds forget forgot forgets forgotten remember remembered remembers " +
		"regret regrets regretted learn learned learnt understand understands understood understanding recall recalled recognise recognised recognize recognized aware unaware glad happy sorry surprised amazed shame odd strange pity resent reveal revealed bothered annoyed relieved proud ashamed perceive discovering accept accepted",
	telling:   "say says said saying tell told tells telling claim claims claimed argue argued insist insists insisted report reported reports announce announced mention mentioned promise promised hear heard hint hinted allege alleged swear swears declare declared write wrote read complain complained admit admitted admits concede conceded acknowledge acknowledged confirm confirmed explain explained show shows showed shown mean means meant prove proved indicate indicates suggests suggested suggest demand demanded signal warned warn",
	confident: "sure certain convinced confident positive persuaded convince persuade",
	thinking:  "think thinks thought thinking believe believes believed believing expect expects expected suppose supposes supposed assume assumes assumed reckon reckons feel feels felt figure figured likely true case seem seems seemed appear appears appeared suspect suspects suspected presume opinion impression guarantee accustomed",
	guessing:  "hope hopes hoped hoping guess guesses guessed imagine imagines imagined fear fears feared afraid worry worried bet dream dreamed wonder wondered wondering whether ask asked asking question possible probable consider considered considering want wants wanted propose proposed intend require required request let allow",
	wishing:   "wish wishes wished pretend pretends pretended pretending",
	doubting:  "doubt doubts doubted doubtful unlikely deny denies denied impossible",
	failing:   "failed neglected refused declined forgot",
	doing:     "managed remembered happened",
})

func makeCommitments(lists map[commitment]string) map[string]commitment {
	out := map[string]commitment{}
	for _, class := range []commitment{factive, telling, confident, thinking, guessing, wishing, doubting} {
		for w := range strings.FieldsSeq(lists[class]) {
			out[w] = class
		}
	}
	for _, class := range []commitment{failing, doing} {
		for w := range strings.FieldsSeq(lists[class]) {
			out[w+" to"] = class
		}
	}
	return out
}

// refuted is below speculation: the words say that it is not so.
const refuted = 0.05

// governed says how far the words before a claim, and around it, commit the
// speaker to it; ok is false when no verb governs the claim.
func governed(s sentence, claim []string, negative bool) (level float64, ok bool) {
	start := claimStart(s, claim)
	verb, at := noVerb, -1
	for i := start - 1; i >= 0; i-- {
		if s.words[i].low == "." || s.words[i].low == ";" || s.words[i].low == "!" {
			break
		}
		class := commitments[s.words[i].low]
		if i+1 < len(s.words) {
			if c := commitments[s.words[i].low+" "+s.words[i+1].low]; c != noVerb {
				class = c
			}
		}
		if class == doubting && i > 0 && (s.words[i-1].low == "no" || s.words[i-1].low == "without") {
			continue
		}
		if class != noVerb && !(class == factive && plainSight(s, i)) {
			verb, at = class, i
			break
		}
	}
	if verb == noVerb {
		return explicit, false
	}
	if idiom := s.has(idioms...); idiom && !s.has("but i know") {
		return explicit, false
	}
	e := surroundings(s, at)
	switch next := wordAt(s, at+1); {
	case verb == factive && (next == "if" || next == "whether"):
		return weak, true
	case verb == confident && nearly[wordAt(s, at-1)]:
		return implied, true
	}
	return e.level(verb, s.words[at].low, negative), true
}

// idioms hold a verb that governs nothing; the words of doubt know them.
var idioms = []string{"as far as i know", "if i remember", "who knows", "you know ,", "i do not know why"}

// nearly words take something from a certainty.
var nearly = set("pretty", "fairly", "almost", "quite", "reasonably", "nearly", "somewhat", "relatively")

func wordAt(s sentence, i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i].low
}

// plainSight tells whether see, find and the like stand at i with a thing and
// not with a clause.
func plainSight(s sentence, i int) bool {
	switch s.words[i].low {
	case "happy", "sorry", "read", "odd", "strange", "accept", "accepted":
		return i+1 < len(s.words) && s.words[i+1].low != "that" && s.words[i+1].low != "about"
	}
	return false
}

// claimStart gives the word at which the part of a sentence begins that holds
// most of a claim's stems in the shortest space.
func claimStart(s sentence, claim []string) int {
	at := make([]string, len(s.words))
	for i, w := range s.words {
		at[i] = text.Stem(w.low)
	}
	best, start := 0.0, 0
	room := 2*len(claim) + 4
	for i := range s.words {
		if !slices.Contains(claim, at[i]) {
			continue
		}
		seen := map[string]bool{}
		for j := i; j < len(at) && j < i+room; j++ {
			if at[j] != "" && slices.Contains(claim, at[j]) {
				seen[at[j]] = true
			}
		}
		if v := float64(len(seen)) + float64(i)/1000; v >= best+0.5 || float64(len(seen)) >= best && best == 0 {
			best, start = v, i
		}
	}
	return start
}

// environment is what surrounds a verb: who does it, and whether it is denied,
// asked, supposed or only possible.
type environment struct {
	denied, asked, supposed, possible, firstPerson, hardly bool
}

var (
	askers   = set("do", "does", "did", "is", "are", "was", "were", "can", "could", "would", "will", "have", "has", "had", "why", "how", "what", "who", "should")
	subjects = set("you", "he", "she", "they", "we", "i", "it", "anyone", "anybody", "people", "the")
)

func surroundings(s sentence, at int) environment {
	var e environment
	e.asked = strings.HasSuffix(s.norm, " ? ") || strings.Contains(s.norm[min(len(s.norm), 1):], " ? ")
	for i := max(0, at-6); i < at; i++ {
		w := s.words[i].low
		switch {
		case w == "." || w == ";":
			e.denied, e.possible, e.hardly = false, false, false
		case w == "not" || w == "never" || w == "nobody" || w == "no" || w == "neither" || w == "nor" || w == "none":
			e.denied = true
		case w == "hardly" || w == "scarcely" || w == "barely":
			e.hardly = true
		case w == "may" || w == "might" || w == "could" || w == "would" || w == "perhaps" || w == "maybe" || w == "should" || w == "must":
			e.possible = true
		}
		if i+1 < at && askers[w] && subjects[s.words[i+1].low] && (i == 0 || !subjects[s.words[i-1].low] && s.words[i-1].low != "what" && s.words[i-1].low != "as") {
			e.asked = true
		}
	}
	for i := range at {
		switch s.words[i].low {
		case "if", "unless", "suppose", "supposing", "whether":
			e.supposed = true
		case ".", ";":
			e.supposed = false
		}
	}
	for i := max(0, at-4); i < at; i++ {
		if w := s.words[i].low; w == "i" || w == "we" || w == "me" {
			e.firstPerson = true
		}
	}
	return e
}

// level gives the confidence that a class of verb leaves to its clause.
func (e environment) level(verb commitment, word string, negative bool) float64 {
	switch verb {
	case factive:
		return e.factive(word)
	case failing, doing:
		done := (verb == doing) != e.denied
		if done != negative {
			return explicit
		}
		return refuted
	case confident:
		switch {
		case e.denied:
			return weak
		case e.asked || e.supposed || e.possible:
			return weak
		}
		return explicit
	case telling:
		return e.told()
	case thinking:
		return e.thought(word, negative)
	case wishing:
		return refuted
	case doubting:
		if e.denied {
			return implied
		}
		return speculation
	}
	return e.guessed(word)
}

func (e environment) factive(word string) float64 {
	if e.firstPerson && e.denied && (strings.HasPrefix(word, "know") || word == "knew" || strings.HasPrefix(word, "remember") || strings.HasPrefix(word, "see")) && e.possible {
		return weak
	}
	if (e.asked || e.supposed) && (strings.HasPrefix(word, "find") || word == "found" || strings.HasPrefix(word, "see") || strings.HasPrefix(word, "learn") || strings.HasPrefix(word, "show")) {
		return implied
	}
	return explicit
}

func (e environment) told() float64 {
	switch {
	case e.denied && e.firstPerson:
		return speculation
	case e.denied || e.asked || e.supposed:
		return weak + 0.05
	}
	return reasonable
}

func (e environment) thought(word string, negative bool) float64 {
	switch {
	case e.denied && (word == "believe" || e.hardly) && e.possible && !e.firstPerson, e.hardly, strings.HasPrefix(word, "guess") && e.denied:
		return implied // could hardly believe
	case e.denied && negative:
		return reasonable
	case e.denied && e.firstPerson:
		return refuted
	case e.denied:
		return speculation
	case e.asked:
		return 0.15
	case e.supposed:
		return weak
	case e.possible && !strings.HasPrefix(word, "suppose"):
		return weak + 0.05
	}
	return reasonable
}

func (e environment) guessed(word string) float64 {
	switch {
	case strings.HasPrefix(word, "guess") && e.denied:
		return implied // nobody would have guessed
	case strings.HasPrefix(word, "guess") && e.firstPerson && !e.asked:
		return reasonable
	case strings.HasPrefix(word, "wonder") || word == "whether":
		return speculation
	case e.denied || e.asked:
		return 0.15
	}
	return weak
}
