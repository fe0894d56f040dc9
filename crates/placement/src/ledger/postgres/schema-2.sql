-- The position of the provider in the write of the consumer. Older rows, and those of servers that do not write it, have 0;
-- among equal positions the order is that of the creation of providers.
ALTER TABLE allocations ADD COLUMN position bigint NOT NULL DEFAULT 0;
UPDATE schema SET version = 2;
