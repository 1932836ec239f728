package oxbow

import (
	"math"
	"math/bits"
	"time"
)

// hoursPerDay turns durations into the days that half-lives are given in.
const hoursPerDay = 24.0

// days gives a duration in days.
func days(d time.Duration) float64 { return d.Hours() / hoursPerDay }

// maxDays is the longest life that is reckoned with, in days: a Duration ends
// at 292 years, and a half-life of a century times its steps is longer.
const maxDays = 100_000.0

// fromDays gives days, at most maxDays, as a duration, in whole milliseconds,
// because that is what both databases keep.
func fromDays(d float64) time.Duration {
	return time.Duration(math.Round(min(d, maxDays)*hoursPerDay*3600*1000)) * time.Millisecond
}

// UseStep says how many whole steps use has lengthened a memory's life:
// min(5, floor(log2(1 + accessCount))) (DESIGN 4, policy stable).
func UseStep(accessCount int) int {
	if accessCount <= 0 {
		return 0
	}
	return min(5, bits.Len(uint(1+accessCount))-1)
}

// EffectiveHalfLife gives a memory's half-life in days under a policy: H by
// kind, times 1 + UseStep under stable, H itself under classic; 0 when pinned.
func (p Policy) EffectiveHalfLife(m Memory) float64 {
	if m.Pinned {
		return 0
	}
	h, ok := p.HalfLifeDays[m.Kind]
	if !ok {
		h = 30
	}
	if p.Strength == Classic {
		return h
	}
	return h * float64(1+UseStep(m.AccessCount))
}

// classicBonus is the freshness bonus of the published design: 0.03 a use,
// at most 0.3.
func classicBonus(accessCount int) float64 {
	return min(0.3, 0.03*float64(accessCount))
}

// StrengthOf gives how present a memory is at now, 0 to 1.
//
//	classic: min(1, 2^(-idle/H) + min(0.3, 0.03 * access_count))
//	stable:  2^(-idle / (H * (1 + UseStep)))
//
// idle is the time since RefTime in days, never negative. Pinned: 1.
func (p Policy) StrengthOf(m Memory, now time.Time) float64 {
	if m.Pinned {
		return 1
	}
	idle := max(0, days(now.Sub(m.RefTime())))
	s := math.Exp2(-idle / p.EffectiveHalfLife(m))
	if p.Strength == Classic {
		s += classicBonus(m.AccessCount)
	}
	return min(1, s)
}

// FadesAt gives the instant at which strength crosses ArchiveBelow; zero when
// it never does: pinned, or under classic with a bonus at or over the threshold
// (four uses make a memory immortal there, the defect that stable mends).
func (p Policy) FadesAt(m Memory) time.Time {
	if m.Pinned {
		return time.Time{}
	}
	left := p.ArchiveBelow
	if p.Strength == Classic {
		left -= classicBonus(m.AccessCount)
		if left <= 0 {
			return time.Time{}
		}
	}
	life := -math.Log2(left) * p.EffectiveHalfLife(m)
	return m.RefTime().Add(fromDays(life))
}

// rankFloor keeps the logarithm in RankKey finite.
const rankFloor = 0.001

// RankKey gives the key by which memories of one half-life class are listed.
// It never changes with time:
//
//	log2(max(0.001, importance * confidence)) + ref_time / half_life
//
// with ref_time in days since 1970. A pinned memory has no half-life and no
// ref_time term. (DESIGN 4; the classes are merged when listed.)
func (p Policy) RankKey(m Memory) float64 {
	k := math.Log2(max(rankFloor, m.Importance*m.Confidence()))
	if m.Pinned {
		return k
	}
	return k + float64(m.RefTime().UnixMilli())/(86_400_000*p.EffectiveHalfLife(m))
}

// Standing is what the live listing orders by: importance * confidence *
// strength, with the product of the first two floored at 0.001 as in RankKey.
func (p Policy) Standing(m Memory, now time.Time) float64 {
	return max(rankFloor, m.Importance*m.Confidence()) * p.StrengthOf(m, now)
}

// ListableSince gives, for a half-life class in days, the earliest RefTime
// whose strength at now is over ListAbove. Only stable has such a bound.
func (p Policy) ListableSince(halfLifeDays float64, now time.Time) time.Time {
	return now.Add(-fromDays(-math.Log2(p.ListAbove) * halfLifeDays))
}

// Derive fills the derived fields from the rest and the policy.
func (p Policy) Derive(m Memory) Memory {
	m.HalfLife = p.EffectiveHalfLife(m)
	m.FadesAt = p.FadesAt(m)
	m.RankKey = p.RankKey(m)
	return m
}

// Live tells whether reads may serve the memory at now: active, not past its
// expiry and not faded, whether or not a pass has been there.
func (m Memory) Live(now time.Time) bool {
	return m.Status == Active &&
		(m.ExpiresAt.IsZero() || now.Before(m.ExpiresAt)) &&
		(m.FadesAt.IsZero() || now.Before(m.FadesAt))
}

// FadesFirst tells whether the memory fades before it expires, so that one that
// is no longer live has faded.
func (m Memory) FadesFirst() bool {
	return !m.FadesAt.IsZero() && (m.ExpiresAt.IsZero() || m.FadesAt.Before(m.ExpiresAt))
}

// Use counts one use at now and starts the idle clock anew. At most one use
// per memory and day (UTC) counts; ok tells whether this one did.
func (m Memory) Use(now time.Time) (_ Memory, ok bool) {
	if !m.LastUsedAt.IsZero() && !now.UTC().Truncate(24*time.Hour).After(m.LastUsedAt.UTC().Truncate(24*time.Hour)) {
		return m, false
	}
	m.AccessCount++
	m.LastUsedAt = now
	return m, true
}
