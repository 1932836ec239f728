package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Caller is who asks by a door, and what they may do. The tenant of a call is
// the caller's, never one that a request names.
type Caller struct {
	Tenant      string
	Actor       string // stands in the audit log
	Key         string // the id of the key; empty on a door that asks for none
	Permissions []oxbow.Permission
}

// May refuses what the caller has no permission for: unauthorized.
func (c Caller) May(p oxbow.Permission) error {
	k := oxbow.Key{Permissions: c.Permissions}
	if k.May(p) {
		return nil
	}
	return oxbow.Errorf(oxbow.CodeUnauthorized, "this key may not %s: use one that was made with --may %s", p, p)
}

// As gives an engine whose changes stand in the audit log under a name.
func (e *Engine) As(actor string) *Engine {
	out := *e
	out.actor = actor
	return &out
}

// NewKey is a key that was just made, with its secret, which is shown once.
type NewKey struct {
	oxbow.Key
	Secret string `json:"secret"`
}

// SecretPrefix begins every secret, which makes a secret easy to find where it should not be.
const SecretPrefix = "oxb_"

// secretLength is how many characters of 62 a secret has after its id: 43 hold
// 256 bits.
const secretLength = 43

// CreateKey makes a key of a tenant and gives its secret, which nothing keeps.
// Errors: invalid for a name or permission that is none, or a date that passed;
// conflict for a request that made one before.
func (e *Engine) CreateKey(ctx context.Context, k oxbow.Key) (NewKey, error) {
	k.ID, k.CreatedAt = randomID("key", k.Tenant), e.now()
	k.RevokedAt, k.LastUsedAt = time.Time{}, time.Time{}
	if err := k.Validate(); err != nil {
		return NewKey{}, err
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(k.CreatedAt) {
		return NewKey{}, oxbow.Errorf(oxbow.CodeInvalid, "the key would have ended already: give a later date")
	}
	secret := SecretPrefix + k.ID + "_" + randomText(secretLength)
	k.Hash = hashSecret(secret)
	was := served{Key: k.ID}
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		was = served{Key: k.ID}
		if err := e.once(ctx, tx, k.Tenant, "", &was); err != nil {
			return err
		}
		return tx.PutKey(ctx, k)
	})
	e.keysMade.Add(1)
	if errors.Is(err, errServed) {
		return NewKey{}, oxbow.Errorf(oxbow.CodeConflict, "this request made the key %s, whose secret was shown then and is kept nowhere: revoke it and make another one", was.Key)
	}
	return NewKey{Key: k, Secret: secret}, err
}

// KeysMade counts the keys that this process tried to make, so that a door that
// is open as long as there is none looks again.
func (e *Engine) KeysMade() int64 { return e.keysMade.Load() }

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func randomText(n int) string {
	out := make([]byte, n)
	for i := range out {
		v, err := rand.Int(rand.Reader, big.NewInt(int64(len(base62))))
		if err != nil { // never fails on supported systems
			panic(err)
		}
		out[i] = base62[v.Int64()]
	}
	return string(out)
}

// hashSecret needs no salt and no slowness: a secret is 256 random bits.
func hashSecret(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Keys gives a tenant's keys, the oldest first; an empty tenant gives all.
func (e *Engine) Keys(ctx context.Context, tenant string) ([]oxbow.Key, error) {
	return e.st.ListKeys(ctx, tenant)
}

// RevokeKey ends a key of the tenant, by its id or a unique beginning of it or
// its name. Revoking twice is harmless.
func (e *Engine) RevokeKey(ctx context.Context, tenant, id string) (oxbow.Key, error) {
	all, err := e.st.ListKeys(ctx, tenant)
	if err != nil {
		return oxbow.Key{}, err
	}
	var fits []oxbow.Key
	for _, k := range all {
		if id != "" && (strings.HasPrefix(k.ID, id) || k.Name == id && k.RevokedAt.IsZero()) {
			fits = append(fits, k)
		}
	}
	switch {
	case len(fits) == 0:
		return oxbow.Key{}, oxbow.Errorf(oxbow.CodeNotFound, "there is no key %s; oxbow key list shows those there are", id)
	case len(fits) > 1:
		return oxbow.Key{}, oxbow.Errorf(oxbow.CodeConflict, "several keys are called %s; give the id of one", id)
	}
	k := fits[0]
	if !k.RevokedAt.IsZero() {
		return k, nil
	}
	k.RevokedAt = e.now()
	return k, e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutKey(ctx, k) })
}

// usedEvery is how often, at most, the last use of a key is written down.
const usedEvery = time.Hour

var errNoKey = oxbow.Errorf(oxbow.CodeUnauthorized, "a key is needed: send it as Authorization: Bearer KEY; oxbow key create makes one")

// errShutKey says the same of every key that opens nothing, whatever the reason.
var errShutKey = oxbow.Errorf(oxbow.CodeUnauthorized, "this key opens nothing: it is mistyped, revoked or has ended; oxbow key list shows those there are, oxbow key create makes another")

// Authenticate gives the caller that a secret stands for: unauthorized for one
// that fits no key, or one that was revoked or has ended, without telling which.
func (e *Engine) Authenticate(ctx context.Context, secret string) (Caller, error) {
	if secret == "" {
		return Caller{}, errNoKey
	}
	id, _, ok := strings.Cut(strings.TrimPrefix(secret, SecretPrefix), "_")
	if !ok || !strings.HasPrefix(secret, SecretPrefix) || len(id) != 16 || !oxbow.IsID(id) {
		return Caller{}, errShutKey
	}
	k, err := e.st.Key(ctx, id)
	if err != nil && oxbow.CodeOf(err) != oxbow.CodeNotFound {
		return Caller{}, err
	}
	// A key that is not there takes as long as one that does not fit.
	fits := subtle.ConstantTimeCompare([]byte(hashSecret(secret)), []byte(k.Hash)) == 1
	now := e.now()
	if !fits || !k.Valid(now) {
		return Caller{}, errShutKey
	}
	if now.Sub(k.LastUsedAt) >= usedEvery {
		k.LastUsedAt = now
		// A database that takes no writes must not keep readers out.
		_ = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return e.touchKey(ctx, tx, k) })
	}
	return Caller{Tenant: k.Tenant, Actor: k.Name, Key: k.ID, Permissions: k.Permissions}, nil
}

// touchKey keeps when a key was last used, unless it was changed meanwhile.
func (e *Engine) touchKey(ctx context.Context, tx store.Tx, k oxbow.Key) error {
	fresh, err := tx.Key(ctx, k.ID)
	if err != nil || !fresh.RevokedAt.IsZero() {
		return err
	}
	fresh.LastUsedAt = k.LastUsedAt
	return tx.PutKey(ctx, fresh)
}

// requestKey is where a context holds the request that a call serves.
type requestKey struct{}

type request struct{ key, digest string }

// maxRequestKey bounds what a caller may choose as a request's key, in bytes.
const maxRequestKey = 255

// WithRequest makes the next write of a context have its effect once for each
// tenant and key: a second one gives what the first one gave. body is what was
// asked; a key that comes with another body is a conflict. Keys are forgotten
// after a day.
func WithRequest(ctx context.Context, key string, body []byte) (context.Context, error) {
	if key == "" {
		return ctx, nil
	}
	if len(key) > maxRequestKey {
		return ctx, oxbow.Errorf(oxbow.CodeInvalid, "the idempotency key is %d bytes long and the limit is %d", len(key), maxRequestKey)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(key), {0}, body} {
		_, _ = h.Write(part)
	}
	return context.WithValue(ctx, requestKey{}, request{key, hex.EncodeToString(h.Sum(nil))}), nil
}

// remembered is how long a request is known, so that it has its effect once.
const remembered = 24 * time.Hour

// errServed ends the transaction of a request that was served before.
var errServed = errors.New("served before")

// served is what a write leaves for the request that repeats it.
type served struct {
	Memory   string    `json:"memory,omitempty"`
	Run      string    `json:"run,omitempty"`
	Key      string    `json:"key,omitempty"`
	Ingested *Ingested `json:"ingested,omitempty"`
}

// once claims the context's request inside a write's transaction; part tells
// the writes of one request apart. When it was served before, was says what the
// first one left, and errServed ends this transaction.
func (e *Engine) once(ctx context.Context, tx store.Tx, tenant, part string, was *served) error {
	r, ok := ctx.Value(requestKey{}).(request)
	if !ok {
		return nil
	}
	if part != "" { // another request with the key may have other parts, so the whole is claimed too
		if err := e.claim(ctx, tx, r, tenant, "", &served{}); err != nil && !errors.Is(err, errServed) {
			return err
		}
	}
	return e.claim(ctx, tx, r, tenant, part, was)
}

// claim is once for one part of a request.
func (e *Engine) claim(ctx context.Context, tx store.Tx, r request, tenant, part string, was *served) error {
	now := e.now()
	got, first, err := tx.PutRequest(ctx, store.Request{Tenant: tenant, Key: r.key + "\n" + part, Digest: r.digest,
		Outcome: []byte(store.JSON(*was)), At: now}, now.Add(-remembered))
	switch {
	case err != nil || first:
		return err
	case got.Digest != r.digest:
		return oxbow.Errorf(oxbow.CodeConflict, "the idempotency key was sent with another request before: choose a new one")
	}
	if err := json.Unmarshal(got.Outcome, was); err != nil {
		return err
	}
	return errServed
}

// again gives what a request left that was served before; any other error stays.
func (e *Engine) again(ctx context.Context, tenant string, was served, err error) (Written, error) {
	if !errors.Is(err, errServed) {
		return Written{}, err
	}
	m, err := e.st.Memory(ctx, tenant, was.Memory)
	return Written{Memory: m, Run: was.Run}, err
}
