package engine

import (
	"slices"

	"github.com/oxbow-memory/oxbow"
)

// PageOf gives at most limit of all, from behind the one whose name is after on
// ("" begins), and the name to go on behind, which is "" when nothing follows. A
// name that is not there is not found.
func PageOf[T any](all []T, after string, limit int, name func(T) string) (page []T, next string, err error) {
	if after != "" {
		i := slices.IndexFunc(all, func(v T) bool { return name(v) == after })
		if i < 0 {
			return nil, "", nothingBehind(after)
		}
		all = all[i+1:]
	}
	if len(all) > limit {
		return all[:limit], name(all[limit-1]), nil
	}
	return all, "", nil
}

// Behind gives what a page begins behind, by its name as look finds it, and nothing
// for "", which begins at the first page. The store lists nothing behind what is not
// there, as if there were no more, so that is not found.
func Behind[T any](name string, look func(name string) (T, error)) (found T, err error) {
	if name == "" {
		return found, nil
	}
	if found, err = look(name); oxbow.CodeOf(err) == oxbow.CodeNotFound {
		err = nothingBehind(name)
	}
	return found, err
}

func nothingBehind(name string) error {
	return oxbow.Errorf(oxbow.CodeNotFound, "the page begins behind %q, which is not there: leave it out to begin at the first page", name)
}
