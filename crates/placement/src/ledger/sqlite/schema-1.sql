-- Keys are text: canonical if they are UUIDs. Times are microseconds since 1970, UTC. Standard classes and traits are not
-- in here; what uses them has their names.
CREATE TABLE schema (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    oldest_binary INTEGER NOT NULL
);
INSERT INTO schema VALUES (1, 1, 1);

-- AUTOINCREMENT: a number is the order of creation and never comes back.
CREATE TABLE providers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    generation INTEGER NOT NULL DEFAULT 0,
    parent INTEGER,
    root INTEGER NOT NULL,
    -- Who states its facts: 'api', or later 'hypervisor'.
    source TEXT NOT NULL DEFAULT 'api',
    created_at INTEGER NOT NULL,
    updated_at INTEGER
);
CREATE INDEX providers_root ON providers (root);

-- used is the sum of all allocations of the class at the provider.
CREATE TABLE inventories (
    provider INTEGER NOT NULL,
    class TEXT NOT NULL,
    total INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    min_unit INTEGER NOT NULL,
    max_unit INTEGER NOT NULL,
    step_size INTEGER NOT NULL,
    allocation_ratio REAL NOT NULL,
    used INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER,
    PRIMARY KEY (provider, class)
) WITHOUT ROWID;
CREATE INDEX inventories_class ON inventories (class);

CREATE TABLE provider_traits (
    provider INTEGER NOT NULL,
    trait TEXT NOT NULL,
    PRIMARY KEY (provider, trait)
) WITHOUT ROWID;
CREATE INDEX provider_traits_trait ON provider_traits (trait);

-- In the order of sending; sent is the spelling that is shown.
CREATE TABLE provider_aggregates (
    provider INTEGER NOT NULL,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    sent TEXT NOT NULL,
    PRIMARY KEY (provider, position)
) WITHOUT ROWID;

CREATE TABLE classes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    -- When it was created or renamed.
    modified_at INTEGER NOT NULL
);
CREATE TABLE traits (
    name TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- A consumer exists as long as it has allocations.
CREATE TABLE consumers (
    uuid TEXT NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL,
    project TEXT NOT NULL,
    user TEXT NOT NULL,
    kind TEXT
) WITHOUT ROWID;
CREATE INDEX consumers_project ON consumers (project, user);

CREATE TABLE allocations (
    consumer TEXT NOT NULL,
    provider INTEGER NOT NULL,
    class TEXT NOT NULL,
    used INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (consumer, provider, class)
) WITHOUT ROWID;
CREATE INDEX allocations_provider ON allocations (provider);
