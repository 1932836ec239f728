package recall

import (
	"cmp"
	"slices"
)

// fill decides which form each entry takes. Everything stands whole when it fits;
// else the room is shared out, and each part does with its own what it can.
func (c *composer) fill() {
	fixed := len(contextHead) + len(c.clock()) + len(contextFoot) + 3 // their lines' ends
	all, left := 0, map[string]int{}
	for _, s := range c.sections {
		if len(s.entries) > 0 {
			fixed += len(headings[s.name]) + 1
		}
		for _, e := range s.entries {
			all += len(e.full)
		}
		left[s.name] = len(s.entries)
	}
	if fixed+all <= c.room {
		for _, s := range c.sections {
			for _, e := range s.entries {
				e.form = whole
			}
		}
		return
	}
	// The longest that the line of what is left out can get.
	c.share(c.room - fixed - len(leftLine(left, c.Budget)) - 1)
}

// share gives each part its share of the room, and then, part by part in their
// order, what the others did not take.
func (c *composer) share(room int) {
	shares := c.Shares
	if shares == nil {
		shares = DefaultShares()
	}
	sum := 0.0
	for _, s := range c.sections {
		if len(s.entries) > 0 {
			sum += max(0, shares[s.name])
		}
	}
	used, unused := map[string]int{}, room
	for _, s := range c.sections {
		own := 0
		if sum > 0 {
			own = int(float64(room) * max(0, shares[s.name]) / sum)
		}
		used[s.name] = s.fit(own)
		unused -= used[s.name]
	}
	for _, s := range c.sections {
		now := s.fit(used[s.name] + unused)
		unused -= now - used[s.name]
	}
}

// fit puts as much of a part into some bytes as goes, and gives how many it took.
// What the cue asked for comes first, then what was said last. As many memories
// as possible are told, by their summaries if need be; then the first of them get
// their words back.
func (s *section) fit(room int) (used int) {
	order := slices.Clone(s.entries)
	slices.SortStableFunc(order, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), s.byAge(a, b))
	})
	for _, e := range order {
		e.form = leftOut
		if used+len(e.short) <= room {
			e.form = summarised
			used += len(e.short)
		}
	}
	for _, e := range order {
		if more := len(e.full) - len(e.short); e.form == summarised && used+more <= room {
			e.form = whole
			used += more
		}
	}
	return used
}

func rank(e *entry) int {
	if e.asked() {
		return 1
	}
	return 0
}

// byAge puts what was said last first, in the parts that are lists of what was
// said; the others are in their order already.
func (s *section) byAge(a, b *entry) int {
	if s.name != Observations && s.name != Recent {
		return 0
	}
	return b.result.Memory.SaidAt.Compare(a.result.Memory.SaidAt)
}
