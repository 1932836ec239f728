package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

func keyCommand(a *app) *cobra.Command {
	cmd := group(a, "key", "Make, list and revoke the keys of programs that call oxbow serve", keyCreateCommand(a), keyListCommand(a), keyRevokeCommand(a))
	cmd.Long = `A key opens one tenant by HTTP, MCP and the console. What it may do is said when it
is made: read (see and recall), write (remember, ingest, edit, archive), maintain
(pin, restore, release, run jobs), admin (erase, set scopes, make keys) and operate
(the whole instance: queues and metrics).`
	return cmd
}

func keyCreateCommand(a *app) *cobra.Command {
	var may []string
	var expires string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a key and print it, once", Args: exactly("the name of who holds it"),
		Example: "  oxbow key create my-agent --may read,write\n  oxbow key create ops --may read,write,maintain,admin,operate --expires 2027-12-31",
		RunE: a.heeding(func(ctx context.Context, s *session, args []string) error {
			end, err := parseEnd(expires, time.UTC)
			if err != nil {
				return err
			}
			k := oxbow.Key{Tenant: s.tenant, Name: args[0], ExpiresAt: end}
			for _, m := range may {
				k.Permissions = append(k.Permissions, oxbow.Permission(m))
			}
			made, err := s.engine.CreateKey(ctx, k)
			if err != nil {
				return err
			}
			s.say("made the key %s of the tenant %s; it is shown this once:", made.Name, made.Tenant)
			return s.show(made, func(p *printer) { p.line("%s", made.Secret) })
		}),
	}
	cmd.Flags().StringSliceVar(&may, "may", []string{"read", "write"}, "what it may do: read, write, maintain, admin, operate")
	cmd.Flags().StringVar(&expires, "expires", "", "its last day, or the instant at which it ends")
	return cmd
}

func keyListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's keys", Args: noArgs,
		RunE: a.opened(opening{heed: true}, func(ctx context.Context, s *session, _ []string) error {
			keys, err := s.engine.Keys(ctx, s.tenant)
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				s.say("the tenant %s has no keys; oxbow key create makes one", s.tenant)
			}
			return s.show(orEmpty(keys), func(p *printer) { p.keys(keys, time.Now()) })
		}),
	}
}

func (p *printer) keys(keys []oxbow.Key, now time.Time) {
	t := newTable("ID", "NAME", "STATE", "MADE", "LAST USED", "ENDS", "MAY")
	for _, k := range keys {
		state := "valid"
		switch {
		case !k.RevokedAt.IsZero():
			state = "revoked"
		case !k.Valid(now):
			state = "ended"
		}
		may := make([]string, len(k.Permissions))
		for i, m := range k.Permissions {
			may[i] = string(m)
		}
		t.add(engine.Short(k.ID), k.Name, state, stamp(k.CreatedAt), stamp(k.LastUsedAt), stamp(k.ExpiresAt), strings.Join(may, ","))
	}
	p.table(t)
}

func keyRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY", Short: "End a key, by its id or name", Args: exactly("the id or name of a key"),
		RunE: a.opened(opening{heed: true}, func(ctx context.Context, s *session, args []string) error {
			k, err := s.engine.RevokeKey(ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			return s.did("key", k.ID, "revoked")
		}),
	}
}
