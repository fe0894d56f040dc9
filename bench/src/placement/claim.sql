-- The statements of `berth placement` for a claim of a new consumer, after the settings of its connection.
-- A test of the ledger compares them with this file. Statements are separated by empty lines.
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off;
SET default_transaction_isolation = 'read committed'; SET statement_timeout = '10s';
SET idle_in_transaction_session_timeout = '40s'; SET client_min_messages = 'warning'; SET timezone = 'UTC'

BEGIN

SELECT uuid, generation, project, "user", kind FROM consumers WHERE uuid = ANY($1) ORDER BY uuid FOR UPDATE

SELECT id FROM providers WHERE uuid = ANY($1) OR id = ANY($2) ORDER BY id FOR NO KEY UPDATE

SELECT p.id, p.uuid, p.name, p.generation, p.parent, p.root, p.created_at, p.updated_at,
  i.class, i.total, i.reserved, i.min_unit, i.max_unit, i.step_size, i.allocation_ratio, i.used,
  i.created_at, i.updated_at
FROM providers AS p
LEFT JOIN LATERAL (SELECT array_agg(class) AS class, array_agg(total) AS total,
  array_agg(reserved) AS reserved, array_agg(min_unit) AS min_unit, array_agg(max_unit) AS max_unit,
  array_agg(step_size) AS step_size, array_agg(allocation_ratio) AS allocation_ratio, array_agg(used) AS used,
  array_agg(created_at) AS created_at, array_agg(updated_at) AS updated_at
  FROM inventories WHERE provider = p.id) i ON true
WHERE p.id = ANY($1)

WITH new_consumers AS (
  INSERT INTO consumers (uuid, generation, project, "user", kind)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) ORDER BY 1),
old_consumers AS (
  UPDATE consumers SET generation = v.generation, project = v.project, "user" = v.who, kind = v.kind
  FROM unnest($6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[])
    AS v (uuid, generation, project, who, kind) WHERE consumers.uuid = v.uuid),
amounts AS (
  INSERT INTO allocations (consumer, provider, class, used, position, created_at)
  SELECT v.*, $15::bigint
  FROM unnest($11::text[], $12::bigint[], $13::text[], $14::bigint[], $26::bigint[]) AS v),
used AS (
  UPDATE inventories SET used = v.used
  FROM unnest($16::bigint[], $17::text[], $18::bigint[], $19::bigint[]) AS v (provider, class, used, was)
  WHERE inventories.provider = v.provider AND inventories.class = v.class AND inventories.used = v.was
  RETURNING 1),
raised AS (
  UPDATE providers SET generation = v.generation,
    updated_at = CASE WHEN v.touched THEN $15 ELSE providers.updated_at END
  FROM unnest($20::bigint[], $21::bigint[], $22::bigint[], $23::boolean[]) AS v (id, generation, was, touched)
  WHERE providers.id = v.id AND providers.generation = v.was RETURNING 1),
records AS (INSERT INTO changes (provider, whole) SELECT v, $25::boolean FROM unnest($24::bigint[]) AS v)
SELECT pg_current_xact_id()::text, (SELECT count(*) FROM used), (SELECT count(*) FROM raised)

COMMIT
