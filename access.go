package oxbow

import (
	"slices"
	"strings"
	"time"
)

// Permission is what a key may do in its tenant. One does not hold another:
// a key that writes and reads has both.
type Permission string

// The permissions of keys.
const (
	MayRead     Permission = "read"     // see memories, turns, events, runs and jobs; recall
	MayWrite    Permission = "write"    // remember, ingest, edit, archive, say what was used
	MayMaintain Permission = "maintain" // pin, restore, release, run and cancel jobs, pause schedules
	MayAdmin    Permission = "admin"    // erase, set scopes, make and revoke the tenant's keys
	MayOperate  Permission = "operate"  // the whole instance: queues, metrics; held by the tenant's own keys only when an operator says so
)

// Permissions lists every permission, from the least to the most.
var Permissions = []Permission{MayRead, MayWrite, MayMaintain, MayAdmin, MayOperate}

// Key is a bearer's right to a tenant. The secret itself is stored nowhere.
type Key struct {
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Name        string       `json:"name"` // who holds it; stands in the audit log
	Permissions []Permission `json:"permissions"`
	Hash        string       `json:"-"` // hex SHA-256 of the secret
	CreatedAt   time.Time    `json:"created_at"`
	ExpiresAt   time.Time    `json:"expires_at,omitzero"`
	RevokedAt   time.Time    `json:"revoked_at,omitzero"`
	LastUsedAt  time.Time    `json:"last_used_at,omitzero"` // to the hour
}

// Valid tells whether the key opens anything at now.
func (k Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// May tells whether the key holds a permission.
func (k Key) May(p Permission) bool { return slices.Contains(k.Permissions, p) }

// Validate refuses a tenant or a name that is none, and permissions that do not
// exist.
func (k Key) Validate() error {
	if err := (Scope{Tenant: k.Tenant, Name: "any"}).Validate(); err != nil {
		return err
	}
	if !nameForm.MatchString(k.Name) {
		return Errorf(CodeInvalid, "the key's name %q is not a name: use up to 128 letters, digits and . _ : @ / + -", k.Name)
	}
	if len(k.Permissions) == 0 {
		return Errorf(CodeInvalid, "the key may do nothing: give it one of %s", permissionNames())
	}
	for _, p := range k.Permissions {
		if !slices.Contains(Permissions, p) {
			return Errorf(CodeInvalid, "there is no permission %q: use one of %s", p, permissionNames())
		}
	}
	return nil
}

func permissionNames() string {
	names := make([]string, len(Permissions))
	for i, p := range Permissions {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
