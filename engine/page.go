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
			return nil, "", oxbow.Errorf(oxbow.CodeNotFound, "the page begins behind %q, which is not there: begin at the first page", after)
		}
		all = all[i+1:]
	}
	if len(all) > limit {
		return all[:limit], name(all[limit-1]), nil
	}
	return all, "", nil
}
