package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

func TestKeys(t *testing.T) {
	tell(t,
		story{"open the tenant that they were made for, and nothing else", keysOpen},
		story{"open nothing once they are revoked or have ended", keysEnd},
		story{"are refused when they make no sense", keysInvalid},
	)
}

func (b *bench) createKey(name string, may ...oxbow.Permission) engine.NewKey {
	b.Helper()
	k, err := b.Engine.CreateKey(b.Ctx, oxbow.Key{Tenant: b.tenant(), Name: name, Permissions: may})
	b.Must(err)
	return k
}

func keysOpen(b *bench) {
	k := b.createKey("app", oxbow.MayRead, oxbow.MayWrite)
	who, err := b.Engine.Authenticate(b.Ctx, k.Secret)
	b.Must(err)
	equal(b, "the tenant", who.Tenant, b.tenant())
	equal(b, "the actor", who.Actor, "app")
	b.Must(who.May(oxbow.MayWrite))
	code(b, "what it may not", who.May(oxbow.MayAdmin), oxbow.CodeUnauthorized)
	keys, err := b.Engine.Keys(b.Ctx, b.tenant())
	b.Must(err)
	if len(keys) != 1 || keys[0].LastUsedAt.Before(keys[0].CreatedAt) {
		b.Errorf("the keys are %+v", keys)
	}
	if strings.Contains(keys[0].Hash, k.Secret) || keys[0].Hash == "" {
		b.Errorf("what is kept of the secret is %q", keys[0].Hash)
	}
	for _, wrong := range []string{"", "oxb_", k.Secret[:len(k.Secret)-1], k.Secret + "x", "oxb_" + k.ID + "_",
		"oxb_0000000000000000_" + strings.Repeat("a", 43), strings.ToUpper(k.Secret)} {
		_, err := b.Engine.Authenticate(b.Ctx, wrong)
		code(b, "a secret that fits nothing", err, oxbow.CodeUnauthorized)
		if asks := strings.Contains(err.Error(), "a key is needed"); asks != (wrong == "") {
			b.Errorf("of the secret %q it says %v", wrong, err)
		}
	}
}

func keysEnd(b *bench) {
	k := b.createKey("app", oxbow.MayRead)
	_, err := b.Engine.RevokeKey(b.Ctx, b.tenant()+"x", k.ID)
	code(b, "another tenant's revocation", err, oxbow.CodeNotFound)
	_, err = b.Engine.RevokeKey(b.Ctx, b.tenant(), k.ID[:6])
	b.Must(err)
	_, err = b.Engine.RevokeKey(b.Ctx, b.tenant(), k.ID)
	b.Must(err)
	_, err = b.Engine.Authenticate(b.Ctx, k.Secret)
	code(b, "a revoked key", err, oxbow.CodeUnauthorized)
	_, none := b.Engine.Authenticate(b.Ctx, "oxb_0000000000000000_"+strings.Repeat("a", 43))
	if err.Error() != none.Error() {
		b.Errorf("it tells that a key was there: %v, not %v", err, none)
	}

	ends, err := b.Engine.CreateKey(b.Ctx, oxbow.Key{Tenant: b.tenant(), Name: "guest", Permissions: []oxbow.Permission{oxbow.MayRead},
		ExpiresAt: b.Clock.Now().Add(time.Hour)})
	b.Must(err)
	_, err = b.Engine.Authenticate(b.Ctx, ends.Secret)
	b.Must(err)
	b.Clock.Set(b.Clock.Now().Add(time.Hour))
	_, err = b.Engine.Authenticate(b.Ctx, ends.Secret)
	code(b, "a key past its end", err, oxbow.CodeUnauthorized)
}

func keysInvalid(b *bench) {
	for _, k := range []oxbow.Key{
		{Tenant: b.tenant(), Name: "", Permissions: []oxbow.Permission{oxbow.MayRead}},
		{Tenant: b.tenant(), Name: "app"},
		{Tenant: b.tenant(), Name: "app", Permissions: []oxbow.Permission{"everything"}},
		{Tenant: "no name", Name: "app", Permissions: []oxbow.Permission{oxbow.MayRead}},
		{Tenant: b.tenant(), Name: "app", Permissions: []oxbow.Permission{oxbow.MayRead}, ExpiresAt: b.Clock.Now()},
	} {
		_, err := b.Engine.CreateKey(b.Ctx, k)
		code(b, "a key that makes no sense", err, oxbow.CodeInvalid)
	}
}

func TestRequests(t *testing.T) {
	tell(t,
		story{"sent twice have their effect once", requestsOnce},
		story{"that differ under one key are refused", requestsDiffer},
	)
}

func (b *bench) requested(key, body string) context.Context {
	b.Helper()
	ctx, err := engine.WithRequest(b.Ctx, key, []byte(body))
	b.Must(err)
	return ctx
}

func requestsOnce(b *bench) {
	ctx := b.requested("k1", "tea")
	s := engine.Statement{Scope: b.Bench.Scope, Text: "tea: green"}
	first, err := b.Engine.Remember(ctx, s)
	b.Must(err)
	second, err := b.Engine.Remember(ctx, s)
	b.Must(err)
	equal(b, "the memory", second.Memory.ID, first.Memory.ID)
	equal(b, "the run", second.Run, first.Run)
	pin := b.requested("k2", "pin")
	one, err := b.Engine.Pin(pin, b.tenant(), first.Memory.ID)
	b.Must(err)
	two, err := b.Engine.Pin(pin, b.tenant(), first.Memory.ID)
	b.Must(err)
	equal(b, "the pin's run", two.Run, one.Run)
	pass := b.requested("k3", "decay")
	runs, err := b.Engine.RunJob(pass, engine.Order{Name: "decay", Tenant: b.tenant()})
	b.Must(err)
	b.Clock.Set(b.Clock.Now().Add(time.Hour))
	same, err := b.Engine.RunJob(pass, engine.Order{Name: "decay", Tenant: b.tenant()})
	b.Must(err)
	equal(b, "the pass's run", strings.Join(same, " "), strings.Join(runs, " "))
	all, err := b.Engine.Store().CountMemories(b.Ctx, b.Bench.Scope)
	b.Must(err)
	equal(b, "how many there are", all[oxbow.Active], 1)
}

func requestsDiffer(b *bench) {
	_, err := b.Engine.Remember(b.requested("k", "one"), engine.Statement{Scope: b.Bench.Scope, Text: "tea: green"})
	b.Must(err)
	_, err = b.Engine.Remember(b.requested("k", "two"), engine.Statement{Scope: b.Bench.Scope, Text: "tea: black"})
	code(b, "another request with the key", err, oxbow.CodeConflict)
	of := func(scope string) []oxbow.Turn {
		return []oxbow.Turn{{Scope: oxbow.Scope{Tenant: b.tenant(), Name: scope}, User: "I like tea", At: at(0)}}
	}
	_, err = b.Engine.Ingest(b.requested("turns", "one"), of("user:eve"))
	b.Must(err)
	_, err = b.Engine.Ingest(b.requested("turns", "two"), of("user:mallory"))
	code(b, "another request with the key, of another scope", err, oxbow.CodeConflict)
	_, err = b.Engine.Remember(b.requested("turns", "three"), engine.Statement{Scope: b.Bench.Scope, Text: "tea: black"})
	code(b, "another request with the key, that stores no turns", err, oxbow.CodeConflict)
	_, err = engine.WithRequest(b.Ctx, strings.Repeat("k", 256), nil)
	code(b, "a key of 256 bytes", err, oxbow.CodeInvalid)
}
