package llm

import "context"

// Grapher is a judge that reads what a statement names and how that relates, for
// the graph. It stands beside Judge because the lifecycle does without. Its
// errors are those of a Judge.
type Grapher interface {
	// Name is judge@version. What another one read is read again.
	Name() string
	// Graph gives the things that a statement names by a name of their own, and
	// the relations between them that it states as so. Whoever asks is the thing
	// called user, whatever the words call them. Nothing is an answer. What a
	// name or a relation rests on are words of the statement; the gate in package
	// jobs drops what stands on none.
	Graph(ctx context.Context, s Statement) (Graph, error)
}

// UserEntity is the name of the entity that is the user.
const UserEntity = "user"

// Graph is what a statement names.
type Graph struct {
	Entities  []Entity
	Relations []EntityRelation
}

// Entity is something with a name.
type Entity struct {
	Name        string
	Type        string // in one word, such as person, place or tool; may be empty
	Description string // in a few words, such as the user's dentist; may be empty
	Aliases     []string
}

// EntityRelation says how one entity relates to another, both by their names.
type EntityRelation struct {
	From, Type, To string
	Words          string // of the statement, that say so
}
