package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
)

// raiseWalls is migration 00012's: it gives every table that has none its policies.
const raiseWalls = `SELECT raise_walls()`

// ownsTables asks whether the user may do to the tables what an owner may; where
// there are none, it may make them.
const ownsTables = `
	SELECT coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
		WHERE c.relname = 'goose_db_version' AND c.relnamespace = to_regnamespace($1)), true)`

// owns tells whether the user owns the tables, or is a superuser.
func (s *Store) owns(ctx context.Context) (bool, error) {
	var yes bool
	err := s.pool.QueryRow(ctx, ownsTables, s.schema).Scan(&yes)
	return yes, translate(err, "look who owns the tables")
}

// Wall says how row-level security stands between tenants for whoever is
// connected.
type Wall struct {
	Stands bool
	Says   string // in words for an operator
}

const lookAtWall = `
	SELECT current_user, r.rolsuper, r.rolbypassrls,
		coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.relname = 'memories' AND c.relnamespace = to_regnamespace($1)), false),
		ARRAY(SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')
			AND c.relname NOT IN ('goose_db_version', 'ledger', 'workers') AND c.relname NOT LIKE 'river\_%'
			AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname)
	FROM pg_roles r WHERE r.rolname = current_user`

// Wall looks at it.
func (s *Store) Wall(ctx context.Context) (Wall, error) {
	var user string
	var super, bypasses, owns bool
	var bare []string
	if err := s.pool.QueryRow(ctx, lookAtWall, s.schema).Scan(&user, &super, &bypasses, &owns, &bare); err != nil {
		return Wall{}, translate(err, "look at the policies")
	}
	const remedy = "; only the predicates keep tenants apart. Connect as a role made with: oxbow db grant ROLE"
	switch {
	case super:
		return Wall{false, "does not stand: the user " + user + " is a superuser" + remedy}, nil
	case bypasses:
		return Wall{false, "does not stand: the user " + user + " has BYPASSRLS" + remedy}, nil
	case len(bare) > 0:
		return Wall{false, "does not stand around " + strings.Join(bare, ", ") + "; run: oxbow db migrate"}, nil
	case owns:
		return Wall{true, "stands, but the user " + user + " owns the tables and could take it down; better is a role made with: oxbow db grant ROLE"}, nil
	}
	return Wall{true, "stands; the user " + user + " neither owns the tables nor passes their policies by"}, nil
}

const grantee = `
	SELECT r.rolsuper OR r.rolbypassrls, pg_has_role(r.oid, c.relowner, 'MEMBER')
	FROM pg_roles r, pg_class c WHERE r.rolname = $2 AND c.relname = 'memories' AND c.relnamespace = to_regnamespace($1)`

// Grants gives the statements that grant a role all that the program needs to run
// as it, and no more: it can neither change a table nor the log of events nor the
// record of migrations. Errors are not_found for a role that is not there and
// invalid for one that the policies would not hold.
func (s *Store) Grants(ctx context.Context, role string) ([]string, error) {
	var passes, owns bool
	err := s.pool.QueryRow(ctx, grantee, s.schema, role).Scan(&passes, &owns)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, oxbow.Errorf(oxbow.CodeNotFound,
			"there is no role %s, or no tables yet; make them with: CREATE ROLE %s LOGIN PASSWORD '...', and oxbow db migrate", role, pgx.Identifier{role}.Sanitize())
	case err != nil:
		return nil, translate(err, "look at the role")
	case passes:
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the role %s is a superuser or has BYPASSRLS, so no policy holds it; make another one", role)
	case owns:
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the role %s owns the tables, or is a member of the one that does; make another one", role)
	}
	tables, err := collect(ctx, s.pool, "list the tables", scanString,
		`SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') ORDER BY relname COLLATE "C"`, s.schema)
	if err != nil {
		return nil, err
	}
	return grants(s.schema, role, tables), nil
}

// lessThanAll is what is not granted whole, because nothing needs more.
var lessThanAll = map[string]string{
	"goose_db_version": "SELECT",
	"river_migration":  "SELECT",
	"memory_events":    "SELECT, INSERT", // a log that only grows
}

func grants(schema, role string, tables []string) []string {
	name := pgx.Identifier{role}.Sanitize()
	out := []string{"GRANT USAGE ON SCHEMA " + schema + " TO " + name}
	var whole []string
	for _, t := range tables {
		full := schema + "." + pgx.Identifier{t}.Sanitize()
		if some, ok := lessThanAll[t]; ok {
			out = append(out, "GRANT "+some+" ON "+full+" TO "+name)
		} else {
			whole = append(whole, full)
		}
	}
	return append(out, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+strings.Join(whole, ", ")+" TO "+name,
		"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA "+schema+" TO "+name)
}

// Grant grants a role what Grants gives.
func (s *Store) Grant(ctx context.Context, role string) error {
	statements, err := s.Grants(ctx, role)
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, strings.Join(statements, ";\n"))
	return translate(err, "grant the role")
}

// mayWrite are the roles that were granted the tables before.
const mayWrite = `
	SELECT DISTINCT pg_get_userbyid(a.grantee)::text FROM pg_class c, aclexplode(c.relacl) a
	WHERE c.relname = 'memories' AND c.relnamespace = to_regnamespace($1) AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)`

// grantAgain grants the tables that a migration made to those who had the others.
func (s *Store) grantAgain(ctx context.Context, pool *pgxpool.Pool) error {
	roles, err := collect(ctx, pool, "list the roles", scanString, mayWrite, s.schema)
	if err != nil {
		return err
	}
	slices.Sort(roles)
	for _, role := range roles {
		err := s.Grant(ctx, role)
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid { // a superuser was granted something needlessly
			return err
		}
	}
	return nil
}
