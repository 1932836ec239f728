package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const selectKey = `SELECT id, tenant, name, permissions, hash, created_at, expires_at, revoked_at, last_used_at FROM api_keys`

func scanKey(rows pgx.Rows) (oxbow.Key, error) {
	var k oxbow.Key
	var permissions string
	var expires, revoked, used *time.Time
	if err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &permissions, &k.Hash, &k.CreatedAt, &expires, &revoked, &used); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt = k.CreatedAt.UTC(), fromNull(expires)
	k.RevokedAt, k.LastUsedAt = fromNull(revoked), fromNull(used)
	return k, json.Unmarshal([]byte(permissions), &k.Permissions)
}

const oneKey = selectKey + ` WHERE id = $1`

// Key implements store.AccessReader.
func (r reader) Key(ctx context.Context, id string) (oxbow.Key, error) {
	found, err := collect(ctx, r.across(keys), "read the key", scanKey, oneKey, id)
	if err == nil && len(found) == 0 {
		err = oxbow.Errorf(oxbow.CodeNotFound, "there is no key %s; oxbow key list shows those there are", id)
	}
	if err != nil {
		return oxbow.Key{}, err
	}
	return found[0], nil
}

const listKeys = selectKey + ` WHERE $1 = '' OR tenant = $1 ORDER BY created_at, id`

// ListKeys implements store.AccessReader.
func (r reader) ListKeys(ctx context.Context, tenant string) ([]oxbow.Key, error) {
	q := r.across(keys)
	if tenant != "" {
		q = r.of(tenant)
	}
	return collect(ctx, q, "list keys", scanKey, listKeys, tenant)
}

const putKey = `
	INSERT INTO api_keys (id, tenant, name, permissions, hash, created_at, expires_at, revoked_at, last_used_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
	ON CONFLICT (id) DO UPDATE SET name = excluded.name, permissions = excluded.permissions, expires_at = excluded.expires_at,
		revoked_at = excluded.revoked_at, last_used_at = excluded.last_used_at`

// PutKey implements store.AccessWriter.
func (t *tx) PutKey(ctx context.Context, k oxbow.Key) error {
	_, err := t.of(k.Tenant).Exec(ctx, putKey, k.ID, k.Tenant, k.Name, store.JSON(k.Permissions), k.Hash,
		ts(k.CreatedAt), orNull(k.ExpiresAt), orNull(k.RevokedAt), orNull(k.LastUsedAt))
	return translate(err, "keep the key")
}

const (
	dropRequests = `
		DELETE FROM requests WHERE (tenant, key) IN (
			SELECT tenant, key FROM requests WHERE at < $1 ORDER BY tenant, key FOR UPDATE SKIP LOCKED)`
	insertRequest = `INSERT INTO requests (tenant, key, digest, outcome, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	selectRequest = `SELECT digest, outcome, at FROM requests WHERE tenant = $1 AND key = $2`
)

// PutRequest implements store.AccessWriter. The insert waits for a transaction
// that holds the same key, so the loser reads what the winner left.
func (t *tx) PutRequest(ctx context.Context, r store.Request, since time.Time) (store.Request, bool, error) {
	q := t.of(r.Tenant)
	t.writeAcross(gone, "drop old requests", dropRequests, ts(since))
	tag, err := q.Exec(ctx, insertRequest, r.Tenant, r.Key, r.Digest, string(r.Outcome), ts(r.At))
	if err != nil || tag.RowsAffected() == 1 {
		return r, err == nil, translate(err, "keep the request")
	}
	var outcome string
	err = q.QueryRow(ctx, selectRequest, r.Tenant, r.Key).Scan(&r.Digest, &outcome, &r.At)
	r.Outcome, r.At = []byte(outcome), r.At.UTC()
	return r, false, translate(err, "read the request")
}
