package recall

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// MatrixBytes is how much memory a Matrix takes for all scopes together, where
// nothing else is said: 31,000 vectors of 512 dimensions.
const MatrixBytes = 64 << 20

// Matrix keeps the vectors of scopes in memory, one row a memory, so that the
// nearest ones to a question are found by going through all of them: that is
// exact, needs no index, and at 30,000 rows takes a few milliseconds. A scope is
// loaded when it is first asked about, and kept fresh: before each answer one
// look at an index tells whether a vector was put or dropped since, and then only
// those are read. All scopes together stay within a budget of bytes; the one that
// was not asked for the longest time makes room. A scope that does not fit by
// itself is not loaded: then vectors only rescore what was found by words.
//
// Vectors of different embedders never meet. A Matrix is safe for concurrent use.
type Matrix struct {
	st     store.VectorReader
	budget int64

	mu    sync.Mutex
	held  map[matrixKey]*rows
	bytes int64 // of all that is held
	turn  int64 // counts answers, to know which scope was asked last
}

type matrixKey struct {
	scope    oxbow.Scope
	embedder string
}

// rows are the vectors of one scope. mu guards all but the last two fields,
// which are Matrix.mu's; who holds both has taken rows.mu first.
type rows struct {
	mu         sync.RWMutex
	dimensions int
	mark       int64             // store.VectorMark as far as it was read
	place      store.VectorPlace // where to go on reading
	loaded     bool
	tooLarge   int64           // 0, or how many rows did not fit
	numbers    []int64         // of the memories, row by row
	at         map[int64]int32 // row of a memory
	values     []float32       // row by row, contiguous

	bytes int64 // accounted for
	asked int64 // Matrix.turn at the last answer
}

// NewMatrix makes a Matrix over a store; it does no I/O. budget is in bytes, 0 is
// MatrixBytes, and below 0 nothing is held.
func NewMatrix(st store.VectorReader, budget int64) *Matrix {
	if budget == 0 {
		budget = MatrixBytes
	}
	return &Matrix{st: st, budget: budget, held: map[matrixKey]*rows{}}
}

// Nearest gives the memories of a scope whose vectors have the greatest dot
// product with the query's, above 0, best first, ties by id. ok is false when the
// scope does not fit into the budget; use Rescore then. Where the database has an
// index of vectors itself, that is asked instead.
func (m *Matrix) Nearest(ctx context.Context, q store.NearestQuery) (hits []store.Hit, ok bool, err error) {
	if q.Limit < 1 {
		return nil, true, nil
	}
	if hits, ok, err := m.st.NearestVectors(ctx, q); ok || err != nil {
		return hits, ok, err
	}
	mark, err := m.st.VectorMark(ctx, q.Scope)
	if err != nil || mark == 0 {
		return nil, err == nil, err
	}
	r := m.of(matrixKey{q.Scope, q.Embedder})
	if err := m.freshen(ctx, q, r, mark); err != nil {
		return nil, false, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.loaded || r.dimensions != len(q.Vector) {
		return nil, false, nil
	}
	hits, err = m.standing(ctx, q, r)
	return hits, true, err
}

// standing gives the best rows that may be shown. Of those that may not, because
// they were superseded or have faded, there can be any number.
func (m *Matrix) standing(ctx context.Context, q store.NearestQuery, r *rows) ([]store.Hit, error) {
	for n := 4*q.Limit + 32; ; n *= 8 {
		best, err := r.best(ctx, q.Vector, n)
		if err != nil {
			return nil, err
		}
		scores := make(map[int64]float64, len(best))
		numbers := make([]int64, len(best))
		for i, b := range best {
			numbers[i], scores[b.number] = b.number, sixDigits(b.score)
		}
		found, err := m.st.Standing(ctx, store.StandingQuery{Scope: q.Scope, Numbers: numbers, Statuses: q.Statuses, Now: q.Now})
		if err != nil {
			return nil, err
		}
		if len(found) < q.Limit && len(best) == n {
			continue
		}
		hits := make([]store.Hit, len(found))
		for i, f := range found {
			hits[i] = store.Hit{ID: f.ID, Score: scores[f.Number]}
		}
		return cutTo(byScore(hits), q.Limit), nil
	}
}

// Rescore gives the dot products of the query's vector with those of memories,
// best first, ties by id; memories without a vector are left out. Statuses, Now
// and Limit are not looked at.
func (m *Matrix) Rescore(ctx context.Context, q store.NearestQuery, ids []string) ([]store.Hit, error) {
	vs, err := m.st.VectorsOf(ctx, q.Scope, q.Embedder, ids)
	if err != nil {
		return nil, err
	}
	dot := product(q.Vector)
	hits := make([]store.Hit, 0, len(vs))
	for id, v := range vs {
		if len(v) == len(q.Vector) {
			hits = append(hits, store.Hit{ID: id, Score: sixDigits(dot(v))})
		}
	}
	return byScore(hits), nil
}

// sixDigits makes an order that does not depend on the last bits.
func sixDigits(x float32) float64 { return math.Round(float64(x)*1e6) / 1e6 }

func byScore(hits []store.Hit) []store.Hit {
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return hits
}

// of gives the rows of a scope, empty ones at first.
func (m *Matrix) of(key matrixKey) *rows {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.held[key]
	if r == nil {
		r = &rows{at: map[int64]int32{}}
		m.held[key] = r
	}
	m.turn++
	r.asked = m.turn
	return r
}

// loadPage is how many vectors are read at a time.
const loadPage = 2000

// freshen brings rows to a mark, if they are not there.
func (m *Matrix) freshen(ctx context.Context, q store.NearestQuery, r *rows, mark int64) error {
	r.mu.RLock()
	fresh := r.mark >= mark
	r.mu.RUnlock()
	if fresh {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mark >= mark {
		return nil
	}
	if !r.loaded {
		fits, err := m.begin(ctx, q, r, mark)
		if err != nil || !fits {
			return err
		}
	}
	for {
		page, err := m.st.VectorsSince(ctx, q.Scope, q.Embedder, r.place, loadPage)
		if err != nil {
			return err
		}
		for _, p := range page {
			if !m.take(matrixKey{q.Scope, q.Embedder}, r, p) {
				r.empty(mark, int64(len(r.numbers)))
				return nil
			}
		}
		if len(page) < loadPage {
			// What became visible while the pages were read may be further on.
			r.mark = max(mark, r.place.Mark)
			return nil
		}
	}
}

// begin tells whether a scope fits that is not loaded, and makes room for it. One
// that was too large is not counted again before an eighth of it has changed.
func (m *Matrix) begin(ctx context.Context, q store.NearestQuery, r *rows, mark int64) (bool, error) {
	if r.tooLarge > 0 && mark-r.place.Mark < r.tooLarge/8 {
		r.mark = mark
		return false, nil
	}
	with, _, err := m.st.CountVectors(ctx, q.Scope, q.Embedder)
	if err != nil {
		return false, err
	}
	r.dimensions = len(q.Vector)
	if !m.grow(matrixKey{q.Scope, q.Embedder}, r, with) {
		r.empty(mark, int64(with))
		return false, nil
	}
	r.loaded, r.tooLarge, r.place = true, 0, store.VectorPlace{}
	return true, nil
}

// take applies what was put or dropped; false when it does not fit any more.
func (m *Matrix) take(key matrixKey, r *rows, p store.PlacedVector) bool {
	r.place = p.VectorPlace
	row, known := r.at[p.Number]
	d := r.dimensions
	switch {
	case len(p.Values) != d && known: // dropped
		last := len(r.numbers) - 1
		copy(r.values[int(row)*d:], r.values[last*d:])
		r.numbers[row] = r.numbers[last]
		r.at[r.numbers[row]] = row
		delete(r.at, p.Number)
		r.numbers, r.values = r.numbers[:last], r.values[:last*d]
	case len(p.Values) != d:
	case known:
		copy(r.values[int(row)*d:], p.Values)
	default:
		if n := len(r.numbers); n == cap(r.numbers) && !m.grow(key, r, n+n/8+16) {
			return false
		}
		r.at[p.Number] = int32(len(r.numbers))
		r.numbers, r.values = append(r.numbers, p.Number), append(r.values, p.Values...)
	}
	return true
}

// empty lets go of the values of rows that do not fit.
func (r *rows) empty(mark, tooLarge int64) {
	r.loaded, r.tooLarge, r.mark = false, max(1, tooLarge), mark
	r.place = store.VectorPlace{Mark: mark}
	r.numbers, r.values, r.at = nil, nil, map[int64]int32{}
}

// rowBytes is what a row takes: its values, its number, and its entry in a map
// that is at worst half empty.
func rowBytes(dimensions int) int64 { return 4*int64(dimensions) + 8 + 48 }

// grow makes room for n rows, taking it from the scopes that were not asked about
// for the longest time; false when even that is not enough, or when the rows
// themselves were taken meanwhile: then they are not held any more.
func (m *Matrix) grow(key matrixKey, r *rows, n int) bool {
	need := int64(n) * rowBytes(r.dimensions)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[key] != r {
		return false
	}
	m.bytes -= r.bytes
	r.bytes = 0
	if need > m.budget {
		return false
	}
	for m.bytes+need > m.budget {
		m.evictOther(key)
	}
	r.bytes = need
	m.bytes += need
	numbers, values := make([]int64, len(r.numbers), n), make([]float32, len(r.values), n*r.dimensions)
	copy(numbers, r.numbers)
	copy(values, r.values)
	r.numbers, r.values = numbers, values
	return true
}

// evictOther lets go of the scope that was not asked about for the longest time,
// but for one. Who goes through its rows at the moment keeps them until then.
func (m *Matrix) evictOther(than matrixKey) {
	var oldest matrixKey
	var found *rows
	for key, r := range m.held {
		if key != than && r.bytes > 0 && (found == nil || r.asked < found.asked) {
			oldest, found = key, r
		}
	}
	m.bytes -= found.bytes
	found.bytes = 0
	delete(m.held, oldest)
}

// Held gives how many scopes are held and the bytes that they take.
func (m *Matrix) Held() (scopes int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.held {
		if r.bytes > 0 {
			scopes++
		}
	}
	return scopes, m.bytes
}

// scored is a row with its dot product.
type scored struct {
	number int64
	score  float32
}

func (a scored) worse(b scored) bool {
	return a.score < b.score || a.score == b.score && a.number > b.number
}

// worst is a heap whose first row is the worst of them.
type worst []scored

func (h worst) Len() int           { return len(h) }
func (h worst) Less(i, j int) bool { return h[i].worse(h[j]) }
func (h worst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worst) Push(x any)        { *h = append(*h, x.(scored)) }
func (h *worst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// lookUp is after how many rows it is looked whether the asker has gone.
const lookUp = 4096

// best gives the n rows with the greatest dot products above 0, best first.
func (r *rows) best(ctx context.Context, v []float32, n int) ([]scored, error) {
	dot, d := product(v), r.dimensions
	h := make(worst, 0, min(n, len(r.numbers)))
	for i, number := range r.numbers {
		if i%lookUp == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		s := scored{number, dot(r.values[i*d : (i+1)*d])}
		switch {
		case s.score <= 0:
		case len(h) < n:
			heap.Push(&h, s)
		case h[0].worse(s):
			h[0] = s
			heap.Fix(&h, 0)
		}
	}
	slices.SortFunc(h, func(a, b scored) int {
		if b.worse(a) {
			return -1
		}
		return 1
	})
	return h, nil
}

// product gives the dot product with a vector. Of one that is zero in most
// places, as those of words are, only the others are looked at.
func product(v []float32) func([]float32) float32 {
	var places []int32
	var weights []float32
	for i, x := range v {
		if x != 0 {
			places, weights = append(places, int32(i)), append(weights, x)
		}
	}
	if 4*len(places) > len(v) {
		return func(row []float32) float32 { return fullDot(v, row) }
	}
	return func(row []float32) float32 { return sparseDot(places, weights, row) }
}

// fullDot has four sums, so that one addition need not wait for the other.
func fullDot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

func sparseDot(places []int32, weights, row []float32) float32 {
	var s0, s1 float32
	weights = weights[:len(places)]
	i := 0
	for ; i+2 <= len(places); i += 2 {
		s0 += weights[i] * row[places[i]]
		s1 += weights[i+1] * row[places[i+1]]
	}
	if i < len(places) {
		s0 += weights[i] * row[places[i]]
	}
	return s0 + s1
}
