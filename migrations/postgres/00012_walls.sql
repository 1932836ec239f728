-- +goose Up
-- Row-level security behind the predicates: a transaction sees and writes the rows
-- of the tenant that its setting oxbow.tenant names, and none where it names none.
-- FORCE holds the tables' owner to that too; a superuser and a role with BYPASSRLS
-- it does not hold.
--
-- raise_walls puts the policies on every table of the schema that has none yet, by
-- its columns. It is called again whenever a migration or the index of vectors may
-- have made a table, and refuses one of which it cannot tell whose its rows are.
-- Left out are tables without a tenant's data: River's, which hold ids only, the
-- ledger (keys made of ids), the workers and goose's own.
--
-- What costs least, measured: a table with a scope compares its number with that of
-- the scope that the transaction works in, which was looked up by tenant and name
-- when it was set; only a row of another scope has its own looked up. The setting is
-- read in a subselect, once a statement and not once a row. A table that only names
-- memories goes by theirs; the subselect there has a value so that no plan gathers
-- all memories first. One policy serves every command, because a statement that
-- reads and writes would check two that differ; what an instance's reasons let be
-- read (store/postgres/sight.go) is kept from being changed by the check of new rows,
-- and from being deleted by the policy that restricts.
--
-- +goose StatementBegin
CREATE FUNCTION migrates() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
-- Whether the owner of the tables changes the rows of all tenants in a migration.
BEGIN
    RETURN current_setting('oxbow.instance', true) = 'migration'
        AND pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'scopes'::regclass), 'USAGE');
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION may_write(scope bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
-- Whether a row may be stored in a scope that the transaction is not working in.
BEGIN
    RETURN EXISTS (SELECT FROM scopes s WHERE s.seq = may_write.scope AND s.tenant = current_setting('oxbow.tenant', true)) OR migrates();
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION raise_walls() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t record;
    own text;
    stored text;
    opens text;
BEGIN
    FOR t IN
        SELECT c.relname AS name, c.oid,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped) AS has_tenant,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'scope' AND a.atttypid = 'bigint'::regtype AND NOT a.attisdropped) AS has_scope,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'memory' AND a.atttypid = 'bigint'::regtype AND NOT a.attisdropped) AS has_memory
        FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p')
            AND c.relname NOT IN ('goose_db_version', 'ledger', 'workers') AND c.relname NOT LIKE 'river\_%'
            AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
        ORDER BY c.relname
    LOOP
        own := CASE
            WHEN t.has_tenant THEN 'tenant = current_setting(''oxbow.tenant'', true) AND tenant <> '''''
            WHEN t.has_scope THEN format('scope = (SELECT nullif(current_setting(''oxbow.scope'', true), '''')::bigint)
                OR EXISTS (SELECT FROM scopes s WHERE s.seq = %I.scope AND s.tenant = current_setting(''oxbow.tenant'', true))', t.name)
            WHEN t.has_memory THEN format('(SELECT m.scope = (SELECT nullif(current_setting(''oxbow.scope'', true), '''')::bigint)
                OR EXISTS (SELECT FROM scopes s WHERE s.seq = m.scope AND s.tenant = current_setting(''oxbow.tenant'', true))
                FROM memories m WHERE m.seq = %I.memory)', t.name)
        END;
        IF own IS NULL THEN
            RAISE EXCEPTION 'table %: whose its rows are cannot be told; give it a column tenant, scope or memory', t.name;
        END IF;
        -- A subselect costs a write more than it saves it; a function that is seldom asked does not.
        stored := CASE WHEN t.has_scope AND NOT t.has_tenant
            THEN 'scope = nullif(current_setting(''oxbow.scope'', true), '''')::bigint OR may_write(scope)'
            ELSE own || ' OR migrates()' END;
        opens := CASE t.name
            WHEN 'scopes' THEN '{check,counts,migration,schedules,scopes}'
            WHEN 'schedules' THEN '{check,counts,migration,schedules}'
            WHEN 'memories' THEN '{check,counts,migration,ids}'
            WHEN 'api_keys' THEN '{check,counts,migration,keys}'
            WHEN 'llm_answers' THEN '{check,counts,migration,gone}'
            WHEN 'requests' THEN '{check,counts,migration,gone}'
            ELSE '{check,counts,migration}'
        END;
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t.name);
        EXECUTE format('CREATE POLICY own ON %I USING (%s OR current_setting(''oxbow.instance'', true) = ANY (%L::text[])) WITH CHECK (%s)',
            t.name, own, opens, stored);
        EXECUTE format('CREATE POLICY remove ON %I AS RESTRICTIVE FOR DELETE USING (%s OR %s)', t.name, own,
            CASE WHEN t.name IN ('llm_answers', 'requests') THEN 'current_setting(''oxbow.instance'', true) = ''gone'' OR migrates()' ELSE 'migrates()' END);
    END LOOP;
END $$;
-- +goose StatementEnd
SELECT raise_walls();
