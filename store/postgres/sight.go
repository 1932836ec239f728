package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
)

// Behind the predicates of every statement stands row-level security: the
// policies of migration 00012 let a transaction see and write the rows of the
// tenant that the setting oxbow.tenant names, and none where it names none. The
// setting is of the transaction alone, so it is gone when the connection goes back
// to the pool.
//
// sights gives what a statement is asked of, and so what it may see. There is no
// way to ask without saying that.
type sights interface {
	// of sees what a tenant has.
	of(tenant string) querier
	// in is of, for what stands in one scope; it is cheaper there (see enter).
	in(s oxbow.Scope) querier
	// across sees what a reason lets it see, of all tenants.
	across(why reason) querier
	// plain sees what belongs to no tenant: River's tables, which hold ids only,
	// the ledger and the workers.
	plain() querier
}

// reason is why something looks at the whole database and not at a tenant's part.
// It is the value of the setting oxbow.instance; the policies say which tables it
// opens, and all but gone and migration only for reading. There are no others.
type reason string

const (
	// The minute tick moves the schedules of every tenant on. It reads scopes and
	// schedules; what it writes, it writes as each tenant in turn.
	due reason = "schedules"
	// An operator lists the scopes of all, to work on each as its tenant.
	allScopes reason = "scopes"
	// A key says which tenant its bearer is of, so it is looked up before a tenant
	// is known; and an operator lists them all.
	keys reason = "keys"
	// An import must know which ids stand in another tenant, where it cannot put them.
	ids reason = "ids"
	// Kept answers and requests are taken away when their time is over, also those
	// of tenants that nobody works for any more.
	gone reason = "gone"
	// doctor looks for rows that belong to nothing, which no tenant would see.
	check reason = "check"
	// Counts for whoever runs the instance, such as /metrics; no words, no ids.
	counts reason = "counts"
	// A migration may have to change the rows of all; its policy is the owner's only.
	migration reason = "migration"
)

// enter says whose rows the transaction is about. The number of the scope is
// looked up here and not taken from what this process remembers, so that the
// policies can compare a row with a number instead of looking its scope up, and
// still rest on the tenant alone. Were the two worked out in another order, the
// scope would be none, which is slower and shows nothing.
const (
	enter = `SELECT set_config('oxbow.tenant', $1::text, true),
		set_config('oxbow.scope', coalesce((SELECT seq FROM scopes WHERE tenant = $1 AND name = $2)::text, ''), true)`
	enterTenant = `SELECT set_config('oxbow.tenant', $1::text, true), set_config('oxbow.scope', '', true)`
	lookAcross  = `SELECT set_config('oxbow.instance', $1::text, true)`
)

// entering gives the statement that makes a transaction a tenant's, and crossing
// the one that lets it look across tenants; no reason ends that.
func entering(s oxbow.Scope) statement {
	b := &batch{}
	if s.Name == "" {
		b.exec("say whose memories these are", enterTenant, s.Tenant)
	} else {
		b.exec("say whose memories these are", enter, s.Tenant, s.Name)
	}
	return b.statements[0]
}

func crossing(why reason) statement {
	b := &batch{}
	b.exec("look across tenants", lookAcross, string(why))
	return b.statements[0]
}

// pooled asks outside of transactions: each statement goes to the server together
// with the one that says what it sees. Both are one transaction there, because
// the server ends it when it has read all that was sent.
// It serves a transaction that only reads, too, which is then each tenant's in turn.
type pooled struct{ on sender }

// sender is the pool, or a transaction of the driver's.
type sender interface {
	querier
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (p pooled) of(tenant string) querier {
	return asked{p.on, entering(oxbow.Scope{Tenant: tenant}), nil}
}
func (p pooled) in(s oxbow.Scope) querier  { return asked{p.on, entering(s), nil} }
func (p pooled) across(why reason) querier { return asked{p.on, crossing(why), new(crossing(""))} }
func (p pooled) plain() querier            { return p.on }

// asked is a sender with what it sees.
type asked struct {
	on    sender
	first statement
	last  *statement // ends what first began, where the transaction goes on
}

// Query implements querier.
func (a asked) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	b := &pgx.Batch{}
	b.Queue(a.first.query, a.first.args...)
	b.Queue(query, args...)
	if a.last != nil {
		b.Queue(a.last.query, a.last.args...)
	}
	results := a.on.SendBatch(ctx, b)
	if err := a.first.read(results); err != nil {
		_ = results.Close()
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, err
	}
	return &answer{Rows: rows, results: results}, nil
}

// QueryRow implements querier.
func (a asked) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	rows, err := a.Query(ctx, query, args...)
	return firstRow{rows, err}
}

// errOtherTenant ends a transaction that is about one tenant and then names
// another, which nothing here has a reason to do.
var errOtherTenant = oxbow.Errorf(oxbow.CodeInternal, "a transaction is about one tenant, and another was named")

// enter makes the transaction a tenant's, before anything else when nothing was
// sent yet. It stays that tenant's, unless it looked across for what is due.
func (p *pipe) enter(s oxbow.Scope) {
	if s.Tenant == p.seen.Tenant && (s.Name == "" || s.Name == p.seen.Name) {
		return
	}
	if p.seen.Tenant != "" && s.Tenant != p.seen.Tenant && !p.roams {
		p.fail(errOtherTenant)
		return
	}
	if p.seen.Tenant == "" && !p.begun {
		p.waiting.statements = append([]statement{entering(s)}, p.waiting.statements...)
	} else {
		p.waiting.statements = append(p.waiting.statements, entering(s))
	}
	p.seen = s
}

// of, in, across and plain implement sights inside the transaction.
func (p *pipe) of(tenant string) querier {
	p.enter(oxbow.Scope{Tenant: tenant})
	return p
}

func (p *pipe) in(s oxbow.Scope) querier {
	p.enter(s)
	return p
}

func (p *pipe) across(why reason) querier {
	p.roams = p.roams || why == due
	return acrossOnce{p, why}
}

func (p *pipe) plain() querier { return p }

// acrossOnce looks across for one statement.
type acrossOnce struct {
	p   *pipe
	why reason
}

// Query implements querier.
func (a acrossOnce) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	a.p.waiting.statements = append(a.p.waiting.statements, crossing(a.why))
	rows, err := a.p.Query(ctx, query, args...)
	a.p.waiting.statements = append(a.p.waiting.statements, crossing(""))
	return rows, err
}

// QueryRow implements querier.
func (a acrossOnce) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	rows, err := a.Query(ctx, query, args...)
	return firstRow{rows, err}
}

// of and in are for what a transaction writes as a tenant.
func (t *tx) of(tenant string) *pipe {
	t.pipe.enter(oxbow.Scope{Tenant: tenant})
	return t.pipe
}

func (t *tx) in(s oxbow.Scope) *pipe {
	t.pipe.enter(s)
	return t.pipe
}

// writeAcross is write for one statement that reaches the rows of all tenants.
func (t *tx) writeAcross(why reason, doing, query string, args ...any) {
	t.pipe.waiting.statements = append(t.pipe.waiting.statements, crossing(why))
	t.write(doing, query, args...)
	t.pipe.waiting.statements = append(t.pipe.waiting.statements, crossing(""))
}
