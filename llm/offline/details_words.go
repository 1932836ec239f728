package offline

import (
	"maps"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// relation is what a verb, with the preposition behind it, says of its subject.
type relation struct {
	attribute string
	one       bool // of it there is one value at a time
}

// relations lists attributes, each with the ways to say it: a verb and perhaps a
// preposition. One at a time stands before a bar, many after it. A way that is
// not listed is an attribute of its own, of which there may be many.
var relations = makeRelations(map[string]string{
	"home":        "live with,live in,live at,live on,live near,reside in,reside at,settle in,base in,dwell in,be home in,relocate to,stay in",
	"place":       "meet in,take_place in,happen in,gather in,be in,be on,be at,be by,be near,be under,be behind,be between,be next,locate in,locate on,locate at,sit in,sit on,sit at,sit by,lie in,lie on,stand in,stand by,stand at,stand on,situate in,situate on,park in,park on,park at,store in,keep in,keep on,keep at,keep under,hang in,hang on,relocate to",
	"when":        "be when,start when,begin when,happen when,take_place when,hold when,schedule for,schedule when,set for,plan for,occur when,run when,meet when,fall on,due when,arrive when,leave when,depart when,land when,book for,fly when",
	"opens":       "open when,open",
	"closes":      "close when,shut when,end when,finish when,expire when,lock when,run until,last until,valid until,be until,run_out when",
	"employer":    "work at,work for,employ at,employ by,join,hire by,be employed by,start at",
	"job":         "work as,become,promote to,be a,serve as,train as",
	"school":      "attend,study at,enrol at,enroll at,enrol in,transfer to,be enrolled at",
	"field":       "study,major in,be majoring in,read at,specialise in,specialize in",
	"bank":        "bank with,bank at,have account at,have account with",
	"transport":   "commute by,commute on,commute with,go by,travel by,get by,come by,travel to by",
	"boss":        "report to",
	"name":        "call,name,be called,go by name,rename to",
	"price":       "cost,charge,be priced at,sell for,be sold for",
	"lasts":       "last,take time,run for,last for,be long,go on for",
	"weighs":      "weigh",
	"measures":    "measure",
	"owner":       "belong to,own by",
	"assignee":    "assign to,reassign to,hand to,give to",
	"author":      "write by,make by,design by,paint by",
	"teacher":     "teach by,lead by,run by,manage by,handle by,maintain by,coach by,head by,organise by,organize by,coordinate by,chair by,cover by,moderate by,review by,instruct by,supervise by,host by",
	"language":    "write in,build in,implement in,code in",
	"recipient":   "send to,go to mail,mail to,deliver to,ship to,forward to,address to,write to",
	"speech":      "write in,answer in,reply in,respond in,speak in,write me in",
	"prefers":     "prefer,favour,favor,rather",
	"rides":       "drive,ride",
	"engagement":  "engage to,marry to,marry,date",
	"team":        "play for,compete for,support team",
	"runs on":     "run on,be on version,use version,be version,build on,base on,power by,depend on",
	"needs":       "need,require",
	"lodging":     "stay at,stay in hotel,lodge at,book at",
	"setting":     "set to,configure to,cap at,limit to,fix at",
	"kept":        "keep for,retain for,store for,hold for",
	"every":       "be every,happen every,take_place every,run every,rotate every,meet every,go_out every,back_up every,publish every",
	"topic":       "be about,deal with,focus on",
	"age":         "be aged,turn",
	"insurer":     "insure with,insure by,insure at",
	"provider":    "be with,get from,buy from,order from,supply by,come from,source from",
	"host":        "host on,host at,host in,deploy to,deploy on",
	"destination": "go to,sync to,flow to,lead to,point to,drain to,export to,upload to,replicate to",
	"fuel":        "run on fuel,heat with,cook on,cook with,heat by",
}, "home place when opens closes employer job school field bank transport boss name price lasts weighs measures owner assignee author teacher language recipient speech prefers rides engagement team needs lodging setting kept every topic age insurer host fuel runs_on destination")

func makeRelations(table map[string]string, ones string) map[string]relation {
	out := map[string]relation{}
	single := set(strings.Fields(ones)...)
	for _, attribute := range slices.Sorted(maps.Keys(table)) {
		for way := range strings.SplitSeq(table[attribute], ",") {
			if _, taken := out[way]; !taken {
				out[way] = relation{attribute, single[strings.ReplaceAll(attribute, " ", "_")]}
			}
		}
	}
	return out
}

// verbs gives the lemma of a verb's form. Regular forms are made from the lemma.
var verbs = makeVerbs(`live reside settle base relocate locate sit lie stand situate park store keep hang start begin happen hold schedule set plan occur run meet fall arrive leave depart land book fly
open close shut end finish expire lock last work employ join hire become promote serve train go attend study enrol enroll transfer major specialise bank commute travel get come report call name rename cost charge sell
take weigh measure belong own assign reassign hand give write make design paint teach lead manage handle maintain coach head organise coordinate chair cover moderate review host send mail deliver ship forward address answer reply respond speak
prefer favour drive ride engage marry date play compete support build power depend need require stay lodge configure cap limit fix retain rotate publish back deal focus turn insure buy order supply source deploy heat cook
have use like love hate drink eat wear read watch listen smoke sleep wake sing dance paint collect practise practice learn know contain include hold allow accept offer serve sell cover support wait pay save spend earn owe invest rent lease
grow raise breed feed walk run swim climb cycle hike ski train visit see call text email contact track log monitor test check store encrypt compress compile render target squash merge rebase tag release push pull sign seat
recommend avoid skip order subscribe attend follow vote volunteer donate teach tutor supervise bring carry clean wash vacuum repair mow water stream type edit code host process produce import export print scan ship sync cache index
switch move change convert migrate replace swap raise lower increase reduce cut extend shorten postpone delay push reschedule rebook shift bump upgrade downgrade update double halve drop quit stop cancel abandon lose ditch retire remove terminate
return revert end resign divorce die pass break fail work celebrate age stack heal recover renew dislike enjoy throw scrap donate stream dye paint rise put steal shave retire deliver visit offer grow marry fire lay evict borrow lend repay rely love resume pause welcome permit pack forbid ban prohibit tolerate revoke withdraw suspend confiscate demolish dismiss appoint elect accept show discover rely employ discharge fill hire appoint look find wire paint tile coach moderate`)

// irregular forms, "form lemma".
const irregularForms = `am be,is be,are be,was be,were be,been be,being be,has have,had have,having have,goes go,went go,gone go,lay lie,stood stand,sat sit,kept keep,hung hang,began begin,begun begin,held hold,ran run,met meet,fell fall,left leave,flew fly,
flies fly,shut shut,became become,got get,gotten get,came come,cost cost,sold sell,took take,taken take,gave give,given give,wrote write,written write,made make,taught teach,led lead,sent send,spoke speak,spoken speak,drove drive,driven drive,rode ride,ridden ride,
built build,bought buy,drank drink,ate eat,eaten eat,wore wear,worn wear,slept sleep,woke wake,sang sing,sung sing,knew know,known know,paid pay,spent spend,grew grow,fed feed,swam swim,saw see,seen see,brought bring,set set,flown fly,found find,flew fly,lent lend,borrowed borrow,stolen steal,worn wear,beaten beat,cut cut,read read,
quit quit,lost lose,died die,dying die,lying lie,put put,begins begin,studies study,studied study,married marry,marries marry,carries carry,carried carry,relies rely,do do,does do,did do,done do,dropped drop,stopped stop,swapped swap,planned plan,shipped ship,transferred transfer,
preferred prefer,cancelled cancel,canceled cancel,cancelling cancel,travelled travel,travelling travel,begun begin,rose rise,risen rise,left leave,threw throw,thrown throw,put put,stole steal,stolen steal,gave give,enrolled enrol,renamed rename,running run,sitting sit,cutting cut,setting set,getting get,beginning begin,swimming swim,dropping drop,stopping stop,quitting quit,swapping swap,shutting shut,tagged tag,logged log,capped cap,bumped bump,broke break,broken break`

func makeVerbs(lemmas string) map[string]string {
	out := map[string]string{}
	for l := range strings.FieldsSeq(lemmas) {
		stem := strings.TrimSuffix(l, "e")
		s := l + "s"
		if strings.HasSuffix(l, "ch") || strings.HasSuffix(l, "sh") || strings.HasSuffix(l, "ss") || strings.HasSuffix(l, "x") {
			s = l + "es"
		}
		if strings.HasSuffix(l, "y") && !strings.ContainsAny(l[len(l)-2:len(l)-1], "aeou") {
			s = l[:len(l)-1] + "ies"
			out[l[:len(l)-1]+"ied"] = l
		}
		for _, f := range []string{l, s, stem + "ed", stem + "ing", l + "ing"} {
			out[f] = l
		}
	}
	for pair := range strings.SplitSeq(strings.ReplaceAll(irregularForms, "\n", ""), ",") {
		f, l, _ := strings.Cut(pair, " ")
		out[f] = l
	}
	return out
}

// siblings are classes of words of which a thing is one at a time, each class in
// braces of its own: what is compared as a typed value although it is a plain
// word.
var siblings = makeSiblings(map[string]string{
	"transport":   "car bus train tram bike bicycle ferry plane foot subway metro scooter motorbike underground taxi boat ship",
	"season":      "spring summer autumn fall winter",
	"frequency":   "daily weekly biweekly fortnightly monthly quarterly yearly annually hourly nightly",
	"log level":   "trace debug info warn warning error fatal",
	"fuel":        "diesel petrol gasoline electric hybrid gas induction coal oil electricity",
	"seat":        "window aisle",
	"theme":       "dark light",
	"indentation": "tabs spaces",
	"contract":    "full-time part-time freelance freelancer permanent self-employed",
	"shift":       "day night early late",
	"diet":        "vegan vegetarian pescatarian omnivore carnivore keto paleo gluten-free",
	"language":    "english german french spanish italian dutch portuguese polish danish swedish norwegian finnish russian greek turkish arabic hindi japanese korean chinese mandarin czech hungarian romanian ukrainian irish welsh catalan",
	"science":     "physics mathematics maths biology chemistry history philosophy law medicine economics geography sociology psychology engineering literature linguistics geology architecture art archaeology astronomy journalism",
	"instrument":  "piano guitar violin cello flute drums trumpet clarinet saxophone harp viola oboe bass ukulele banjo accordion",
	"drink":       "tea coffee water juice milk beer wine soda cola",
	"hair":        "blond blonde brunette brown-haired red-haired",
	"unit system": "metric imperial",
	"severity":    "low medium high critical urgent",
	"relief":      "single married engaged divorced widowed separated",
	"keyboard":    "mechanical membrane qwerty qwertz azerty dvorak colemak",
	"meal":        "breakfast lunch dinner supper brunch",
	"spelling":    "british american",
	"size":        "xs small medium large xl xxl",
	"presence":    "online in-person remote remotely onsite on-site hybrid",
	"temper":      "hot cold warm cool",
	"occupation": "nurse teacher doctor engineer developer designer lawyer baker barista waiter waitress chef cook plumber electrician carpenter pilot driver accountant journalist writer editor architect dentist pharmacist vet librarian manager consultant analyst scientist researcher professor student pupil farmer gardener painter photographer musician actor firefighter soldier mechanic tailor butcher translator therapist psychologist freelancer contractor intern programmer administrator secretary salesman cashier receptionist paramedic midwife surgeon physiotherapist clerk janitor retiree pensioner apprentice trainee freelancer director tester sysadmin " +
		"copywriter illustrator bookkeeper banker broker realtor florist hairdresser barber bartender courier paralegal notary judge solicitor barrister salesperson salesman saleswoman beekeeper postman optician engineer lifeguard astronaut chemist physicist biologist cleaner porter concierge stylist goldsmith roofer welder surveyor geologist historian economist auditor actuary notetaker ranger diver headteacher principal lecturer tutor coach trainer dispatcher",
	"vehicle": "hatchback estate suv convertible van truck sedan coupe pickup",
	"housing": "house flat apartment studio bungalow cottage dorm houseboat",
	"license": "mit apache gpl agpl bsd mpl proprietary",
})

func makeSiblings(table map[string]string) map[string]string {
	out := map[string]string{}
	for _, class := range slices.Sorted(maps.Keys(table)) {
		for w := range strings.FieldsSeq(table[class]) {
			if _, taken := out[w]; !taken {
				out[w] = class
			}
		}
	}
	return out
}

// regions are countries and parts of the world, which hold the towns that one
// lives in: living in one of them denies no town.
var regions = set(strings.Split("england,scotland,wales,ireland,britain,uk,usa,us,america,canada,mexico,brazil,argentina,chile,peru,colombia,germany,france,spain,italy,portugal,austria,switzerland,belgium,netherlands,holland,luxembourg,denmark,sweden,norway,finland,iceland,poland,czechia,slovakia,hungary,romania,bulgaria,"+
	"greece,croatia,slovenia,serbia,bosnia,albania,ukraine,russia,estonia,latvia,lithuania,turkey,israel,egypt,morocco,tunisia,algeria,kenya,nigeria,ghana,ethiopia,india,pakistan,china,japan,korea,taiwan,vietnam,thailand,malaysia,singapore,indonesia,philippines,australia,europe,asia,africa,scandinavia,bavaria,saxony,"+
	"california,texas,florida,oregon,washington,ohio,virginia,georgia,colorado,utah,nevada,arizona,michigan,illinois,massachusetts,ontario,quebec,catalonia,andalusia,tuscany,sicily,lombardy,provence,brittany,normandy,yorkshire,cornwall,tyrol,styria,bohemia,moravia,zealand,emirates,arabia,tanzania,uganda,senegal,cuba,jamaica,ecuador,bolivia,uruguay,venezuela,nepal,bangladesh,cyprus,malta,armenia,azerbaijan,kazakhstan,mongolia", ",")...)

// demonyms end the adjectives of peoples and faiths, which are written like
// names and are none.
var demonyms = set("american", "british", "english", "german", "french", "dutch", "greek", "swiss", "czech", "thai", "catalan", "basque", "welsh", "irish", "arab", "african", "asian", "european", "canadian", "christian", "jewish", "muslim", "hindu", "buddhist", "catholic", "protestant", "orthodox", "scottish", "latino")

func isDemonym(low string) bool {
	if demonyms[low] {
		return true
	}
	for _, end := range []string{"ish", "ese", "nian", "lian", "sian", "dian", "rian", "tian", "gian", "cian", "can", "ean"} {
		if len(low) >= len(end)+2 && strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// adverbs are passed over when a clause is read; what they say of the whole
// stands in the claim.
var adverbs = set("now", "currently", "still", "just", "already", "finally", "recently", "actually", "really", "nowadays", "usually", "generally", "officially", "again", "instead", "please", "simply", "only", "mostly", "mainly", "temporarily", "permanently",
	"also", "too", "almost", "exactly", "roughly", "about", "around", "approximately", "even", "well", "today", "lately", "always", "fully", "completely", "definitely", "certainly", "indeed", "eventually", "anymore")

// prepositions begin what stands behind a verb.
var prepositions = set("in", "on", "at", "by", "to", "for", "with", "from", "near", "under", "behind", "between", "until", "till", "into", "onto", "about", "as", "during", "since", "before", "after", "because", "when", "while", "per", "over", "through", "within", "without", "next", "every", "of", "off", "against", "via", "unless", "if", "that", "which", "who", "where", "so", "but", "than", "across", "inside", "outside", "above", "below", "around")

// singleStem gives the stem of a word, or the word when it has none.
func singleStem(w string) string {
	if s := text.Stem(w); s != "" {
		return s
	}
	return w
}
