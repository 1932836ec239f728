package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const selectKey = `SELECT id, tenant, name, permissions, hash, created_at, expires_at, revoked_at, last_used_at FROM api_keys`

func scanKey(rows *sql.Rows) (oxbow.Key, error) {
	var k oxbow.Key
	var permissions string
	var created int64
	var expires, revoked, used sql.NullInt64
	if err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &permissions, &k.Hash, &created, &expires, &revoked, &used); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt = time.UnixMilli(created).UTC(), fromMS(expires)
	k.RevokedAt, k.LastUsedAt = fromMS(revoked), fromMS(used)
	return k, json.Unmarshal([]byte(permissions), &k.Permissions)
}

const oneKey = selectKey + ` WHERE id = ?`

// Key implements store.AccessReader.
func (r reader) Key(ctx context.Context, id string) (oxbow.Key, error) {
	found, err := collect(ctx, r.q, "read the key", scanKey, oneKey, id)
	if err == nil && len(found) == 0 {
		err = oxbow.Errorf(oxbow.CodeNotFound, "there is no key %s; oxbow key list shows those there are", id)
	}
	if err != nil {
		return oxbow.Key{}, err
	}
	return found[0], nil
}

const listKeys = selectKey + ` WHERE ?1 = '' OR tenant = ?1 ORDER BY created_at, id`

// ListKeys implements store.AccessReader.
func (r reader) ListKeys(ctx context.Context, tenant string) ([]oxbow.Key, error) {
	return collect(ctx, r.q, "list keys", scanKey, listKeys, tenant)
}

const putKey = `
	INSERT INTO api_keys (id, tenant, name, permissions, hash, created_at, expires_at, revoked_at, last_used_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET name = excluded.name, permissions = excluded.permissions, expires_at = excluded.expires_at,
		revoked_at = excluded.revoked_at, last_used_at = excluded.last_used_at`

// PutKey implements store.AccessWriter.
func (t *tx) PutKey(ctx context.Context, k oxbow.Key) error {
	_, err := t.q.exec(ctx, putKey, k.ID, k.Tenant, k.Name, store.JSON(k.Permissions), k.Hash,
		k.CreatedAt.UnixMilli(), ms(k.ExpiresAt), ms(k.RevokedAt), ms(k.LastUsedAt))
	return translate(err, "keep the key")
}

const (
	dropRequests  = `DELETE FROM requests WHERE at < ?`
	insertRequest = `INSERT INTO requests (tenant, key, digest, outcome, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	selectRequest = `SELECT digest, outcome, at FROM requests WHERE tenant = ? AND key = ?`
)

// PutRequest implements store.AccessWriter.
func (t *tx) PutRequest(ctx context.Context, r store.Request, since time.Time) (store.Request, bool, error) {
	if _, err := t.q.exec(ctx, dropRequests, since.UnixMilli()); err != nil {
		return r, false, translate(err, "drop old requests")
	}
	res, err := t.q.exec(ctx, insertRequest, r.Tenant, r.Key, r.Digest, string(r.Outcome), r.At.UnixMilli())
	if err != nil {
		return r, false, translate(err, "keep the request")
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return r, n == 1, translate(err, "keep the request")
	}
	var outcome string
	var at int64
	err = t.q.row(ctx, selectRequest, r.Tenant, r.Key).Scan(&r.Digest, &outcome, &at)
	r.Outcome, r.At = []byte(outcome), time.UnixMilli(at).UTC()
	return r, false, translate(err, "read the request")
}
