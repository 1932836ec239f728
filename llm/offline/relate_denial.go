package offline

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// endings are the verbs that deny what stands behind them from now on.
var endings = set("stopped", "quit", "ceased", "cancelled", "canceled", "abandoned")

// losses deny having, and only that.
var losses = set("lost", "sold")

// notDenials are phrases with a word of denial that deny nothing.
var notDenials = strings.NewReplacer(" no matter ", " ", " not only ", " ", " not just ", " ", " no more than ", " ", " no less than ", " ", " not sure ", " ", " no doubt ", " ",
	" no later than ", " ", " not least ", " ", " with no ", " with ", " nothing but ", " ")

// denies tells whether a statement as a whole denies what its words say, and
// whether it says that this came to an end.
func denies(c *claim) (denied, ended bool) {
	n := 0
	norm := notDenials.Replace(c.norm)
	before := ""
	for w := range strings.FieldsSeq(norm) {
		last := before
		before = w
		switch {
		case endings[w] && (last == "not" || last == "never"):
			n-- // has not stopped
		case endings[w] && !c.has("being "+w):
			n, ended = n+1, true
		case negatives[w] && w != "without" && w != "avoid" && w != "stop":
			n++
		}
	}
	if strings.Contains(norm, " no one ") || strings.Contains(norm, " gave up ") || strings.Contains(norm, " given up ") {
		n++
		ended = ended || strings.Contains(norm, " up ")
	}
	if strings.Contains(norm, " gave up ") || strings.Contains(norm, " no longer ") || strings.Contains(norm, " anymore ") || strings.Contains(norm, " any more ") {
		ended = true
	}
	for w := range losses {
		if strings.Contains(norm, " "+w+" ") && !strings.Contains(norm, " is ") && !strings.Contains(norm, " being ") {
			n, ended = n+1, true
		}
	}
	return n > 0, ended
}

// goesOn denies an end, and so nothing: did not give up.
var goesOn = regexp.MustCompile(` (?:not|never) (?:[a-z]+ )?(?:give|gave|given|stop|stopped|quit|sell|sold|leave|left|cancel|cancelled|drop|dropped|lose|lost|abandon|abandoned|close|closed) `)

// maxDenied bounds the words of statements that are compared as wholes: in a
// longer text a denial is of a part.
const maxDenied = 40

// denial finds that one statement denies what the other one says, when all that
// is denied stands in the other one, be it with more words around it: "not
// allergic to nuts" against "allergic to nuts and shellfish", but not the other
// way round.
func denial(p pair) oxbow.Relation {
	nd, ne := denies(p.n)
	od, oe := denies(p.o)
	if nd == od || len(p.n.words) > maxDenied || len(p.o.words) > maxDenied || likes(p.n)*likes(p.o) > 0 {
		return ""
	}
	if goesOn.MatchString(p.n.norm) || goesOn.MatchString(p.o.norm) {
		return ""
	}
	if p.n.neg && p.o.neg && (p.n.has("without") || p.o.has("without")) {
		return "" // no sugar, without sugar
	}
	n, o, ended := p.n, p.o, ne
	if od {
		n, o, ended = p.o, p.n, oe
	}
	denied := content0(n)
	scene := scenes(n, o)
	least := 2
	if ended && nd || scene || slices.Equal(denied, content0(o)) && len(o.words) <= 8 {
		least = 1
	}
	if len(denied) < least || len(n.dates) > 0 && !sameValues(n, o) || !coveredBy(denied, content0(o), scene) || !subset(o.facets, n.facets) && !scene {
		return ""
	}
	if !scene && (p.n.past || p.o.past) {
		return ""
	}
	if p.n.marker || ended && nd {
		return oxbow.Replaces
	}
	return oxbow.Contradicts
}

// thinDenied are words of statements that are denied which say nothing of what
// is denied.
var thinDenied = stems("stopped", "quit", "ceased", "gave", "give", "up", "there", "one", "someone", "somebody", "nobody", "anyone", "need", "must", "anymore", "longer", "lost", "sold", "ever", "yet", "cancelled", "own", "owns",
	"been", "go", "goes", "going", "everyone", "everybody", "people", "something", "some", "always", "learned", "learnt", "take", "takes", "abandoned")

// content0 gives the stems of a statement without those of denial.
func content0(c *claim) []string {
	var out []string
	for _, s := range c.stems {
		if !thinDenied[s] && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func coveredBy(denied, have []string, scene bool) bool {
	missing := 0
	for _, d := range denied {
		if !slices.ContainsFunc(have, func(h string) bool { return h == d || isA(h, d) }) {
			missing++
		}
	}
	// Of a picture with many words, one may be another word for the same.
	return missing == 0
}

// scenes tells whether two statements describe one picture.
func scenes(a, b *claim) bool {
	return a.scene() && b.scene() && a.nameless(b) && b.nameless(a)
}

// nameless tells whether a statement's first word is no name: it is one of the
// words that begin descriptions, a plural, or stands in the other one in small
// letters.
func (c *claim) nameless(o *claim) bool {
	first := c.words[0].low
	return sceneStarts[first] || strings.HasSuffix(first, "s") && first != "is" || o.has(first) && !slices.ContainsFunc(o.words, func(w word) bool { return w.low == first && capitalised(w.raw) })
}

// sceneStarts begin a description of what is to be seen.
var sceneStarts = set("a", "an", "the", "there", "some", "someone", "somebody", "nobody", "no", "one", "two", "three", "four", "five", "six", "several", "many", "few", "people", "men", "women", "kids", "children")

// scene tells whether a statement describes what is to be seen, as captions do,
// in general words: somebody is doing something. Two scenes are taken to be of
// one picture, so whoever acts in both is the same.
func (c *claim) scene() bool {
	if len(c.mentions)+len(c.dates)+len(c.numbers) > 0 || len(c.words) < 3 || c.has("i", "we", "my", "our", "user", "us", "me", "user's") {
		return false
	}
	acting := c.starts("there is no", "there are no", "there is", "there are")
	for i, w := range c.words {
		if i > 0 && c.isName(i) {
			return false
		}
		acting = acting || i > 0 && strings.HasSuffix(w.low, "ing") && len(w.low) > 4 && !strings.HasSuffix(w.low, "thing")
		acting = acting || w.low == "is" || w.low == "are"
	}
	return acting
}

// kinds lists, for each word, what it is one of. Few words do much: people, the
// animals at home, and what things are commonly called.
var kinds = makeKinds(map[string]string{
	"person":       "man woman boy girl child kid lady guy gentleman player rider biker cyclist motorcyclist runner skateboarder snowboarder surfer skier swimmer cook chef baby toddler athlete dancer singer musician guitarist people crowd group team climber hiker worker teenager adult someone somebody performer band clown boxer fan friend",
	"man":          "guy gentleman",
	"guy":          "man",
	"woman":        "lady",
	"lady":         "woman",
	"child":        "kid toddler infant",
	"kid":          "child toddler",
	"dog":          "puppy dachshund dachsund terrier hound poodle retriever",
	"cat":          "kitten",
	"animal":       "dog puppy cat kitten horse monkey panda tiger lion elephant rhino badger hamster lemur bear rabbit sloth squirrel cow deer goat sheep fish bird turtle",
	"bird":         "parrot duck penguin eagle",
	"bike":         "bicycle motorcycle motorbike cycle bmx",
	"bicycle":      "bike cycle",
	"motorcycle":   "motorbike bike",
	"biker":        "cyclist motorcyclist rider",
	"cyclist":      "biker rider",
	"rider":        "biker cyclist motorcyclist",
	"vehicle":      "car truck bus van motorcycle bike jeep tractor",
	"car":          "jeep vehicle",
	"cut":          "slice chop dice peel saw",
	"slice":        "cut chop dice",
	"chop":         "cut slice dice",
	"dice":         "cut slice chop",
	"fry":          "cook grill",
	"cook":         "fry grill bake boil roast stir",
	"speak":        "talk say chat",
	"talk":         "speak say chat",
	"run":          "sprint jog race dash",
	"jump":         "leap hop bounce",
	"walk":         "stroll hike stride",
	"eat":          "chew nibble bite feed devour",
	"play":         "perform",
	"mix":          "stir blend",
	"stir":         "mix blend",
	"pour":         "add put",
	"add":          "put pour mix sprinkle",
	"put":          "place add pour lay sprinkle",
	"place":        "put lay",
	"water":        "river lake ocean pool sea pond stream wave beach",
	"ball":         "football basketball baseball",
	"food":         "chicken pasta rice meat bread fruit vegetable cheese egg butter okra",
	"beach":        "sand shore seashore",
	"ground":       "floor grass",
	"field":        "grass meadow lawn pasture",
	"photo":        "picture photograph",
	"watch":        "look stare observe",
	"look":         "watch stare gaze",
	"wear":         "dress",
	"hit":          "strike kick",
	"draw":         "sketch",
	"write":        "type",
	"hole":         "burrow",
	"dig":          "burrow",
	"exercis":      "train workout",
	"hold":         "carry grip",
	"carry":        "hold",
	"ride":         "drive cycle bike",
	"meat":         "pork beef chicken ham bacon steak",
	"gun":          "pistol rifle shotgun weapon",
	"rabbit":       "bunny",
	"sofa":         "couch",
	"picture":      "photo image",
	"motorcyclist": "biker",
	"attack":       "assault",
	"kill":         "murder slay",
	"say":          "state announce report tell",
	"big":          "large huge",
	"small":        "little tiny",
	"start":        "begin launch",
	"buy":          "purchase acquire",
	"job":          "work employment",
	"fix":          "repair mend",
	"fast":         "quick rapid",
	"film":         "movie",
	"shop":         "store",
	"illness":      "disease sickness",
	"road":         "street highway",
	"house":        "home",
	"flat":         "apartment",
	"instrument":   "guitar piano flute violin drum trumpet keyboard cello",
	"piano":        "keyboard",
	"dairy":        "cheese milk butter cream yoghurt yogurt quark",
	"seafood":      "shrimp shrimps prawn prawns mussel mussels crab lobster oyster oysters fish tuna salmon",
	"shellfish":    "shrimp shrimps prawn prawns mussel mussels crab lobster oyster oysters",
	"alcohol":      "beer wine whisky gin vodka rum cider champagne",
	"nuts":         "peanut peanuts almond almonds walnut walnuts hazelnuts",
	"sweets":       "chocolate candy cake cakes cookies",
	"caffeine":     "coffee espresso",
	"pet":          "dog cat rabbit hamster parrot",
	"sugar":        "chocolate candy cake cookies",
})

// makeKinds turns the table round, by stems: what each word is one of.
func makeKinds(table map[string]string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for parent, list := range table {
		for w := range strings.FieldsSeq(list) {
			s := text.Stem(w)
			if s == "" {
				s = w
			}
			if out[s] == nil {
				out[s] = map[string]bool{}
			}
			p := text.Stem(parent)
			if p == "" {
				p = parent
			}
			out[s][p] = true
		}
	}
	return out
}

// kindList is kinds in a fixed order.
var kindList = func() map[string][]string {
	out := map[string][]string{}
	for s, ks := range kinds {
		out[s] = slices.Sorted(maps.Keys(ks))
	}
	return out
}()

// isA tells whether a stem names something of a kind.
func isA(s, kind string) bool { return kinds[s][kind] }

// opposites are words of which a thing is only one at a time, both sides of a
// bar; each side lists the words that mean the same there.
var opposites = makeOpposites(
	"open opened|closed shut", "enabled on activated|disabled off deactivated", "public|private", "accepted approved|rejected declined", "locked|unlocked",
	"passes passing pass succeeds passed|fails failing fail failed", "active|inactive cancelled canceled", "empty|full crowded", "day|night", "indoors inside indoor|outdoors outside outdoor",
	"adding add putting pouring|removing remove taking", "working works|broken", "single unmarried|married", "vegetarian|carnivore", "alive|dead", "present|absent", "online|offline",
	"vacant|filled occupied", "signed|unsigned", "protected|unprotected", "paved|unpaved", "heated|unheated", "private confidential secret|public", "same|different", "optional|mandatory required compulsory", "everyone everybody all|nobody none", "quickly fast|slowly slow", "loud loudly noisy|quiet quietly silent", "light|dark", "short|long", "small tiny little|big large huge",
	"near close|far", "young|old", "dry|wet", "hot|cold", "clean|dirty", "asleep sleeping|awake", "happy|sad", "sitting sits|standing stands", "hitting|missing", "listening|ignoring", "following|shunning avoiding",
	"jumping|resting sleeping lying", "catching|dropping throwing", "pushing|pulling", "lifting raising|lowering dropping", "entering|leaving exiting", "winning won|losing lost", "employed|unemployed", "left|right", "black|white", "before|after",
	"always|never", "first|last", "maximum|minimum", "allowed permitted|forbidden prohibited", "up|down", "into|out", "naked|dressed clothed", "dressing|undressing", "visible|hidden", "manual manually|automatic automatically",
	"paid|unpaid", "left-handed|right-handed", "temporary|permanent", "full-time|part-time", "internal|external", "synchronous|asynchronous", "sync|async", "increasing|decreasing", "loading|unloading", "starting|stopping", "building|destroying", "wearing|removing", "above|below", "over|under",
)

// stemOpposites are the opposites by their stems.
var stemOpposites = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for a, bs := range opposites {
		s := singleStem(a)
		if out[s] == nil {
			out[s] = map[string]bool{}
		}
		for b := range bs {
			out[s][singleStem(b)] = true
		}
	}
	return out
}()

// soft pairs are opposites that two pictures, or two memories, may well show at
// once or one after the other; they conflict only where something says that the
// one took the other's place.
var soft = set("up", "down", "into", "out", "left", "right", "first", "last", "maximum", "minimum", "before", "after", "black", "white", "young", "old", "above", "below", "over", "under", "small", "tiny", "little", "big", "large", "huge", "short", "long", "light", "dark",
	"sitting", "sits", "standing", "stands", "inside", "outside", "lifting", "raising", "lowering", "dry", "wet", "happy", "sad", "hitting", "missing", "on", "off")

func makeOpposites(pairs ...string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	link := func(a, b string) {
		if out[a] == nil {
			out[a] = map[string]bool{}
		}
		out[a][b] = true
	}
	for _, p := range pairs {
		l, r, _ := strings.Cut(p, "|")
		for a := range strings.FieldsSeq(l) {
			for b := range strings.FieldsSeq(r) {
				link(a, b)
				link(b, a)
			}
		}
	}
	return out
}

// opposite finds that two statements differ in one word, and that the two are
// opposites of each other: open and closed, on and off.
func opposite(p pair) oxbow.Relation {
	if len(p.n.words) > maxDenied || len(p.o.words) > maxDenied || p.n.neg != p.o.neg || !sameValues(p.n, p.o) {
		return ""
	}
	a, b := bare(p.n), bare(p.o)
	i, j, ok := onlyDifference(a, b)
	if !ok || len(a) < 2 || !opposites[a[i]][b[j]] {
		return ""
	}
	switch {
	case p.n.marker:
		return oxbow.Replaces
	case soft[a[i]]:
		return ""
	}
	return oxbow.Contradicts
}

// bareDrops are words without which two statements are compared for their only
// difference.
var bareDrops = set("a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "has", "have", "now", "again", "just", "still", "already", "currently", "finally", "user", "i", "we", "our", "my", "user's", "'s", "it", "also",
	"these", "days", "everybody's", "do", "does", "did", "its", "his", "her", "their", "of", "got")

// bare gives the words of a statement that may make a difference.
func bare(c *claim) []string {
	var out []string
	for _, w := range c.words {
		if !bareDrops[w.low] && isWordRune([]rune(w.low)[0]) {
			out = append(out, w.low)
		}
	}
	return out
}

// onlyDifference gives the places of the one word in which two lists of the
// same length differ.
func onlyDifference(a, b []string) (i, j int, ok bool) {
	if len(a) != len(b) {
		return 0, 0, false
	}
	i = -1
	for k := range a {
		if a[k] == b[k] || text.Stem(a[k]) != "" && text.Stem(a[k]) == text.Stem(b[k]) && !opposites[a[k]][b[k]] {
			continue
		}
		if i >= 0 {
			return 0, 0, false
		}
		i = k
	}
	return i, i, i >= 0
}

// turned tells whether two statements hold opposites, or particles such as on
// and off, so that they cannot be the same statement.
func turned(a, b *claim) bool {
	for _, w := range a.words {
		for o := range opposites[w.low] {
			if b.has(o) && !a.has(o) && !b.has(w.low) {
				return true
			}
		}
	}
	return false
}
