package oxbow

import (
	"slices"
	"time"
)

// PruneOrder gives the active memories of one slot that prune archives so that
// at most the policy's SlotCap remain, weakest claim first: trust, access
// count, last use, id. Pinned memories, those younger than PruneMinAgeDays and
// those used PruneMinAccess times or more are safe, and a source is not cut
// below its share of the cap by what the others bring. Notes of conversations
// neither count nor go: they are condensed and fade. It gives fewer than the
// excess when not enough may go.
func PruneOrder(slot []Memory, p Policy, now time.Time) []Memory {
	slot = slices.DeleteFunc(slices.Clone(slot), Memory.IsNote)
	excess := len(slot) - p.SlotCap
	if excess <= 0 {
		return nil
	}
	held := map[Source]int{}
	var candidates []Memory
	for _, m := range slot {
		held[m.Source]++
		old := days(now.Sub(m.SaidAt)) > p.PruneMinAgeDays
		if old && !m.Pinned && m.AccessCount < p.PruneMinAccess {
			candidates = append(candidates, m)
		}
	}
	slices.SortFunc(candidates, func(a, b Memory) int {
		if d := a.Source.Trust() - b.Source.Trust(); d != 0 {
			return d
		}
		if d := a.AccessCount - b.AccessCount; d != 0 {
			return d
		}
		if d := a.RefTime().Compare(b.RefTime()); d != 0 {
			return d
		}
		return cmpString(a.ID, b.ID)
	})
	share := p.SlotCap / len(held)
	var out []Memory
	for _, m := range candidates {
		if len(out) == excess {
			break
		}
		if held[m.Source] <= share {
			continue
		}
		held[m.Source]--
		out = append(out, m)
	}
	return out
}

// brakeFloor is how many memories passes may always change in 24 hours.
const brakeFloor = 20

// Brake gives how many more memories passes may change in a scope of total
// memories, of which changed were changed by passes in the last 24 hours:
// maxShare of the total, at least 20, less those. Never negative.
func Brake(total, changed int, maxShare float64) int {
	return max(0, max(brakeFloor, int(float64(total)*maxShare))-changed)
}
