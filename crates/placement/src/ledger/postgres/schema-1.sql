-- Keys are text: canonical if they are UUIDs. Times are microseconds since 1970, UTC. Standard classes and traits are not
-- in here; what uses them has their names.
CREATE TABLE schema (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL,
    oldest_binary bigint NOT NULL
);
INSERT INTO schema VALUES (true, 1, 1);

-- A number is the order of creation, the same for every replica.
CREATE TABLE providers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid text NOT NULL UNIQUE,
    name text NOT NULL UNIQUE,
    generation bigint NOT NULL DEFAULT 0,
    parent bigint,
    root bigint NOT NULL,
    -- Who states its facts: 'api', or later 'hypervisor'.
    source text NOT NULL DEFAULT 'api',
    created_at bigint NOT NULL,
    updated_at bigint
) WITH (fillfactor = 70);
CREATE INDEX providers_root ON providers (root);

-- used is the sum of all allocations of the class at the provider. Room on each page keeps indexes out of claims.
CREATE TABLE inventories (
    provider bigint NOT NULL,
    class text NOT NULL,
    total bigint NOT NULL,
    reserved bigint NOT NULL,
    min_unit bigint NOT NULL,
    max_unit bigint NOT NULL,
    step_size bigint NOT NULL,
    allocation_ratio double precision NOT NULL,
    used bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint,
    PRIMARY KEY (provider, class)
) WITH (fillfactor = 70);
CREATE INDEX inventories_class ON inventories (class);

CREATE TABLE provider_traits (
    provider bigint NOT NULL,
    trait text NOT NULL,
    PRIMARY KEY (provider, trait)
);
CREATE INDEX provider_traits_trait ON provider_traits (trait);

-- In the order of sending; sent is the spelling that is shown.
CREATE TABLE provider_aggregates (
    provider bigint NOT NULL,
    position bigint NOT NULL,
    key text NOT NULL,
    sent text NOT NULL,
    PRIMARY KEY (provider, position)
);

CREATE TABLE classes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- When it was created or renamed.
    modified_at bigint NOT NULL
);
CREATE TABLE traits (
    name text PRIMARY KEY,
    created_at bigint NOT NULL
);

-- A consumer exists as long as it has allocations.
CREATE TABLE consumers (
    uuid text PRIMARY KEY,
    generation bigint NOT NULL,
    project text NOT NULL,
    "user" text NOT NULL,
    kind text
) WITH (fillfactor = 80);
CREATE INDEX consumers_project ON consumers (project, "user");

CREATE TABLE allocations (
    consumer text NOT NULL,
    provider bigint NOT NULL,
    class text NOT NULL,
    used bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (consumer, provider, class)
);
CREATE INDEX allocations_provider ON allocations (provider);

-- Which transaction has changed which provider; 0 stands for the custom names. Old records are pruned. Of most changes only
-- what is used, the generation and its time have to be read again; of those that are whole, everything.
CREATE TABLE changes (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    provider bigint NOT NULL,
    whole boolean NOT NULL DEFAULT true,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (xid, provider)
);
CREATE INDEX changes_written_at ON changes (written_at);

-- Records of transactions below this may be missing.
CREATE TABLE pruned (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    below xid8 NOT NULL
);
INSERT INTO pruned VALUES (true, '0');
