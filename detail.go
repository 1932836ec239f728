package oxbow

import "strings"

// DetailType says what sort of value a detail holds. Values are compared only
// with values of their own type.
type DetailType string

// The types of a detail's value. Word is any other.
const (
	NameValue       DetailType = "name"
	PlaceValue      DetailType = "place"
	EmployerValue   DetailType = "employer"
	ToolValue       DetailType = "tool"
	PreferenceValue DetailType = "preference"
	VersionValue    DetailType = "version"
	NumberValue     DetailType = "number"
	DateValue       DetailType = "date"
	TimeValue       DetailType = "time"
	ContactValue    DetailType = "contact"
	WordValue       DetailType = "word"
)

// DetailTypes lists every type, in the order in which they are documented.
var DetailTypes = []DetailType{NameValue, PlaceValue, EmployerValue, ToolValue, PreferenceValue, VersionValue,
	NumberValue, DateValue, TimeValue, ContactValue, WordValue}

// Bounds of what is kept with a memory.
const (
	MaxDetails    = 8   // of one memory
	MaxDetailText = 120 // characters in a subject, an attribute, a value or a qualifier
	MaxQualifiers = 6
)

// Detail is one typed statement that a memory makes: of what, which attribute,
// and its value. A judge reads details from the words once, when they are
// stored, so that two memories are compared by their values and not by how
// alike they sound. They say nothing that the words do not say.
type Detail struct {
	Subject    string     `json:"subject"`              // user, or of whom or what it is said: standup, daughter
	Attribute  string     `json:"attribute"`            // home, employer, version, is …
	Value      string     `json:"value"`                // in one spelling: 20:00 for 8 pm, 3 for three
	Type       DetailType `json:"type"`                 // one of DetailTypes
	Qualifiers []string   `json:"qualifiers,omitempty"` // where, when or for what it holds, and denied, ended or one
}

// Valid tells whether the detail keeps to the bounds.
func (d Detail) Valid() bool {
	known := false
	for _, t := range DetailTypes {
		known = known || t == d.Type
	}
	if !known || d.Subject == "" || d.Attribute == "" || len(d.Qualifiers) > MaxQualifiers {
		return false
	}
	for _, s := range append([]string{d.Subject, d.Attribute, d.Value}, d.Qualifiers...) {
		if len([]rune(s)) > MaxDetailText {
			return false
		}
	}
	return true
}

// names tells whether the value is a name of its own, held without bounds: not
// denied or ended, and not for one place, time or purpose.
func (d Detail) names() bool {
	switch d.Type {
	case ToolValue, PlaceValue, NameValue, EmployerValue:
	default:
		return false
	}
	for _, q := range d.Qualifiers {
		if q != "one" && !strings.HasPrefix(q, "of ") {
			return false
		}
	}
	return d.Value != ""
}
